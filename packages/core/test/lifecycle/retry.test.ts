import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../test/property.ts';
import { type ErrorCode, isDulyError } from '../../src/base/errors.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import {
  defaultRetry,
  type RetryPolicy,
  resolveRetry,
  retryDelayMs,
  retryFromStored,
} from '../../src/lifecycle/retry.ts';

const middle: Random = { next: () => 0.5 };

function delays(policy: RetryPolicy, count = 5): number[] {
  const retry = resolveRetry(policy);
  return Array.from({ length: count }, (_, i) => retryDelayMs(retry, i + 1, middle));
}

test('nothing written means 3 attempts, exponential from 1 s, ±20 %', () => {
  const retry = resolveRetry(undefined);
  assert.deepEqual(retry.toStored(), {
    attempts: 3,
    backoff: 'exponential',
    delayMs: 1000,
    factor: 2,
    maxDelayMs: 3_600_000,
    jitter: 0.2,
  });
  assert.equal(retry, defaultRetry);
  assert.ok(Object.isFrozen(retry));
});

test('a number is the number of attempts', () => {
  assert.deepEqual(resolveRetry(7).toStored(), { ...defaultRetry.toStored(), attempts: 7 });
});

test('what is not written comes from the defaults given', () => {
  const defaults = resolveRetry({ attempts: 9, backoff: () => 5, delay: '5s' });
  const retry = resolveRetry({ attempts: 2 }, defaults);
  assert.equal(retry.attempts, 2);
  assert.equal(retry.delayMs, 5000);
  assert.equal(retryDelayMs(retry, 1, middle), 5);
  assert.equal(resolveRetry({ backoff: 'fixed' }, defaults).custom, null);
});

test('delays grow as the backoff says', () => {
  assert.deepEqual(delays({ delay: '1s' }), [1000, 2000, 4000, 8000, 16000]);
  assert.deepEqual(delays({ delay: '1s', factor: 3 }), [1000, 3000, 9000, 27000, 81000]);
  assert.deepEqual(delays({ delay: '1s', backoff: 'linear' }), [1000, 2000, 3000, 4000, 5000]);
  assert.deepEqual(delays({ delay: '1s', backoff: 'fixed' }), [1000, 1000, 1000, 1000, 1000]);
  assert.deepEqual(delays({ delay: 0 }), [0, 0, 0, 0, 0]);
});

test('a delay longer than the default limit raises the limit', () => {
  assert.deepEqual(delays({ delay: '2h', backoff: 'fixed', jitter: 0 }, 1), [7_200_000]);
});

test('a function decides alone, and is given the count of failures and the error', () => {
  const calls: unknown[] = [];
  const retry = resolveRetry({
    backoff: (attempt, error) => {
      calls.push([attempt, error]);
      return '2 days';
    },
    maxDelay: '1h',
  });
  assert.equal(retry.backoff, 'custom');
  assert.equal(retryDelayMs(retry, 4, middle, 'why'), 2 * 86_400_000);
  assert.deepEqual(calls, [[4, 'why']]);
});

for (const [name, backoff] of [
  [
    'throws',
    () => {
      throw new Error('no');
    },
  ],
  ['answers with nonsense', () => 'soon'],
  ['answers with a negative number', () => -5],
  ['answers with nothing', () => undefined],
  ['is async', async () => 5],
] as [string, () => unknown][]) {
  test(`a function that ${name} is passed over for the exponential delay`, () => {
    const retry = resolveRetry({ backoff: backoff as () => number });
    assert.equal(retryDelayMs(retry, 2, middle), 2000);
  });
}

test('the stored form is plain JSON and comes back the same; a function comes back only if it is at hand', () => {
  const fn = (): number => 7;
  for (const policy of [
    {},
    { attempts: 5, backoff: 'linear', delay: '3s', jitter: 0 },
    { backoff: fn },
  ] as RetryPolicy[]) {
    const retry = resolveRetry(policy);
    const stored = JSON.parse(JSON.stringify(retry.toStored()));
    assert.deepEqual(stored, retry.toStored());
    assert.deepEqual(retryFromStored(stored).toStored(), retry.toStored());
  }
  const stored = resolveRetry({ backoff: fn }).toStored();
  assert.equal(stored.backoff, 'custom');
  assert.equal(retryDelayMs(retryFromStored(stored, fn), 3, middle), 7);
  assert.equal(retryDelayMs(retryFromStored(stored), 3, middle), 4000);
  // A function of the task's newer code does not take over a job that was stored with another backoff.
  assert.equal(
    retryDelayMs(retryFromStored(resolveRetry({ backoff: 'fixed' }).toStored(), fn), 3, middle),
    1000,
  );
});

