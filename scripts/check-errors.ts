// The register of error codes and its documentation say the same.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodes } from '../packages/core/src/base/errors.ts';
import { lineAt, maskSource, type Problem, root, type SourceFile } from './source-text.ts';

const registerPath = 'packages/core/src/base/errors.ts';
const documentPath = 'docs/reference/errors.md';

/** The documentation of errors as it stands in the repository. */
export function readErrorDocument(): string {
  return readFileSync(join(root, documentPath), 'utf8');
}

/** Every code of the register. */
export const registeredCodes: string[] = Object.keys(errorCodes);

/** Codes that no `dulyError('code'` or `new DulyError('code'` names, each with the place that makes it all the same. */
export const createdElsewhere: Readonly<Record<string, string>> = {
  input_not_json: 'json.ts puts it together from what could not be written and what is wrong with it',
  result_not_json: 'json.ts, as above',
  result_too_large: 'json.ts, as above',
  metadata_invalid: 'json.ts, as above, and job-options.ts through refuseOption()',
  cancelled: 'worker/attempt-errors.ts makes it from the reason of an abort',
  lost: 'worker/attempt-errors.ts, as above',
  shutdown: 'worker/attempt-errors.ts, as above',
  node_unsupported: 'node-version.ts of the command prints it: on such a Node nothing else may be loaded',
  handler_threw_nullish: 'worker/job-error.ts writes it into the error that is kept with the job',
};

/**
 * Codes without a section, sections without a code, codes documented twice or misspelt, codes that nothing makes, and errors
 * without a code. `elsewhere` names the codes whose making cannot be seen in the text.
 */
export function findErrorProblems(
  codes: string[],
  document: string,
  sources: SourceFile[],
  elsewhere: Readonly<Record<string, string>> = createdElsewhere,
): Problem[] {
  const problems: Problem[] = [];
  const sections = new Map<string, number>();
  for (const match of document.matchAll(/^### `([^`]*)`$/gm)) {
    const code = match[1] as string;
    const line = lineAt(document, match.index);
    if (sections.has(code))
      problems.push({ path: documentPath, line, message: `"${code}" has two sections.` });
    if (!codes.includes(code))
      problems.push({ path: documentPath, line, message: `"${code}" is not registered.` });
    sections.set(code, line);
  }
  for (const code of codes) {
    const add = (message: string): void => {
      problems.push({ path: registerPath, line: 1, message });
    };
    if (!sections.has(code)) add(`"${code}" has no section in ${documentPath}.`);
    if (!/^[a-z]+(?:_[a-z]+)*$/.test(code)) add(`"${code}" is not lower_snake_case.`);
    const isCreated = sources.some(({ text }) => new RegExp(`\\b[dD]ulyError\\(\\s*'${code}'`).test(text));
    if (!isCreated && !Object.hasOwn(elsewhere, code)) add(`"${code}" is registered, but nothing makes it.`);
    if (isCreated && Object.hasOwn(elsewhere, code)) add(`"${code}" is no exception any more: it is made.`);
  }
  return [...problems, ...findBareErrors(sources)];
}

/** Errors without a code: a plain `new Error` thrown by a package cannot be recognised by anyone. */
function findBareErrors(sources: SourceFile[]): Problem[] {
  return sources.flatMap(({ path, text }) =>
    [...maskSource(text).matchAll(/\bthrow\s+new\s+(?:Error|TypeError|RangeError)\b/g)].map((match) => ({
      path,
      line: lineAt(text, match.index),
      message: 'throws an error without a code; use dulyError().',
    })),
  );
}
