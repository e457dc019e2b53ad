import { type DedupeOptions, formatDuration, parseDuration, resolveRule } from '@duly/core';
import { readDuration, usageError } from '../cli/usage.ts';

/** What an arrival's slot is, as the command line says it. */
export type SlotRule =
  /** One run in each such length of time, wherever it begins. */
  | { kind: 'length'; lengthMs: number }
  /** One run for each instant of a cron. */
  | { kind: 'cron'; cron: string; timezone: string };

/** Which slot an arrival belongs to, and what keeps others from it. */
export interface ExecSlot {
  /** The scheduled instant; null: the slot is a length of time without a grid. */
  slotAt: number | null;
  /** Held in the store from the accepted start on. */
  dedupe: DedupeOptions;
  /** What looks wrong about it; null: nothing. */
  doubt: string | null;
}

// Arrivals of one slot are apart by what cron, a slow start and wrong clocks make; a shorter slot could not tell them from the next one's.
const lengthMsMin = 1_000;

/** Reads `--slot` with its `--timezone`; null: there is none. Throws `usage`, `invalid_cron`, `invalid_timezone`, `invalid_duration`. */
export function readSlotRule(slot: string | undefined, timezone: string | undefined): SlotRule | null {
  // "1 day" has a blank in it too; no cron can be read as a duration.
  const isCron = slot !== undefined && /^@|\s/.test(slot.trim()) && !isDuration(slot);
  if (timezone !== undefined && !isCron) {
    throw usageError(
      '--timezone needs a --slot that is a cron.',
      "Write the slot like --slot '0 2 * * *', or leave --timezone out.",
    );
  }
  if (slot === undefined) return null;
  if (!isCron) return { kind: 'length', lengthMs: readDuration(slot, '--slot', { minMs: lengthMsMin }) };
  // The machine's own zone: the crontab that calls us fires by it. In another zone an arrival could be half way between two slots.
  const zone = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const cron = slot.trim();
  resolveRule({ cron, timezone: zone });
  return { kind: 'cron', cron, timezone: zone };
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text, 'slot');
    return true;
  } catch {
    return false;
  }
}

/**
 * The slot of an arrival at an instant of the store. Of a cron it is the nearest scheduled instant, so arrivals some seconds either side of it are the same; of a
 * length there is no grid: the slot is taken for half the length from the last accepted start on, so neither a midnight nor a slow host makes a second one.
 */
export function slotOf(rule: SlotRule, now: number): ExecSlot {
  if (rule.kind === 'length') {
    return { slotAt: null, dedupe: { key: 'slot', for: Math.ceil(rule.lengthMs / 2) }, doubt: null };
  }
  const slots = resolveRule({ cron: rule.cron, timezone: rule.timezone });
  const before = slots.previous(now + 1);
  const after = slots.next(now);
  if (before === null && after === null) {
    throw usageError(`The cron "${rule.cron}" has no instant at all.`, 'See when it fires: duly cron next …');
  }
  const isBefore = before !== null && (after === null || now - before <= after - now);
  const slotAt = (isBefore ? before : after) as number;
  const fromAt = slots.previous(slotAt) ?? slotAt;
  const toAt = slots.next(slotAt) ?? slotAt;
  const awayMs = Math.abs(now - slotAt);
  const gapMs = (isBefore ? toAt : slotAt) - (isBefore ? slotAt : fromAt);
  return {
    slotAt,
    // Nobody who arrives later than that can mean this slot.
    dedupe: { key: new Date(slotAt).toISOString(), for: Math.max(toAt - fromAt, 60_000) },
    doubt:
      gapMs > 0 && awayMs > gapMs / 4
        ? `It is ${formatDuration(Math.round(awayMs / 1_000) * 1_000)} from the nearest instant of "${rule.cron}" in ${rule.timezone}; another host could take it for another slot. Give the cron and --timezone of the line that calls it.`
        : null,
  };
}
