import { type Duration, formatDuration, parseDuration } from '../../base/duration.ts';
import { dulyError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { type OptionNames, readOptions, readWholeNumber, refuseOption } from '../../base/option-reader.ts';
import {
  type CatchUpMode,
  catchUpModes,
  type JitterMode,
  jitterModes,
  type OverlapMode,
  overlapModes,
} from '../../contract/policy-modes.ts';
import { readBound } from '../calendar/moment.ts';
import type { PlanRule } from './planned-rule.ts';

/** How a rule says when: by the calendar, by a rate, or by a delay after each run. */
export type RuleKind = 'cron' | 'rate' | 'delay' | 'rrule';

/** The policies of a schedule. Each answers one question and has a safe default. */
export interface SchedulePolicies {
  /** The scheduler was away when the slot came. `latest` (default): the newest one runs. `all`: each runs. `skip`: none. */
  missed?: CatchUpMode;
  /** How far back slots are caught up on. 24 h for `all`; without an end for `latest`. */
  catchUpWindow?: Duration;
  /** How many are caught up on for `all`: the newest so many, oldest first. 100. */
  catchUpLimit?: number;
  /** The previous run is not finished. `skip` unless something says `all`, then `bufferAll`. */
  overlap?: OverlapMode;
  /** How many runs may wait for `bufferAll`. 1,000. */
  bufferLimit?: number;
  /** How late after it fell due a run may still start, whatever the cause. */
  startDeadline?: Duration;
  /** How long after it fell due a person is told that the run is not done. */
  finishDeadline?: Duration;
  /** Spreads schedules that share an instant: each slot falls due up to so much later. */
  jitter?: Duration;
  /** `perSchedule` (default): always the same offset. `perFire`: another for each slot. */
  jitterMode?: JitterMode;
  /** Slots that fell in a pause. */
  onResume?: CatchUpMode;
  /** Slots that were late when the schedule was edited. */
  onEdit?: CatchUpMode;
  /** Pauses the schedule after so many failed runs in a row. */
  pauseAfterFailures?: number;
  /** Flags the schedule after so many failed runs in a row. */
  flagAfterFailures?: number;
  /** No slot before this instant. */
  startAt?: Date | number | string;
  /** No run for a slot after this instant. */
  endAt?: Date | number | string;
  /** How many slots fire at most; triggers and backfills do not count. */
  maxRuns?: number;
}

/** Policies with every choice made, as kept with the schedule. */
export interface ResolvedPolicies {
  readonly missed: CatchUpMode;
  /** As written; null: 24 h for `all`, no end for `latest` (see `windowMsOf`). */
  readonly catchUpWindowMs: number | null;
  readonly catchUpLimit: number;
  readonly overlap: OverlapMode;
  readonly bufferLimit: number;
  readonly startDeadlineMs: number | null;
  readonly finishDeadlineMs: number | null;
  readonly jitterMs: number;
  readonly jitterMode: JitterMode;
  readonly onResume: CatchUpMode;
  readonly onEdit: CatchUpMode;
  readonly pauseAfterFailures: number | null;
  readonly flagAfterFailures: number | null;
  readonly startAt: number | null;
  readonly endAt: number | null;
  readonly maxRuns: number | null;
}

/** The names of the policies, for whoever splits them from the rest of a schedule's options. */
export const policyNames: OptionNames<SchedulePolicies> = {
  missed: true,
  catchUpWindow: true,
  catchUpLimit: true,
  overlap: true,
  bufferLimit: true,
  startDeadline: true,
  finishDeadline: true,
  jitter: true,
  jitterMode: true,
  onResume: true,
  onEdit: true,
  pauseAfterFailures: true,
  flagAfterFailures: true,
  startAt: true,
  endAt: true,
  maxRuns: true,
};

/** How far back `all` goes unless told: a day. */
export const catchUpWindowMsDefault = 86_400_000;
// Each caught-up slot is a job of its own, made in the same step; more than this is a backfill.
const catchUpLimitMax = 10_000;
const bufferLimitMax = 100_000;

// What other systems call these, so that someone who comes from there is told our word.
const otherWords: Record<string, Record<string, string>> = {
  overlap: {
    serialize: 'bufferAll',
    serial: 'bufferAll',
    queue: 'bufferAll',
    buffer: 'bufferAll',
    wait: 'bufferAll',
    merge: 'bufferOne',
    coalesce: 'bufferOne',
    forbid: 'skip',
    drop: 'skip',
    ignore: 'skip',
    replace: 'terminateOther',
    terminate: 'terminateOther',
    kill: 'terminateOther',
    cancel: 'cancelOther',
    parallel: 'allow',
    concurrent: 'allow',
  },
  catchUp: {
    none: 'skip',
    ignore: 'skip',
    drop: 'skip',
    never: 'skip',
    one: 'latest',
    once: 'latest',
    last: 'latest',
    newest: 'latest',
    coalesce: 'latest',
    merge: 'latest',
    every: 'all',
    each: 'all',
    catchup: 'all',
  },
};

/**
 * Checks the policies of a schedule and settles every choice. Throws `invalid_option`, `invalid_duration` or `invalid_instant`
 * for a value, and `policy_conflict` for two written policies that contradict each other.
 */
export function resolvePolicies(
  given: SchedulePolicies | undefined,
  kind: RuleKind,
  timezone: string | null = null,
): ResolvedPolicies {
  const written = readOptions(given, 'a schedule', policyNames);
  const missed = readMode(written.missed, 'missed') ?? 'latest';
  const onResume = readMode(written.onResume, 'onResume') ?? 'skip';
  const onEdit = readMode(written.onEdit, 'onEdit') ?? 'skip';
  const overlap = readWord(written.overlap, 'overlap', overlapModes, otherWords.overlap);
  const impliesBuffer = missed === 'all' || onResume === 'all' || onEdit === 'all';
  const resolved: ResolvedPolicies = Object.freeze({
    missed,
    catchUpWindowMs: readDuration(written.catchUpWindow, 'catchUpWindow'),
    catchUpLimit: readCount(written.catchUpLimit, 'catchUpLimit', catchUpLimitMax) ?? 100,
    overlap: overlap ?? (impliesBuffer ? 'bufferAll' : 'skip'),
    bufferLimit: readCount(written.bufferLimit, 'bufferLimit', bufferLimitMax) ?? 1_000,
    startDeadlineMs: readDuration(written.startDeadline, 'startDeadline'),
    finishDeadlineMs: readDuration(written.finishDeadline, 'finishDeadline'),
    jitterMs: written.jitter === undefined ? 0 : parseDuration(written.jitter, 'jitter'),
    jitterMode:
      readWord(written.jitterMode, 'jitterMode', jitterModes) ??
      (kind === 'delay' ? 'perFire' : 'perSchedule'),
    onResume,
    onEdit,
    pauseAfterFailures: readCount(written.pauseAfterFailures, 'pauseAfterFailures', 1_000_000),
    flagAfterFailures: readCount(written.flagAfterFailures, 'flagAfterFailures', 1_000_000),
    startAt: written.startAt === undefined ? null : readBound(written.startAt, 'startAt', timezone),
    endAt: written.endAt === undefined ? null : readBound(written.endAt, 'endAt', timezone),
    maxRuns: readCount(written.maxRuns, 'maxRuns', 1_000_000_000),
  });
  refuseContradictions(written, resolved);
  if (kind === 'delay') refuseWithDelay(written);
  return resolved;
}

/** How far back this mode catches up; null: without an end. */
export function windowMsOf(policies: ResolvedPolicies, mode: CatchUpMode): number | null {
  return policies.catchUpWindowMs ?? (mode === 'all' ? catchUpWindowMsDefault : null);
}

function readMode(value: unknown, field: string): CatchUpMode | null {
  return readWord(value, field, catchUpModes, otherWords.catchUp);
}

/** One of some words; what other systems say is answered with the word meant. */
function readWord<Word extends string>(
  value: unknown,
  field: string,
  words: readonly Word[],
  others: Record<string, string> = {},
): Word | null {
  if (value === undefined) return null;
  if (typeof value === 'string' && (words as readonly string[]).includes(value)) return value as Word;
  const near = typeof value === 'string' ? meantBy(value, words, others) : undefined;
  return refuseOption(
    field,
    value,
    `to be one of ${words.map((word) => `"${word}"`).join(', ')}`,
    near === undefined ? undefined : `Did you mean "${near}"?`,
  );
}

function meantBy(
  value: string,
  words: readonly string[],
  others: Record<string, string>,
): string | undefined {
  const plain = value.toLowerCase().replaceAll(/[^a-z]/g, '');
  if (Object.hasOwn(others, plain)) return others[plain];
  const near = nearest(plain, [...words, ...Object.keys(others)]);
  return near !== undefined && Object.hasOwn(others, near) ? others[near] : near;
}

function readDuration(value: Duration | undefined, field: string): number | null {
  return value === undefined ? null : parseDuration(value, field, { minMs: 1 });
}

function readCount(value: unknown, field: string, max: number): number | null {
  return value === undefined ? null : readWholeNumber(value, field, 1, max);
}

type PolicyName = keyof SchedulePolicies;

function refuseContradictions(written: SchedulePolicies, resolved: ResolvedPolicies): void {
  const isWritten = (name: PolicyName): boolean => written[name] !== undefined;
  const { overlap } = written;
  for (const name of ['missed', 'onResume', 'onEdit'] as const) {
    if (written[name] !== 'all' || overlap === undefined) continue;
    if (overlap === 'allow' || overlap === 'bufferAll') continue;
    conflict(
      [name, 'overlap'],
      `"${name}: 'all'" promises a run for each slot, and "overlap: '${overlap}'" takes most of them away again`,
      `Write overlap: 'bufferAll' (one after the other) or 'allow' (at the same time), or ${name}: 'latest'.`,
    );
  }
  const modes = [written.missed, written.onResume ?? 'skip', written.onEdit ?? 'skip'];
  if (isWritten('catchUpWindow') && written.missed === 'skip' && modes.every((mode) => mode === 'skip')) {
    conflict(
      ['catchUpWindow', 'missed'],
      '"missed: \'skip\'" catches up on nothing, so "catchUpWindow" has nothing to bound',
      "Leave catchUpWindow out, or write missed: 'latest' or 'all'.",
    );
  }
  if (isWritten('catchUpLimit') && isWritten('missed') && !modes.includes('all')) {
    conflict(
      ['catchUpLimit', 'missed'],
      `"missed: '${written.missed}'" never runs more than one slot, so "catchUpLimit" has nothing to bound`,
      "Leave catchUpLimit out, or write missed: 'all'.",
    );
  }
  if (isWritten('bufferLimit') && overlap !== undefined && overlap !== 'bufferAll') {
    conflict(
      ['bufferLimit', 'overlap'],
      `"overlap: '${overlap}'" keeps no line of waiting runs, so "bufferLimit" has nothing to bound`,
      "Leave bufferLimit out, or write overlap: 'bufferAll'.",
    );
  }
  const { startAt, endAt, pauseAfterFailures, flagAfterFailures } = resolved;
  if (startAt !== null && endAt !== null && endAt < startAt) {
    conflict(['endAt', 'startAt'], '"endAt" lies before "startAt", so no slot could ever fire');
  }
  if (pauseAfterFailures !== null && flagAfterFailures !== null && flagAfterFailures > pauseAfterFailures) {
    conflict(
      ['flagAfterFailures', 'pauseAfterFailures'],
      `"pauseAfterFailures: ${pauseAfterFailures}" pauses the schedule before "flagAfterFailures: ${flagAfterFailures}" could flag it`,
      'Flag earlier than you pause.',
    );
  }
}

/** A fixed delay has at most one slot outstanding, so what orders several makes no sense with it. */
function refuseWithDelay(written: SchedulePolicies): void {
  for (const name of ['missed', 'onResume', 'onEdit'] as const) {
    if (written[name] === 'all') {
      conflict(
        [name, 'delay'],
        `A fixed delay has at most one slot outstanding, so "${name}: 'all'" means nothing`,
        `Write ${name}: 'latest', or use a rate.`,
      );
    }
  }
  if (written.overlap !== undefined) {
    conflict(
      ['overlap', 'delay'],
      'A fixed delay is counted from the end of the previous run and cannot overlap, so "overlap" means nothing',
      'Leave overlap out, or use a rate.',
    );
  }
  for (const [name, what] of [
    ['bufferLimit', 'no line of waiting runs'],
    ['catchUpLimit', 'no more than one slot to catch up on'],
  ] as const) {
    if (written[name] !== undefined) {
      conflict(
        [name, 'delay'],
        `A fixed delay has at most one slot outstanding and so ${what}, and "${name}" has nothing to bound`,
        `Leave ${name} out, or use a rate.`,
      );
    }
  }
  if (written.jitterMode === 'perSchedule') {
    conflict(
      ['jitterMode', 'delay'],
      'A fixed delay jitters per fire, so "jitterMode: \'perSchedule\'" cannot hold',
      'Leave jitterMode out, or use a rate.',
    );
  }
}

/** Refuses `dst` where no clock names the slots. Throws `policy_conflict`. */
export function refuseDst(rule: { rate?: unknown; delay?: unknown; dst?: unknown }): void {
  const kind = rule.rate !== undefined ? 'rate' : rule.delay !== undefined ? 'delay' : null;
  if (kind === null || rule.dst === undefined) return;
  conflict(
    ['dst', kind],
    `A ${kind === 'rate' ? 'rate' : 'fixed delay'} is real time, which no clock changes, so "dst" means nothing`,
    'Leave dst out, or write a cron.',
  );
}

/** A rule as somebody wrote it, checked for what contradicts itself. Throws `policy_conflict`. */
export function asWritten<Written>(rule: Written): Written {
  if (typeof rule === 'object' && rule !== null) refuseDst(rule);
  return rule;
}

/** Refuses what a fixed delay cannot do: `anchor` in its rule, or a backfill. */
export function refuseForDelay(what: 'anchor' | 'backfill'): never {
  return conflict(
    [what, 'delay'],
    what === 'anchor'
      ? 'A fixed delay is counted from the end of each run, so it has no "anchor"'
      : 'The slots of a fixed delay depend on when its runs ended, so there is nothing to backfill',
    what === 'anchor' ? 'Leave anchor out, or use a rate.' : 'Use trigger for one more run.',
  );
}

function conflict(fields: [string, string], message: string, hint?: string): never {
  throw dulyError('policy_conflict', { message: `${message}.`, hint, details: { fields } });
}

// Enough to see a rule's rhythm over a week of days or a year of months.
const periodSampleCount = 12;

/**
 * Refuses a jitter that is not shorter than the shortest distance between the next slots: it could never be given in full.
 * Throws `policy_conflict`.
 */
export function refuseLongJitter(policies: ResolvedPolicies, rule: PlanRule, fromAt: number): void {
  if (policies.jitterMs === 0) return;
  const periodMs = rule.kind === 'delay' ? rule.delayMs : shortestPeriodMs(rule.all.next, fromAt);
  if (periodMs === null || policies.jitterMs < periodMs) return;
  conflict(
    ['jitter', rule.kind === 'delay' ? 'delay' : 'rule'],
    `"jitter" of ${formatDuration(policies.jitterMs)} is not shorter than the ${formatDuration(periodMs)} between two slots`,
    'Make the jitter shorter than the period; a fifth of it is plenty.',
  );
}

function shortestPeriodMs(next: (afterAt: number) => number | null, fromAt: number): number | null {
  let shortestMs: number | null = null;
  let at = next(fromAt);
  for (let i = 0; i < periodSampleCount && at !== null; i++) {
    const nextAt = next(at);
    if (nextAt !== null && (shortestMs === null || nextAt - at < shortestMs)) shortestMs = nextAt - at;
    at = nextAt;
  }
  return shortestMs;
}