for (const stored of [
  null,
  undefined,
  5,
  'x',
  [],
  {},
  { attempts: -1, backoff: 'odd', delayMs: 'x', factor: 0, jitter: 9 },
]) {
  test(`a stored policy of ${JSON.stringify(stored)} falls back to the default`, () => {
    assert.deepEqual(retryFromStored(stored).toStored(), defaultRetry.toStored());
  });
}

for (const [policy, field, code = 'invalid_option'] of [
  [{ attempts: 0 }, 'retry.attempts'],
  [{ attempts: -1 }, 'retry.attempts'],
  [{ attempts: 1.5 }, 'retry.attempts'],
  [{ attempts: 1_000_001 }, 'retry.attempts'],
  [{ attempts: Number.POSITIVE_INFINITY }, 'retry.attempts'],
  [{ attempts: '3' }, 'retry.attempts'],
  [{ attempts: null }, 'retry.attempts'],
  [0, 'retry.attempts'],
  [Number.NaN, 'retry.attempts'],
  [{ factor: 0.9 }, 'retry.factor'],
  [{ factor: 1001 }, 'retry.factor'],
  [{ factor: Number.NaN }, 'retry.factor'],
  [{ jitter: -0.1 }, 'retry.jitter'],
  [{ jitter: 1.1 }, 'retry.jitter'],
  [{ jitter: '20%' }, 'retry.jitter'],
  [{ delay: '-5m' }, 'retry.delay', 'invalid_duration'],
  [{ delay: 'soon' }, 'retry.delay', 'invalid_duration'],
  [{ maxDelay: '2 months' }, 'retry.maxDelay', 'invalid_duration'],
  [{ delay: '2h', maxDelay: '1h' }, 'retry.maxDelay'],
  [{ backoff: 'cubic' }, 'retry.backoff'],
  [{ backoff: 'custom' }, 'retry.backoff'],
  [{ backoff: 5 }, 'retry.backoff'],
  [{ attempt: 3 }, 'retry.attempt'],
  ['three', 'retry'],
  [null, 'retry'],
] as [unknown, string, ErrorCode?][]) {
  test(`a policy of ${JSON.stringify(policy)} is refused by the name of ${field}`, () => {
    assert.throws(
      () => resolveRetry(policy as RetryPolicy),
      (error) => {
        assert.ok(isDulyError(error, code), String(error));
        assert.ok(error.message.startsWith(`Expected "${field}" `), error.message);
        assert.equal(error.details.field, field);
        return true;
      },
    );
  });
}

for (const policy of [
  1,
  1_000_000,
  { factor: 1 },
  { factor: 1000 },
  { jitter: 0 },
  { jitter: 1 },
  { delay: 0, maxDelay: 0 },
]) {
  test(`a policy of ${JSON.stringify(policy)} is accepted`, () => {
    resolveRetry(policy);
  });
}

test('a delay is whole, within its jitter, and never above the limit, however many failures there were', () => {
  fc.assert(
    fc.property(
      fc.record({
        backoff: fc.constantFrom('exponential' as const, 'linear' as const, 'fixed' as const),
        delay: fc.nat(100_000),
        factor: fc.double({ min: 1, max: 1000, noNaN: true }),
        jitter: fc.double({ min: 0, max: 1, noNaN: true }),
        extra: fc.nat(10_000_000),
      }),
      fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_000_000 })),
      fc.nat(),
      ({ extra, ...policy }, failures, seed) => {
        const retry = resolveRetry({ ...policy, maxDelay: policy.delay + extra });
        const delayMs = retryDelayMs(retry, failures, seededRandom(seed));
        assert.ok(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= retry.maxDelayMs, String(delayMs));
        const fixed = retryDelayMs(
          resolveRetry({ ...policy, jitter: 0, maxDelay: policy.delay + extra }),
          failures,
          middle,
        );
        assert.ok(Math.abs(delayMs - fixed) <= fixed * policy.jitter + 1, `${delayMs} around ${fixed}`);
      },
    ),
    cases(100),
  );
});

test('jitter reaches both ends', () => {
  const retry = resolveRetry({ delay: '10s' });
  assert.equal(retryDelayMs(retry, 1, { next: () => 0 }), 8000);
  assert.equal(retryDelayMs(retry, 1, { next: () => 1 - Number.EPSILON }), 12000);
});
