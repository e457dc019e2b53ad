import { type Rule, systemClock } from '@duly/core';
import { toComingSlotJson } from '@duly/core/internal';
import type { CommandContext } from '../cli/context.ts';
import { printJson } from '../output/json.ts';
import { type Cell, printTable } from '../output/table.ts';
import { relative } from '../output/times.ts';
import { dayText, hazardText } from './schedule-times.ts';

/** What coming slots of a fixed delay are worth. */
export const asIfNoTime = 'As if the runs took no time: a fixed delay counts from their ends.';

/** Coming slots of a rule. */
export interface ComingSlots {
  rule: Rule;
  /** The rule in words. */
  words: string;
  slots: readonly Date[];
  /** The instant after which they come. */
  afterAt: number;
  /** How many were asked for. */
  count: number;
}

/** Prints coming slots in the rule's zone; what a change of the clock does to one stands beside it. */
export function printSlots(context: CommandContext, coming: ComingSlots): void {
  const { rule, words, slots, count } = coming;
  const gone = skippedTimes(coming);
  if (context.json) {
    printJson(context.out, {
      words,
      timezone: rule.timezone,
      data: slots.map((slot) => toComingSlotJson(slot, rule)),
      not_existing: gone.map(({ date, time }) => ({ date, time })),
    });
    return;
  }
  const { out, err } = context;
  out.sentence(words);
  if (slots.length > 0) {
    out.line();
    const table = rows(coming);
    const hasChanges = table.some(([, , change]) => typeof change === 'object' && change.text !== '');
    printTable(
      out,
      [
        { title: `SLOT (${rule.timezone})` },
        { title: 'WHEN' },
        ...(hasChanges ? [{ title: 'CLOCK', widthMin: 12 }] : []),
      ],
      table,
    );
  }
  if (slots.length < count) err.line(slots.length === 0 ? 'There are no more slots.' : 'These are all.');
  if (rule.kind === 'delay') err.line(asIfNoTime);
}

function rows({ rule, slots, ...rest }: ComingSlots): Cell[][] {
  const now = systemClock.now();
  const gone = skippedTimes({ rule, slots, ...rest }).map(({ at, date, time }) => ({
    at,
    cells: [
      { text: `    ${date} ${time}`, style: 'dim' as const },
      '',
      { text: 'does not exist: no run', style: 'yellow' as const },
    ],
  }));
  const fired = slots.map((slot) => ({
    at: slot.getTime(),
    cells: [
      dayText(slot, rule),
      relative(slot, now),
      { text: hazardText(slot, rule), style: 'yellow' as const },
    ],
  }));
  return [...fired, ...gone].sort((a, b) => a.at - b.at).map(({ cells }) => cells);
}

/** Times that the rule names and no clock shows, where they are left out. */
function skippedTimes({ rule, slots, afterAt }: Omit<ComingSlots, 'words' | 'count'>) {
  const last = slots.at(-1);
  if (rule.spec.dst.gap !== 'skip' || last === undefined) return [];
  return rule.clockChanges(afterAt, last.getTime()).filter(({ kind }) => kind === 'gap');
}
