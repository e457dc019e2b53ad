import { type ActionOptions, type Duly, DulyError, type JobsFilter } from '@duly/core';
import { confirm, requireAsking } from '../cli/confirm.ts';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { exitCodes } from '../cli/exit-codes.ts';
import { usageError } from '../cli/usage.ts';
import { type Client, withClient } from '../client/client.ts';
import { deadFilter } from '../jobs/dead-filter.ts';
import { printError } from '../output/errors.ts';
import { printJson } from '../output/json.ts';

interface DeadActOptions extends CommonOptions {
  all?: boolean;
  type?: string[];
  error?: string;
  dryRun?: boolean;
  yes?: boolean;
  note?: string;
}

type Verb = 'retry' | 'discard';

const done: Record<Verb, string> = { retry: 'brought back', discard: 'discarded' };

/** `duly dead retry`. */
export function deadRetry(context: CommandContext, options: DeadActOptions, ids: string[]): Promise<number> {
  return act('retry', context, options, ids);
}

/** `duly dead discard`. */
export function deadDiscard(
  context: CommandContext,
  options: DeadActOptions,
  ids: string[],
): Promise<number> {
  return act('discard', context, options, ids);
}

async function act(
  verb: Verb,
  context: CommandContext,
  options: DeadActOptions,
  ids: string[],
): Promise<number> {
  const filter = deadFilter(options);
  const isByFilter = options.all === true || Object.keys(filter).length > 0;
  if (ids.length === 0 && !isByFilter) {
    throw usageError(
      'Name the dead letters by their ids, or say --all, --type or --error.',
      'Look first: duly dead ls',
    );
  }
  if (ids.length > 0 && isByFilter) throw usageError('Give ids, or --all, --type or --error, not both.');
  const mustAsk = isByFilter && !options.yes && !options.dryRun;
  const what = `To ${verb} dead letters without naming them`;
  if (mustAsk) requireAsking(context, what);
  return withClient(context, options, async (client) => {
    const { duly } = client;
    const strangers = ids.length > 0 ? await printStrangers(context, client, ids) : noStrangers;
    const which: Omit<JobsFilter, 'dead'> = ids.length > 0 ? { ids } : filter;
    const how: ActionOptions = options.note === undefined ? {} : { note: options.note };
    const counted = await duly.dead[verb](which, { ...how, dryRun: true });
    const count = counted.changed;
    if (mustAsk && count > 0) {
      const question = `${verb === 'retry' ? 'Retry' : 'Discard'} ${lettersText(count)}?`;
      const answer = await confirm(context, question, what);
      if (answer !== 'yes') {
        context.err.line('Nothing was done.');
        return answer === 'interrupted' ? exitCodes.interrupted : exitCodes.failure;
      }
      // Only what the question counted: dead letters that arrived since were not agreed to.
      how.expected = count;
      if (counted.asOf !== undefined) how.asOf = counted.asOf;
    }
    const result = options.dryRun ? { changed: count, refused: 0 } : await duly.dead[verb](which, how);
    if (!options.dryRun && result.changed > 0) client.changed('/dead');
    const refused = result.refused + strangers.count;
    if (context.json) {
      printJson(context.out, { changed: result.changed, refused, dry_run: options.dryRun === true });
    } else if (result.changed > 0 || strangers.count === 0) {
      const would = options.dryRun ? 'would be ' : '';
      context.out.line(`${lettersText(result.changed)} ${would}${done[verb]}.`);
    }
    return strangers.exitCode;
  });
}

interface Strangers {
  count: number;
  /** The code of the first. */
  exitCode: number;
}

const noStrangers: Strangers = { count: 0, exitCode: 0 };

/** Says which of the ids are no dead letters, and why. */
async function printStrangers(context: CommandContext, client: Client, ids: string[]): Promise<Strangers> {
  let strangers = noStrangers;
  for (const id of new Set(ids)) {
    const error = await strangerError(client, id);
    if (error === null) continue;
    const code = printError(context.err, error, context.json);
    strangers = { count: strangers.count + 1, exitCode: strangers.exitCode || code };
  }
  return strangers;
}

async function strangerError(
  { duly, command }: { duly: Duly; command: Client['command'] },
  id: string,
): Promise<unknown> {
  try {
    const job = await duly.job(id).get();
    if (job.dead) return null;
    return new DulyError('job_not_changeable', {
      message: `Job "${id}" is ${job.status}${job.status === 'FAILED' ? ' and was discarded' : ''}; it is not a dead letter.`,
      hint: `A FAILED, CANCELLED or EXPIRED job is brought back with: ${command(`jobs retry ${id}`)}`,
      details: { id, status: job.status },
    });
  } catch (error) {
    return error;
  }
}

function lettersText(count: number): string {
  return count === 1 ? '1 dead letter' : `${count} dead letters`;
}
