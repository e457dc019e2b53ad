// The register of error codes and its documentation say the same.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodes } from '../packages/core/src/errors.ts';
import { lineAt, maskSource, type Problem, root, type SourceFile } from './source-text.ts';

const registerPath = 'packages/core/src/errors.ts';
const documentPath = 'docs/reference/errors.md';

/** The documentation of errors as it stands in the repository. */
export function readErrorDocument(): string {
  return readFileSync(join(root, documentPath), 'utf8');
}

/** Every code of the register. */
export const registeredCodes: string[] = Object.keys(errorCodes);

/** Codes without a section, sections without a code, codes documented twice or misspelt, and codes thrown but not registered. */
export function findErrorProblems(codes: string[], document: string, sources: SourceFile[]): Problem[] {
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
