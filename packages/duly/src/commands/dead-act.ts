import { createInterface } from 'node:readline/promises';
import { type ActionOptions, type ActionResult, type Duly, DulyError, type JobsFilter } from '@duly/core';
import { withClient } from '../client.ts';
import { deadFilter } from '../dead-filter.ts';
import { printError } from '../output/errors.ts';
import { printJson } from '../output/json.ts';
import type { CommonOptions, Shell } from '../shell.ts';
import { usageError } from '../usage.ts';

interface DeadActOptions extends CommonOptions {
  all?: boolean;
  type?: string;
  error?: string;
  dryRun?: boolean;
  yes?: boolean;
  note?: string;
}

type Verb = 'replay' | 'discard';

const done: Record<Verb, string> = { replay: 'brought back', discard: 'discarded' };

/** `duly dead replay`. */
export function deadReplay(shell: Shell, options: DeadActOptions, ids: string[]): Promise<number> {
  return act('replay', shell, options, ids);
}

/** `duly dead discard`. */
export function deadDiscard(shell: Shell, options: DeadActOptions, ids: string[]): Promise<number> {
  return act('discard', shell, options, ids);
}

async function act(verb: Verb, shell: Shell, options: DeadActOptions, ids: string[]): Promise<number> {
  const filter = deadFilter(options);
  const isByFilter = options.all === true || Object.keys(filter).length > 0;
  if (ids.length === 0 && !isByFilter) {
    throw usageError(
      'Name the dead letters by their ids, or say --all, --type or --error.',
      'Look first: duly dead ls',
    );
  }
  if (ids.length > 0 && isByFilter) throw usageError('Give ids, or --all, --type or --error, not both.');
  return withClient(shell, options, async ({ duly }) => {
    const exitCode = ids.length > 0 ? await printStrangers(shell, duly, ids) : 0;
    const which: Omit<JobsFilter, 'dead'> = ids.length > 0 ? { ids } : filter;
    const how: ActionOptions = options.note === undefined ? {} : { note: options.note };
    const count = (await duly.dead[verb](which, { ...how, dryRun: true })).changed;
    if (options.dryRun) {
      printResult(shell, verb, { changed: count, refused: 0 }, true);
      return exitCode;
    }
    if (isByFilter && count > 0 && !options.yes && !(await isConfirmed(shell, verb, count))) {
      shell.err.line('Nothing was done.');
      return 1;
    }
    printResult(shell, verb, await duly.dead[verb](which, how), false);
    return exitCode;
  });
}

/** Says which of the ids are no dead letters, and why. */
async function printStrangers(shell: Shell, duly: Duly, ids: string[]): Promise<number> {
  let exitCode = 0;
  for (const id of ids) {
    const error = await strangerError(duly, id);
    if (error === null) continue;
    const code = printError(shell.err, error, shell.json);
    if (exitCode === 0) exitCode = code;
  }
  return exitCode;
}

async function strangerError(duly: Duly, id: string): Promise<unknown> {
  try {
    const job = await duly.job(id).get();
    if (job.dead) return null;
    return new DulyError('job_not_changeable', {
      message: `Job "${id}" is ${job.status}${job.status === 'FAILED' ? ' and was discarded' : ''}; it is not a dead letter.`,
      hint: 'A FAILED, CANCELLED or EXPIRED job is brought back with: duly jobs retry',
      details: { id, status: job.status },
    });
  } catch (error) {
    return error;
  }
}

/** Asks on a terminal. Off it nobody could answer, and `--all` was said. */
async function isConfirmed({ err, json }: Shell, verb: Verb, count: number): Promise<boolean> {
  if (json || !process.stdin.isTTY || !err.isTerminal) return true;
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const letters = count === 1 ? '1 dead letter' : `${count} dead letters`;
    return /^y(es)?$/i.test(
      (await reader.question(`${verb === 'replay' ? 'Replay' : 'Discard'} ${letters}? [y/N] `)).trim(),
    );
  } finally {
    reader.close();
  }
}

function printResult(
  { out, json }: Shell,
  verb: Verb,
  { changed, refused }: ActionResult,
  isDry: boolean,
): void {
  if (json) {
    printJson(out, { changed, refused, dry_run: isDry });
    return;
  }
  const letters = changed === 1 ? '1 dead letter' : `${changed} dead letters`;
  out.line(isDry ? `${letters} would be ${done[verb]}.` : `${letters} ${done[verb]}.`);
}
