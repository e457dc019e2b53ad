/** Whether something that was measured again and again has stopped growing. */

/** One measured value. */
export interface Sample {
  /** Seconds since the run began. */
  s: number;
  value: number;
}

/** What counts as flat: growth over the second half within the share of the middle value, or within the amount, whichever is more. */
export interface Tolerance {
  share: number;
  amount: number;
}

/** What counts as flat of a figure that the whole machine bends, such as a latency. */
export interface LooseTolerance {
  /** The last quarter may come to so many times the second one, */
  times: number;
  /** or to this much more, whichever is more. */
  amount: number;
}

/** How a measure went. */
export interface Trend {
  /** The middle value of the second half. */
  middle: number;
  max: number;
  /** By how much it grew over what was judged. */
  growth: number;
  /** The same by the minute. */
  perMinute: number;
  /** How much would still be flat. */
  allowed: number;
  isFlat: boolean;
  /** So much would still be flat that it means nothing: the machine was too noisy. */
  isTooNoisy: boolean;
}

// What one would call flat by eye: up to so many times what it is when nothing disturbs it; and so many times the amount that is flat anyway,
// for a machine that is never undisturbed.
const noisyTimes = 4;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[half] as number)
    : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
}

/**
 * The trend of the second half: the first fills caches and tables. The slope is the middle one of all between two samples (Theil and Sen):
 * one odd sample, as of a garbage collection or a busy machine, does not bend it.
 */
export function trendOf(samples: readonly Sample[], tolerance: Tolerance): Trend {
  const half = samples.slice(samples.length >> 1);
  const slopes = half.flatMap((one, i) =>
    half.slice(i + 1).map((other) => (other.value - one.value) / (other.s - one.s)),
  );
  const values = half.map(({ value }) => value);
  const slope = slopes.length === 0 ? 0 : median(slopes);
  const spanS = half.length === 0 ? 0 : (half.at(-1) as Sample).s - (half[0] as Sample).s;
  const middle = values.length === 0 ? 0 : median(values);
  const growth = slope * spanS;
  const allowed = Math.max(tolerance.amount, tolerance.share * Math.abs(middle));
  // What shrinks is not a leak.
  const isFlat = growth <= allowed;
  return { middle, max: maxOf(samples), growth, perMinute: slope * 60, allowed, isFlat, isTooNoisy: false };
}

/**
 * The trend between two windows, the second quarter and the last: the middle of each, so that a few samples of a busy machine do not count,
 * and a bound that a machine busy for the whole of a window stays under. The first quarter warms up. The bound grows with the noise: beyond
 * some size nothing that it lets through can be called flat, and the trend says so.
 */
export function stepOf(samples: readonly Sample[], tolerance: LooseTolerance): Trend {
  const quarter = Math.ceil(samples.length / 4);
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const middleOf = (window: readonly Sample[]) =>
    window.length === 0 ? 0 : median(window.map(({ value }) => value));
  const middle = middleOf(late);
  const growth = middle - middleOf(early);
  const allowed = Math.max(tolerance.amount, (tolerance.times - 1) * middleOf(early));
  const spanS = late.length === 0 || early.length === 0 ? 0 : (late[0] as Sample).s - (early[0] as Sample).s;
  const perMinute = spanS === 0 ? 0 : (growth / spanS) * 60;
  const isFlat = growth <= allowed;
  // A quarter of the samples is better: so it is when nothing disturbs it.
  const sorted = samples.map(({ value }) => value).sort((one, other) => one - other);
  const undisturbed = sorted[sorted.length >> 2] ?? 0;
  const { amount } = tolerance;
  const meaningful = Math.min(Math.max(amount, noisyTimes * undisturbed), noisyTimes * amount);
  const isTooNoisy = isFlat && allowed > meaningful;
  return { middle, max: maxOf(samples), growth, perMinute, allowed, isFlat, isTooNoisy };
}

function maxOf(samples: readonly Sample[]): number {
  return samples.length === 0 ? 0 : Math.max(...samples.map(({ value }) => value));
}
