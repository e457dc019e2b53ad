/** Worlds in which the clocks of a zone are changed: an hour that is skipped, and one that is repeated. */
import type { Dst } from '../../packages/core/src/schedules/calendar/zoned-times.ts';
import type { Dice } from './world.ts';

/** A change of the clocks, and what is worth asking of it. */
export interface ClockChange {
  at: number;
  timezone: string;
  /** Crons with slots in the minutes before and after, and such as name times that are skipped or come twice. */
  crons: readonly string[];
}

const timezone = 'America/New_York';

/** 02:00 becomes 03:00. */
export const hourSkipped: ClockChange = {
  at: Date.UTC(2027, 2, 14, 7),
  timezone,
  crons: [
    '*/10 59 1 * * *',
    '*/10 0 2 * * *',
    '*/10 0 2-3 * * *',
    '*/10 0 3 * * *',
    '*/10 0,59 1,2 * * *',
    '0 0,30 2,3 * * *',
    '*/15 0,59 1,2,3 * * *',
    '*/15 * * * * *',
  ],
};

/** 02:00 becomes 01:00. */
export const hourRepeated: ClockChange = {
  at: Date.UTC(2027, 10, 7, 6),
  timezone,
  crons: [
    '*/10 59 1 * * *',
    '*/10 0 1 * * *',
    '*/10 0,59 1-1 * * *',
    '*/15 0,59 0,1,2 * * *',
    '*/15 * * * * *',
  ],
};

/** A rule in the zone of the change. */
export function drawZonedRule(
  dice: Dice,
  { crons, timezone }: ClockChange,
): { cron: string; timezone: string; dst?: Partial<Dst> } {
  const dst = {
    ...(dice.chance(0.5) ? { gap: dice.one(['next', 'skip'] as const) } : {}),
    ...(dice.chance(0.5) ? { repeat: dice.one(['first', 'last', 'both'] as const) } : {}),
  };
  return { cron: dice.one(crons), timezone, ...(Object.keys(dst).length === 0 ? {} : { dst }) };
}
