import { type Clock, DulyError } from '@duly/core';

/** How many requests a key may send. */
export interface RateLimit {
  /** Requests and WebSocket messages per second, sustained. */
  readonly perSecond: number;
  /** How many may come at once after a pause. */
  readonly burst: number;
}

/** The token buckets of one server process, one for each key. */
export interface RateLimits {
  /** Takes a token for one request of this key; false: there is none. */
  take(actor: string): boolean;
  /** The error for a request without a token. */
  refusal(actor: string): DulyError;
}

// A bucket that is dropped starts full again, so this bounds memory and not callers.
const bucketsMax = 10_000;

/** A bucket of tokens that fills up steadily. */
export interface TokenBucket {
  take(): boolean;
  /** How long until the next token is there. */
  waitMs(): number;
}

/** Creates a bucket, which starts full. */
export function createBucket({ perSecond, burst }: RateLimit, clock: Clock): TokenBucket {
  let tokens = burst;
  let filledElapsed = clock.elapsed();
  function fill(): void {
    const now = clock.elapsed();
    tokens = Math.min(burst, tokens + ((now - filledElapsed) / 1_000) * perSecond);
    filledElapsed = now;
  }
  return {
    take() {
      fill();
      if (tokens < 1) return false;
      tokens--;
      return true;
    },
    waitMs() {
      fill();
      return Math.max(0, Math.ceil(((1 - tokens) / perSecond) * 1_000));
    },
  };
}

/** Creates the buckets; null: no limit. */
export function createRateLimits(limit: RateLimit | null, clock: Clock): RateLimits | null {
  if (limit === null) return null;
  const buckets = new Map<string, TokenBucket>();
  function bucketOf(actor: string): TokenBucket {
    let bucket = buckets.get(actor);
    if (bucket === undefined) {
      if (buckets.size >= bucketsMax) buckets.delete(buckets.keys().next().value as string);
      bucket = createBucket(limit as RateLimit, clock);
      buckets.set(actor, bucket);
    }
    return bucket;
  }
  return {
    take: (actor) => bucketOf(actor).take(),
    refusal(actor) {
      const { perSecond, burst } = limit;
      return new DulyError('rate_limited', {
        message: `The key has sent more than ${perSecond} requests per second to this server.`,
        hint: 'Wait as long as "Retry-After" says. Create many jobs with one request, and follow jobs instead of polling.',
        details: { per_second: perSecond, burst, retry_after_ms: bucketOf(actor).waitMs() },
      });
    },
  };
}

/** The headers of a refusal: `Retry-After`, and those of the IETF draft on rate limits. */
export function rateLimitHeaders(details: Record<string, unknown>): Record<string, string> {
  const { per_second, burst, retry_after_ms } = details as Record<string, number>;
  const seconds = Math.max(1, Math.ceil((retry_after_ms ?? 0) / 1_000));
  const windowSeconds = Math.max(1, Math.ceil((burst ?? 1) / (per_second ?? 1)));
  return {
    'Retry-After': String(seconds),
    'RateLimit-Policy': `"key";q=${burst};w=${windowSeconds}`,
    RateLimit: `"key";r=0;t=${seconds}`,
  };
}
