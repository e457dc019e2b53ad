import { type Duration, durationMsMax, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { shown } from '../base/option-reader.ts';
import type { Random } from '../base/random.ts';

/** How the delay grows from failure to failure; a function answers with the delay itself. */
export type Backoff = 'exponential' | 'linear' | 'fixed' | BackoffFunction;

/** Says how long to wait after a failure. `attempt` counts failures from 1. */
export type BackoffFunction = (attempt: number, error: unknown) => Duration;

/** How often and how a failed job is tried again. A number stands for `{ attempts }`. */
export interface RetryPolicy {
  /** Attempts in all, the first included. Default 3. */
  attempts?: number;
  /** Default `'exponential'`. A function decides alone: `maxDelay` and `jitter` do not touch its answer. */
  backoff?: Backoff;
  /** Delay after the first failure. Default 1 s. */
  delay?: Duration;
  /** What an exponential delay is multiplied by each time. Default 2. */
  factor?: number;
  /** No delay is longer than this. Default 1 h, or `delay` if that is longer. */
  maxDelay?: Duration;
  /** Share by which a delay may vary to both sides, 0 to 1. Default 0.2. */
  jitter?: number;
}

/** A retry policy as it is stored with a job: plain JSON. A function is kept as the word `'custom'`. */
export interface StoredRetry {
  readonly attempts: number;
  readonly backoff: 'exponential' | 'linear' | 'fixed' | 'custom';
  readonly delayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  readonly jitter: number;
}

/** A retry policy with every choice made. */
export interface ResolvedRetry extends StoredRetry {
  /** The function behind `'custom'`; null when it is not at hand, and then `'custom'` waits like `'exponential'`. */
  readonly custom: BackoffFunction | null;
  /** The form to store. */
  toStored(): StoredRetry;
}

// More attempts than this are a loop, not a retry policy; at one an hour it is a century.
const attemptsMax = 1_000_000;
const factorMax = 1_000;
const hourMs = 3_600_000;

/** What holds when nothing is written: 3 attempts, exponential from 1 s, ±20 %. */
export const defaultRetry: ResolvedRetry = resolved(
  { attempts: 3, backoff: 'exponential', delayMs: 1_000, factor: 2, maxDelayMs: hourMs, jitter: 0.2 },
  null,
);

/** Checks a policy and fills it up from `defaults`. Throws `invalid_option` or `invalid_duration` that names the field. */
export function resolveRetry(
  policy: RetryPolicy | number | undefined,
  defaults: ResolvedRetry = defaultRetry,
): ResolvedRetry {
  if (policy === undefined) return defaults;
  if (typeof policy === 'number') return resolveRetry({ attempts: policy }, defaults);
  if (typeof policy !== 'object' || policy === null) {
    refuse('retry', policy, 'to be a number of attempts or an object');
  }
  const known = ['attempts', 'backoff', 'delay', 'factor', 'maxDelay', 'jitter'];
  const unknown = Object.keys(policy).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    refuse(`retry.${unknown.slice(0, 40)}`, undefined, `not to be there; the fields are ${known.join(', ')}`);
  }

  const { attempts = defaults.attempts, factor = defaults.factor, jitter = defaults.jitter } = policy;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > attemptsMax) {
    refuse('retry.attempts', attempts, `to be a whole number from 1 to ${attemptsMax}`);
  }
  if (!isNumberBetween(factor, 1, factorMax))
    refuse('retry.factor', factor, `to be a number from 1 to ${factorMax}`);
  if (!isNumberBetween(jitter, 0, 1)) refuse('retry.jitter', jitter, 'to be a number from 0 to 1');

  const delayMs = policy.delay === undefined ? defaults.delayMs : parseDuration(policy.delay, 'retry.delay');
  const maxDelayMs =
    policy.maxDelay === undefined
      ? Math.max(defaults.maxDelayMs, delayMs)
      : parseDuration(policy.maxDelay, 'retry.maxDelay');
  if (policy.delay !== undefined && delayMs > maxDelayMs) {
    refuse('retry.maxDelay', policy.maxDelay, `not to be shorter than "retry.delay"`);
  }

  const backoff = policy.backoff ?? defaults.custom ?? defaults.backoff;
  if (typeof backoff === 'function') {
    return resolved({ attempts, backoff: 'custom', delayMs, factor, maxDelayMs, jitter }, backoff);
  }
  if (backoff !== 'exponential' && backoff !== 'linear' && backoff !== 'fixed') {
    if (backoff !== 'custom' || policy.backoff !== undefined) {
      refuse('retry.backoff', backoff, 'to be "exponential", "linear", "fixed" or a function');
    }
  }
  return resolved({ attempts, backoff, delayMs, factor, maxDelayMs, jitter }, null);
}

