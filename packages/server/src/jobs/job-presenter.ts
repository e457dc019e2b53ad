import { DulyError, type Job } from '@duly/core';
import { builtInPrefix, type JobJson, toJobJson } from '@duly/core/internal';
import { allows } from '@duly/core/internal/browser';
import type { Caller } from '../auth/caller.ts';
import type { ServerContext } from '../http/context.ts';
import type { RedactOptions } from '../options.ts';
import { isHidden, redacted, redactedPlace, redactedText } from './redact.ts';

// Where targets carry credentials.
const targetSecrets = ['http.headers.*', 'command.env.*'];
// Where jobs of the server carry inputs of callers: a target's own input and body, and the job that a webhook delivers.
const wrapped = ['input', 'http.body', 'body.input', 'body.input.input', 'body.input.http.body'];

/** Whether a caller is shown stacks, which tell of paths and code. */
export function seesStacks({ scope }: Caller): boolean {
  return allows(scope, 'operate');
}

/** A job as this caller is shown it. */
export function presentJob({ options }: ServerContext, caller: Caller, job: Job): JobJson {
  return withoutHidden(toJobJson(job, { stack: seesStacks(caller) }), options.redact);
}

/** A job without its hidden fields, which no reader sees. */
export function withoutHidden(job: JobJson, { input, result, metadata }: Required<RedactOptions>): JobJson {
  return {
    ...job,
    input: shownInput(job.type, job.input, input),
    result: redacted(job.result, result),
    metadata: redacted(job.metadata, metadata) as JobJson['metadata'],
  };
}

/** Of what is longer as JSON a list tells so much. */
const briefLength = 1_000;

/** A job as a list is looked at: long inputs, results and messages are cut, and there are no stacks. A hundred rows stay small whatever is in them. */
export function presentBrief(context: ServerContext, caller: Caller, job: Job): JobJson {
  const shown = presentJob(context, { ...caller, scope: 'read' }, job);
  shown.input = brief(shown.input);
  shown.result = brief(shown.result);
  if (shown.error !== null) {
    const { cause: _, ...error } = shown.error;
    shown.error = { ...error, message: cut(error.message) };
  }
  return shown;
}

function brief(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  return text.length <= briefLength ? value : cut(text);
}

function cut(text: string): string {
  // Not in the middle of a pair.
  return text.length <= briefLength ? text : `${text.slice(0, briefLength).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A job as the caller that created it is shown it. */
export function presentCreated(
  context: ServerContext,
  caller: Caller,
  job: Job,
  deduped: boolean,
): JobJson & { deduped: boolean } {
  return Object.assign(presentJob(context, caller, job), { deduped });
}

/** An input of a type without what is not shown: the paths that were given, and the credentials of targets. */
export function shownInput(type: string, input: unknown, paths: readonly string[]): unknown {
  return redacted(input, hiddenPaths(type, paths));
}

/** Refuses an input with what is shown instead of a value: whoever sends back what they were shown would have it kept as the value. */
export function refuseRedacted(type: string, input: unknown, paths: readonly string[]): void {
  const place = redactedPlace(input, hiddenPaths(type, paths));
  if (place === null) return;
  const message = `"${place}" of the input is not shown to readers, and "${redactedText}" stands in its place.`;
  throw new DulyError('request_invalid', {
    message,
    hint: 'Send the value itself, or leave the input out and it stays as it is.',
    details: { issues: [{ in: 'body', path: `input.${place}`, message }] },
  });
}

/** Refuses to look for jobs by what is not shown of them: whoever may ask "is it this?" often enough knows it in the end. */
export function refuseHiddenFilter(
  types: readonly string[] | undefined,
  filter: Readonly<Record<string, unknown>>,
  paths: readonly string[],
): void {
  // Without types the server's own jobs are looked through as well.
  const isBuiltIn = types === undefined || types.some((type) => type.startsWith(builtInPrefix));
  const hidden = hiddenPaths(isBuiltIn ? builtInPrefix : '', paths);
  const path = Object.keys(filter).find((one) => isHidden(one, hidden));
  if (path === undefined) return;
  const message = `"input.${path.slice(0, 200)}" is not shown to readers, so jobs cannot be looked for by it.`;
  throw new DulyError('request_invalid', {
    message,
    hint: isHidden(path, paths)
      ? 'Look for them by another field.'
      : 'Name the "type" of the jobs that are meant.',
    details: { issues: [{ in: 'query', path: `input.${path.slice(0, 200)}`, message }] },
  });
}

/**
 * Something of ours with inputs and metadata of jobs in it (what was before an edit, what differs from what is declared), without what is not shown of
 * them. The task is not known there, so every input is treated as that of a target.
 */
export function shownInside<Value>(value: Value, redact: Required<RedactOptions>): Value;
export function shownInside(value: unknown, redact: Required<RedactOptions>): unknown {
  if (Array.isArray(value)) return value.map((one) => shownInside(one, redact));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const { field } = value as { field?: unknown };
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      // A field that differs, with its values: { field: 'input', declared, stands }.
      const what = typeof field === 'string' && name !== 'field' ? field : name;
      if (what === 'input') return [name, hiddenIn(one, hiddenPaths(builtInPrefix, redact.input))];
      if (what === 'metadata') return [name, hiddenIn(one, redact.metadata)];
      return [name, shownInside(one, redact)];
    }),
  );
}

/** Inputs are kept as JSON, and shown so in what is only looked at. */
function hiddenIn(value: unknown, paths: readonly string[]): unknown {
  if (typeof value !== 'string') return redacted(value, paths);
  try {
    return JSON.stringify(redacted(JSON.parse(value), paths));
  } catch {
    return value;
  }
}

function hiddenPaths(type: string, paths: readonly string[]): readonly string[] {
  if (!type.startsWith(builtInPrefix)) return paths;
  const inside = wrapped.flatMap((prefix) => paths.map((path) => `${prefix}.${path}`));
  return [...paths, ...inside, ...targetSecrets];
}
