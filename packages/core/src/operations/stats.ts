import { type Duration, parseDuration } from '../base/duration.ts';
import { parseInstant } from '../base/instant.ts';
import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  refuseOption,
} from '../base/option-reader.ts';
import type { Outcomes as EngineOutcomes, TrendStep as EngineTrendStep } from '../contract/engine.ts';
import type { OpenEngine } from './nodes.ts';

/** Which outcomes. */
export interface StatsOptions {
  /** Of jobs that ended at or after this instant. */
  since: Date | number | string;
  /** Only of these types; left out: of all. */
  types?: readonly string[];
}

/** How some jobs ended, and how long they usually take. */
export interface Outcomes extends Omit<EngineOutcomes, 'lastCompletedAt'> {
  /** When the last of them completed; null: none did. */
  lastCompletedAt: Date | null;
}

/** What became of a type's jobs. */
export interface TypeStats extends Outcomes {
  type: string;
}

/** Which schedules. */
export interface ScheduleStatsOptions {
  /** Their ids, at most 1,000. */
  ids: readonly string[];
  /** Of runs that ended at or after this instant. */
  since: Date | number | string;
}

/** What became of the newest runs of a schedule, at most 200 of them. */
export interface ScheduleStats extends Outcomes {
  scheduleId: string;
}

/** Which stretch of time, in what steps. */
export interface TrendOptions {
  /** Where the first step begins. */
  since: Date | number | string;
  /** The length of a step. */
  step: Duration;
  /** How many steps, 1 to 500. */
  count: number;
  /** Only of this type. */
  type?: string;
  /** Only of the schedule with this id. */
  scheduleId?: string;
}

/** What ended in one step of time. */
export interface TrendStep extends Omit<EngineTrendStep, 'fromAt'> {
  from: Date;
}

const statsNames: OptionNames<StatsOptions> = { since: true, types: true };
const scheduleStatsNames: OptionNames<ScheduleStatsOptions> = { ids: true, since: true };
const trendNames: OptionNames<TrendOptions> = {
  ...{ since: true, step: true, count: true },
  ...{ type: true, scheduleId: true },
};

const idCountMax = 1_000;
const stepCountMax = 500;
// Enough that the 99th percentile has ten above it.
const sampleCount = 1_000;

/** See `Duly.stats`. */
export async function readStats(open: OpenEngine, options: StatsOptions): Promise<TypeStats[]> {
  const { since, types } = readOptions(options, 'stats()', statsNames);
  const input = {
    sinceAt: parseInstant(since, 'since'),
    types: types === undefined ? null : types.map((type) => readName(type, 'types')),
  };
  const engine = await open();
  const reply = await engine.stats(input);
  return reply.types.map((one) => ({ ...one, lastCompletedAt: toDate(one.lastCompletedAt) }));
}

/** See `Schedules.stats`. */
export async function readScheduleStats(
  open: OpenEngine,
  options: ScheduleStatsOptions,
): Promise<ScheduleStats[]> {
  const { ids, since } = readOptions(options, 'schedules.stats()', scheduleStatsNames);
  const input = {
    sinceAt: parseInstant(since, 'since'),
    types: [],
    scheduleIds: ids.slice(0, idCountMax).map((id) => readName(id, 'ids')),
  };
  const engine = await open();
  const { schedules } = await engine.stats(input);
  return schedules.map((one) => ({ ...one, lastCompletedAt: toDate(one.lastCompletedAt) }));
}

/** See `Duly.trend`. */
export async function readTrend(open: OpenEngine, options: TrendOptions): Promise<TrendStep[]> {
  const { since, step, count, type, scheduleId } = readOptions(options, 'trend()', trendNames);
  const stepMs = parseDuration(step, 'step');
  if (stepMs < 1_000) refuseOption('step', step, 'to be a second or longer');
  const stepCount = readWholeNumber(count, 'count', 1, stepCountMax);
  const input = {
    ...{ fromAt: parseInstant(since, 'since'), stepMs, stepCount, sampleCount },
    type: type === undefined ? null : readName(type, 'type'),
    scheduleId: scheduleId === undefined ? null : readName(scheduleId, 'scheduleId'),
  };
  const engine = await open();
  const { steps } = await engine.trend(input);
  return steps.map(({ fromAt, ...one }) => ({ from: new Date(fromAt), ...one }));
}

function toDate(at: number | null): Date | null {
  return at === null ? null : new Date(at);
}
