import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { fromJson, resultBytesMax, toJson } from '../base/json.ts';
import { type OptionNames, readOptions } from '../base/option-reader.ts';
import {
  type LockDeps,
  type LockName,
  type LockWait,
  lockPollMs,
  openLockWait,
  readLockName,
  storedLockName,
  tryAcquire,
} from './held-lock.ts';
import { type LockContext, lockTtlMsMin } from './lock.ts';

/** How to do something once. */
export interface OnceOptions {
  /** How long the result is remembered. Left out: for good. */
  for?: Duration;
  /** How long others wait before they take over from a caller that died. Default 1 min; renewed while `fn` runs. */
  ttl?: Duration;
}

const onceNames: OptionNames<OnceOptions> = { for: true, ttl: true };
const scope = 'once';
const defaultOnceTtlMs = 60_000;

/**
 * Runs `fn` until its result is recorded under this key in the whole store, then never again: whoever asks later, or meanwhile,
 * is given that result, as JSON kept it. An error is not recorded; the next caller tries again.
 */
export async function onceInStore<Value>(
  deps: LockDeps,
  key: string,
  given: OnceOptions | undefined,
  fn: (context: LockContext) => Value | Promise<Value>,
): Promise<Value> {
  readLockName(key, 'once()', 'key');
  const options = readOptions(given, 'once()', onceNames);
  const forMs = options.for === undefined ? null : parseDuration(options.for, 'for', { minMs: 1 });
  const ttlMs =
    options.ttl === undefined ? defaultOnceTtlMs : parseDuration(options.ttl, 'ttl', { minMs: lockTtlMsMin });
  if (typeof fn !== 'function') {
    throw dulyError('invalid_option', { message: `Expected once("${key}") to be given a function to run.` });
  }
  const waiting = await openLockWait(deps, lockPollMs);
  try {
    return (await recordOnce(deps, waiting, { key, forMs, ttlMs, fn })) as Value;
  } finally {
    waiting.close();
  }
}

async function recordOnce(
  deps: LockDeps,
  waiting: LockWait,
  call: { key: string; forMs: number | null; ttlMs: number; fn: (context: LockContext) => unknown },
): Promise<unknown> {
  const { key, forMs, ttlMs, fn } = call;
  const engine = await deps.engine();
  const lockName: LockName = { kind: 'once', name: key };
  // What `fn` gave when the lock was lost before it could be recorded: it is not run a second time by this caller.
  let created: string | null = null;

  for (;;) {
    waiting.listen();
    const { value } = await engine.remember({ scope, key, put: null });
    if (value !== null) return fromJson(value, 'result');

    const answer = await tryAcquire(deps, { ...lockName, ttlMs });
    if ('refused' in answer) {
      await waiting.wait(answer.refused);
      continue;
    }
    const { lock } = answer;
    try {
      // The last holder may have recorded its result between our look and our lock.
      const again = await engine.remember({ scope, key, put: null });
      if (again.value !== null) return fromJson(again.value, 'result');
      // The lock may have ended while the answer was on its way, and its next holder may have recorded a result since.
      if (lock.signal.aborted) continue;
      created ??= toJson(await fn({ fence: lock.fence, signal: lock.signal }), {
        what: 'result',
        maxBytes: resultBytesMax,
      });
      const stored = await engine.remember({
        scope,
        key,
        put: { value: created, forMs, guard: { lock: storedLockName(lockName), fence: lock.fence } },
      });
      // Given back as it was recorded, so that every caller sees the same value.
      if (stored.result !== 'lost' && stored.value !== null) return fromJson(stored.value, 'result');
    } finally {
      await lock.release();
    }
  }
}
