import { setImmediate } from 'node:timers/promises';
import { type Duration, parseDuration } from '../base/duration.ts';
import { type OptionNames, readName, readOptions, readWholeNumber } from '../base/option-reader.ts';
import { seededRandom } from '../base/random.ts';
import type { Engine, ScheduleRecord } from '../contract/engine.ts';
import type { OpenEngine } from '../operations/nodes.ts';
import type { Rule } from '../schedules/calendar/rule.ts';
import type { ClockChange } from '../schedules/calendar/rule-reading.ts';
import { createParsedSchedules } from '../schedules/definition/schedule-cache.ts';
import { readSchedule } from '../schedules/unreadable.ts';
import { findCollisions } from './collisions.ts';
import { ForecastRuns } from './forecast-runs.ts';
import { adviseJitter, isWorthIt, withAdvice } from './jitter-advice.ts';
import { type Load, readLoad } from './load.ts';
import { playForward, type ScheduleToPlay } from './play-forward.ts';
import { secondMs, type TimeSpan } from './seconds.ts';
import { readUsualDurations, type UsualDurations } from './usual-durations.ts';
import { arrivalsOf, concurrencyFor, waitsWith } from './waits.ts';

/** What to play forward. */
export interface ForecastOptions {
  /** How far: 1 to 744 hours, default 24. */
  hours?: number;
  /** How many runs go on at a time; left out: how many are needed is part of the answer. */
  concurrency?: number;
  /** How late a run may start, used for `load.concurrencyNeeded`. Default 1 minute. */
  lateness?: Duration;
  /** How long a run is taken to last where history knows of none. Default 10 seconds. */
  takes?: Duration;
  /** Only the schedules of a tenant; `null`: only those of none. Left out: all. */
  tenant?: string | null;
  /** Durations are drawn from history by this seed. Default 1. */
  seed?: number;
}

/** The load at a time. */
export interface ForecastStep {
  at: Date;
  /** Runs that begin. */
  starts: number;
  /** The most at one instant, by the second. */
  peak: number;
  /** On average. */
  mean: number;
}

/** What the runs come to if none has to wait. */
export interface ForecastLoad {
  /** The most runs at one instant, by the second, and when. */
  peak: number;
  peakAt: Date | null;
  stepMs: number;
  steps: ForecastStep[];
  /** The lowest concurrency over all nodes with which no run starts later than `latenessMs`. */
  concurrencyNeeded: number;
}

/** What is to come, if all goes as it went. */
export interface Forecast {
  from: Date;
  /** Earlier than asked for where so many runs fall due that no more are played. */
  to: Date;
  /** Whether `to` is earlier than asked for. */
  isShortened: boolean;
  schedules: number;
  /** Schedules that create no run: paused, over, disabled, or nothing in this time. */
  idle: number;
  /** Schedules whose rule cannot be read in this process. */
  unreadable: number;
  runs: number;
  /** Slots that create no run because the one before still goes on, or by another policy. */
  leftOut: number;
  /** Schedules of which nothing is known and `takesMs` was taken. */
  withoutHistory: number;
  takesMs: number;
  latenessMs: number;
  /** Time of work in all. */
  workMs: number;
  load: ForecastLoad;
  /** How long runs wait with the given concurrency; null: not asked. */
  withConcurrency: {
    concurrency: number;
    waitMsP50: number;
    waitMsP95: number;
    waitMsMax: number;
    /** Runs that start more than a second late. */
    late: number;
    /** When the last one is over. */
    doneAt: Date | null;
  } | null;
  /** The seconds in which most runs of different schedules begin, the largest first; `names` are some of them. */
  collisions: { at: Date; runs: number; names: string[] }[];
  /** Schedules that lose slots to their own runs, the most first. */
  overlaps: {
    name: string;
    leftOut: number;
    runs: number;
    usualMs: number;
    /** Whether nothing is known of its runs, and `usualMs` is no more than `takesMs`. */
    withoutHistory: boolean;
  }[];
  /** Changes of the clock within a year that fall on a time a schedule names, the earliest first, at most 100. */
  clockChanges: {
    at: Date;
    kind: ClockChange['kind'];
    timezone: string;
    schedules: number;
    names: string[];
    date: string;
    time: string;
  }[];
  /** Jitter that would lower the peak by a fifth or more, and the load it would give; null: none would. */
  jitter: {
    schedules: { id: string; name: string; jitterMs: number }[];
    count: number;
    load: ForecastLoad;
  } | null;
}

const names: OptionNames<ForecastOptions> = {
  hours: true,
  concurrency: true,
  lateness: true,
  takes: true,
  tenant: true,
  seed: true,
};

