import type { JobChange } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import type { CommandContext } from '../cli/context.ts';
import { printError } from '../output/errors.ts';
import { statusStyles } from '../output/status.ts';

/**
 * Changes several jobs, one after the other, and prints what became of each. One that fails does not keep the others from
 * being done; the exit code is that of the first failure.
 */
export async function changeJobs(
  context: CommandContext,
  ids: readonly string[],
  verb: string,
  change: (id: string) => Promise<JobChange>,
): Promise<number> {
  let exitCode = 0;
  for (const id of ids) {
    try {
      printChange(context, verb, await change(id));
    } catch (error) {
      const code = printError(context.err, error, context.json);
      if (exitCode === 0) exitCode = code;
    }
  }
  return exitCode;
}

/**
 * Prints what became of a job that was asked to change; as JSON one object on each line, of one shape for all changes:
 * `{ id, result, status, due_at }`. `verb` tells what the new status does not; empty: it does.
 */
export function printChange({ out, json }: CommandContext, verb: string, change: JobChange): void {
  if (json) {
    out.line(JSON.stringify(toSnakeCase(change)));
    return;
  }
  const status = out.paint(statusStyles[change.status], change.status);
  const what = { changed: verb, asked: 'asked to stop; it may still finish', unchanged: 'it was so already' }[
    change.result
  ];
  const due =
    change.status === 'SCHEDULED' && change.dueAt !== null ? ` for ${change.dueAt.toISOString()}` : '';
  out.line(`${change.id} ${status}${due}${what === '' ? '' : ` (${what})`}`);
}
