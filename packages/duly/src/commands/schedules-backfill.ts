import type { BackfillOptions, BackfillResult, Rule } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readCount } from '../cli/usage.ts';
import { printJson } from '../output/json.ts';
import { ruleOf, withSchedules } from '../schedules/schedule-client.ts';
import { dayText } from '../schedules/schedule-times.ts';

interface SchedulesBackfillOptions extends CommonOptions {
  from: string;
  to?: string;
  order?: string;
  concurrency?: string;
  reprocess?: boolean;
  allow?: boolean;
  dryRun?: boolean;
  note?: string;
}

/** `duly schedules backfill`. */
export async function schedulesBackfill(
  context: CommandContext,
  options: SchedulesBackfillOptions,
  name: string,
): Promise<undefined> {
  const concurrency = readCount(options.concurrency, '--concurrency');
  const { from, to, order, reprocess, allow, dryRun, note } = options;
  await withSchedules(context, options, async ({ duly, changed }) => {
    const schedule = await duly.schedules.get(name);
    const result = await duly.schedules.backfill(
      { id: schedule.id },
      {
        from,
        ...(to === undefined ? {} : { to }),
        ...(order === undefined ? {} : { order: order as NonNullable<BackfillOptions['order']> }),
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(reprocess ? { reprocess } : {}),
        ...(allow ? { allow } : {}),
        ...(dryRun ? { dryRun } : {}),
        ...(note === undefined ? {} : { note }),
      },
    );
    if (!dryRun) changed(`/schedules/${schedule.id}`);
    if (context.json) printJson(context.out, toSnakeCase(result));
    else printResult(context, result, ruleOf(schedule));
  });
}

// More lines than this nobody reads; -o json has them all.
const shownMax = 20;

function printResult({ out, err }: CommandContext, result: BackfillResult, rule: Rule): void {
  const { slots, jobs, dryRun, completedCount, compactedCount, unfinishedCount } = result;
  const count = slots.length === 1 ? '1 slot' : `${slots.length} slots`;
  out.line(
    dryRun
      ? `${count} would get a run.`
      : `${count} ${slots.length === 1 ? 'gets' : 'get'} a run, in this order.`,
  );
  for (const [i, slot] of slots.slice(0, shownMax).entries()) {
    out.line(`  ${dayText(slot, rule)}${jobs[i] === undefined ? '' : `  ${jobs[i]}`}`);
  }
  if (slots.length > shownMax) out.line(`  and ${slots.length - shownMax} more`);
  if (completedCount > 0)
    err.line(`Left out: ${completedCount} with a COMPLETED run (--reprocess takes them too).`);
  if (compactedCount > 0)
    err.line(
      `Left out: ${compactedCount} of compacted months in which some ran (--reprocess takes them too).`,
    );
  if (unfinishedCount > 0) err.line(`Left out: ${unfinishedCount} whose run is not over yet.`);
}