const hourMs = 3_600_000;
const yearMs = 366 * 86_400_000;
const pageSize = 1_000;
/** Some hundred megabytes; more runs say nothing more about a day. */
const runCountMax = 5_000_000;
/** Some milliseconds of work, unless runs are very many. */
const playedAtOnce = 500;
const namedCountMax = 5;
const listedCountMax = 100;

/** A schedule with what is shown of it. */
interface Played extends ScheduleToPlay {
  name: string;
  type: string;
  calendar: Rule;
}

/** See `Duly.forecast`. */
export async function readForecast(open: OpenEngine, options: ForecastOptions = {}): Promise<Forecast> {
  const given = readOptions(options, 'forecast()', names);
  const hours = readWholeNumber(given.hours ?? 24, 'hours', 1, 744);
  const concurrency =
    given.concurrency === undefined ? null : readWholeNumber(given.concurrency, 'concurrency', 1, 1_000_000);
  const latenessMs = parseDuration(given.lateness ?? '1m', 'lateness');
  const takesMs = parseDuration(given.takes ?? '10s', 'takes', { minMs: 1 });
  const seed = readWholeNumber(given.seed ?? 1, 'seed', 0, 0xffff_ffff);
  const tenant = given.tenant == null ? given.tenant : readName(given.tenant, 'tenant');
  const engine = await open();
  const { played, unreadable, now } = await readPlayed(engine, tenant);
  const usual = await readUsualDurations(engine, seededRandom(seed), played);
  return forecastOf(played, { fromAt: now, hours, concurrency, latenessMs, takesMs, unreadable, usual });
}

async function readPlayed(
  engine: Engine,
  tenant: string | null | undefined,
): Promise<{ played: Played[]; unreadable: number; now: number }> {
  const parsed = createParsedSchedules();
  const played: Played[] = [];
  let unreadable = 0;
  let now = 0;
  const filter = tenant === undefined ? {} : { tenant };
  const ask = (cursor: string | null): ReturnType<Engine['schedules']> => {
    const page = engine.schedules({ filter, cursor, limit: pageSize });
    // Told by whoever waits for it; nobody does if what is read before it throws.
    page.catch(() => {});
    return page;
  };
  let coming: ReturnType<Engine['schedules']> | null = ask(null);
  while (coming !== null) {
    const page: Awaited<ReturnType<Engine['schedules']>> = await coming;
    // The store looks for the next ones while these are read.
    coming = page.nextCursor === null ? null : ask(page.nextCursor);
    for (const record of page.schedules) {
      const read = readSchedule(parsed, record);
      // It is read once; only its rule is shared with others.
      parsed.next(record.id, null);
      if (read.unreadable === null) played.push(toPlayed(record, read));
      else unreadable += 1;
    }
    now = page.now;
  }
  return { played, unreadable, now };
}

function toPlayed(record: ScheduleRecord, read: ReturnType<typeof readSchedule>): Played {
  const { spec, state, rule, planRule } = read;
  const { id, generation, name } = record;
  return { id, generation, spec, state, rule: planRule, calendar: rule, name, type: spec.job.type };
}

async function forecastOf(
  played: readonly Played[],
  context: {
    fromAt: number;
    hours: number;
    concurrency: number | null;
    latenessMs: number;
    takesMs: number;
    unreadable: number;
    usual: UsualDurations;
  },
): Promise<Forecast> {
  const { fromAt, hours, concurrency, latenessMs, takesMs, unreadable, usual } = context;
  const askedToAt = fromAt + hours * hourMs;
  const toAt = boundedTo(played, fromAt, askedToAt);
  const runs = new ForecastRuns();
  let [idle, withoutHistory, leftOutInAll] = [0, 0, 0];
  const overlaps: Forecast['overlaps'] = [];
  for (const [number, schedule] of played.entries()) {
    // A server answers others meanwhile.
    if (number % playedAtOnce === playedAtOnce - 1) await setImmediate();
    const before = runs.count;
    let isGuessed = false;
    const drawMs = (): number => {
      const drawn = usual.draw(schedule.id, schedule.type);
      if (drawn === null) isGuessed = true;
      return drawn ?? takesMs;
    };
    const leftOut = playForward(schedule, { fromAt, toAt, number, drawMs, runs });
    const count = runs.count - before;
    if (count === 0) idle += 1;
    if (isGuessed) withoutHistory += 1;
    leftOutInAll += leftOut;
    if (leftOut > 0) {
      const usualMs = middleOf(runs, before);
      overlaps.push({ name: schedule.name, leftOut, runs: count, usualMs, withoutHistory: isGuessed });
    }
  }
  overlaps.sort((one, other) => other.leftOut - one.leftOut);
  // Whole seconds, as people and rules count them.
  const span = { fromAt: Math.floor(fromAt / secondMs) * secondMs, toAt };
  const load = readLoad(runs, span);
  const arrivals = arrivalsOf(runs);
  const waits = concurrency === null ? null : waitsWith(arrivals, concurrency);
  return {
    from: new Date(fromAt),
    to: new Date(toAt),
    isShortened: toAt < askedToAt,
    schedules: played.length + unreadable,
    idle,
    unreadable,
    runs: runs.count,
    leftOut: leftOutInAll,
    withoutHistory,
    takesMs,
    latenessMs,
    workMs: load.workMs,
    load: toLoad(load, concurrencyFor(arrivals, latenessMs, load.peakCount)),
    withConcurrency:
      waits === null || concurrency === null
        ? null
        : {
            concurrency,
            waitMsP50: waits.p50Ms,
            waitMsP95: waits.p95Ms,
            waitMsMax: waits.maxMs,
            late: waits.lateCount,
            doneAt: runs.count === 0 ? null : new Date(waits.endAt),
          },
    collisions: findCollisions(runs, span).map(({ at, runCount, schedules }) => ({
      at: new Date(at),
      runs: runCount,
      names: schedules.map((number) => (played[number] as Played).name),
    })),
    overlaps: overlaps.slice(0, listedCountMax),
    clockChanges: findClockChanges(played, fromAt),
    jitter: toJitter(played, runs, load, { span, latenessMs }),
  };
}