/**
 * Reads a policy back from a store. Never throws: what is missing or makes no sense is taken from `defaultRetry`, because a
 * job must be retried even if another version of Duly wrote it. `custom` is the function of the task, if it has one.
 */
export function retryFromStored(stored: unknown, custom: BackoffFunction | null = null): ResolvedRetry {
  const from = (typeof stored === 'object' && stored !== null ? stored : {}) as Partial<
    Record<string, unknown>
  >;
  const number = (
    field: 'attempts' | 'delayMs' | 'factor' | 'maxDelayMs' | 'jitter',
    min: number,
    max: number,
  ) => (isNumberBetween(from[field], min, max) ? from[field] : defaultRetry[field]);
  const backoff = (['exponential', 'linear', 'fixed', 'custom'] as const).find((one) => one === from.backoff);
  return resolved(
    {
      attempts: Math.floor(number('attempts', 1, attemptsMax)),
      backoff: backoff ?? defaultRetry.backoff,
      delayMs: number('delayMs', 0, durationMsMax),
      factor: number('factor', 1, factorMax),
      maxDelayMs: number('maxDelayMs', 0, durationMsMax),
      jitter: number('jitter', 0, 1),
    },
    backoff === 'custom' ? custom : null,
  );
}

/**
 * How long to wait after this many failures (1: after the first), in whole milliseconds. Never more than `maxDelayMs`, jitter
 * included, unless a function decides. A function that throws or answers with something that is no duration is passed over and
 * the delay is exponential: a mistake in it must not cost the job its retry.
 */
export function retryDelayMs(
  retry: ResolvedRetry,
  failures: number,
  random: Random,
  error?: unknown,
): number {
  if (retry.custom !== null) {
    try {
      return parseDuration(retry.custom(failures, error), 'retry.backoff');
    } catch {
      // Goes on to the exponential delay.
    }
  }
  const baseMs = Math.min(growDelay(retry, failures), retry.maxDelayMs);
  // Spread evenly between the two ends. Cutting off after the draw would pile delays up exactly at the limit.
  const lowMs = baseMs * (1 - retry.jitter);
  const highMs = Math.min(baseMs * (1 + retry.jitter), retry.maxDelayMs);
  return Math.round(lowMs + (highMs - lowMs) * random.next());
}

/** The same policy; `onError` is told whenever its function throws, or answers with something that is no duration. */
export function watchBackoff(retry: ResolvedRetry, onError: (error: unknown) => void): ResolvedRetry {
  const { custom } = retry;
  if (custom === null) return retry;
  return resolved(retry, (failures, error) => {
    try {
      return parseDuration(custom(failures, error), 'retry.backoff');
    } catch (refusal) {
      onError(refusal);
      throw refusal;
    }
  });
}

function growDelay({ backoff, delayMs, factor }: StoredRetry, failures: number): number {
  // Zero stays zero; multiplied by an overflow it would be NaN.
  if (delayMs === 0 || backoff === 'fixed') return delayMs;
  return backoff === 'linear' ? delayMs * failures : delayMs * factor ** (failures - 1);
}

function resolved(stored: StoredRetry, custom: BackoffFunction | null): ResolvedRetry {
  const { attempts, backoff, delayMs, factor, maxDelayMs, jitter } = stored;
  return Object.freeze({
    attempts,
    backoff,
    delayMs,
    factor,
    maxDelayMs,
    jitter,
    custom,
    toStored: (): StoredRetry => ({ attempts, backoff, delayMs, factor, maxDelayMs, jitter }),
  });
}

function isNumberBetween(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max;
}

function refuse(field: string, value: unknown, expected: string): never {
  throw dulyError('invalid_option', {
    message: `Expected "${field}" ${expected}${value === undefined ? '' : `, got ${shown(value)}`}.`,
    hint: 'What "retry" takes is in the documentation of tasks.',
    details: { field },
  });
}

/** A stored policy as it is written, without what every task begins with; null: it is nothing else. A function of the user's own cannot be written. */
export function writtenRetry(stored: StoredRetry): RetryPolicy | null {
  const { attempts, backoff, delayMs, factor, maxDelayMs, jitter } = stored;
  const written: RetryPolicy = {
    ...(attempts === defaultRetry.attempts ? {} : { attempts }),
    ...(backoff === defaultRetry.backoff || backoff === 'custom' ? {} : { backoff }),
    ...(delayMs === defaultRetry.delayMs ? {} : { delay: delayMs }),
    ...(factor === defaultRetry.factor ? {} : { factor }),
    ...(maxDelayMs === Math.max(defaultRetry.maxDelayMs, delayMs) ? {} : { maxDelay: maxDelayMs }),
    ...(jitter === defaultRetry.jitter ? {} : { jitter }),
  };
  return Object.keys(written).length === 0 ? null : written;
}
