import { builtInPrefix, DulyError, type Job, type JobJson, toJobJson } from '@duly/core';
import { allows, type Caller } from './auth/caller.ts';
import type { ServerContext } from './context.ts';
import { redacted, redactedPlace, redactedText } from './redact.ts';

// Where targets carry credentials.
const targetSecrets = ['http.headers.*', 'command.env.*'];

/** Whether a caller is shown stacks, which tell of paths and code. */
export function seesStacks({ scope }: Caller): boolean {
  return allows(scope, 'operate');
}

/** A job as this caller is shown it. */
export function presentJob({ options }: ServerContext, caller: Caller, job: Job): JobJson {
  const shown = toJobJson(job, { stack: seesStacks(caller) });
  const { input, result, metadata } = options.redact;
  shown.input = shownInput(job.type, shown.input, input);
  shown.result = redacted(shown.result, result);
  shown.metadata = redacted(shown.metadata, metadata) as JobJson['metadata'];
  return shown;
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

/** A job as whoever made it is shown it. */
export function presentMade(
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

function hiddenPaths(type: string, paths: readonly string[]): readonly string[] {
  return type.startsWith(builtInPrefix) ? [...paths, ...targetSecrets] : paths;
}