/** So far that no more runs fall due than can be played. */
function boundedTo(played: readonly Played[], fromAt: number, toAt: number): number {
  let count = 0;
  for (const { rule, state } of played) {
    if (state.ended !== null || (state.pause !== null && state.pause.untilAt === null)) continue;
    count +=
      rule.kind === 'delay' ? (toAt - fromAt) / rule.delayMs : (rule.all.countBetween(fromAt, toAt) ?? 0);
  }
  if (count <= runCountMax) return toAt;
  return fromAt + Math.max(60_000, Math.floor(((toAt - fromAt) * runCountMax) / count));
}

/** The duration in the middle of a schedule's runs. */
function middleOf(runs: ForecastRuns, from: number): number {
  const durations: number[] = [];
  for (let run = from; run < runs.count; run++) durations.push(runs.durationMs(run));
  durations.sort((one, other) => one - other);
  return durations[Math.floor(durations.length / 2)] ?? 0;
}

function toLoad({ steps, stepMs, peakCount, peakAt }: Load, concurrencyNeeded: number): ForecastLoad {
  return {
    peak: peakCount,
    peakAt: peakAt === null ? null : new Date(peakAt),
    stepMs,
    steps: steps.map((step) => ({
      at: new Date(step.fromAt),
      starts: step.startCount,
      peak: step.peakCount,
      mean: Math.round(step.meanCount * 1_000) / 1_000,
    })),
    concurrencyNeeded,
  };
}

function findClockChanges(played: readonly Played[], fromAt: number): Forecast['clockChanges'] {
  const found = new Map<string, Forecast['clockChanges'][number]>();
  // Ten thousand tenants share a few rules, and a rule that is shared is asked once.
  const changesOf = new Map<Rule, ClockChange[]>();
  for (const { calendar, name, state } of played) {
    if (state.ended !== null) continue;
    const changes = changesOf.get(calendar) ?? calendar.clockChanges(fromAt, fromAt + yearMs);
    changesOf.set(calendar, changes);
    for (const { at, kind, date, time } of changes) {
      const { timezone } = calendar;
      const key = JSON.stringify([at, kind, timezone, time]);
      const known = found.get(key);
      if (known === undefined) {
        found.set(key, { at: new Date(at), kind, timezone, date, time, schedules: 1, names: [name] });
      } else {
        known.schedules += 1;
        if (known.names.length < namedCountMax) known.names.push(name);
      }
    }
  }
  return [...found.values()]
    .sort((one, other) => one.at.getTime() - other.at.getTime())
    .slice(0, listedCountMax);
}

function toJitter(
  played: readonly Played[],
  runs: ForecastRuns,
  before: Load,
  { span, latenessMs }: { span: TimeSpan; latenessMs: number },
): Forecast['jitter'] {
  const advice = adviseJitter(played, runs, span);
  if (advice.length === 0) return null;
  const moved = withAdvice(played, runs, advice);
  const after = readLoad(moved, span);
  if (!isWorthIt(before, after)) return null;
  return {
    count: advice.length,
    schedules: advice.slice(0, listedCountMax).map(({ schedule, jitterMs }) => {
      const { id, name } = played[schedule] as Played;
      return { id, name, jitterMs };
    }),
    load: toLoad(after, concurrencyFor(arrivalsOf(moved), latenessMs, after.peakCount)),
  };
}
