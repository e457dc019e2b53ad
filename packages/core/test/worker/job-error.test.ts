import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dulyError } from '../../src/base/errors.ts';
import type { JobError } from '../../src/contract/engine.ts';
import { toJobError } from '../../src/worker/job-error.ts';

test('an error is kept with name, message, stack, code and causes', () => {
  const error = new TypeError('outer', {
    cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }),
  });
  const kept = toJobError(error);
  assert.equal(kept.name, 'TypeError');
  assert.equal(kept.message, 'outer');
  assert.match(kept.stack ?? '', /job-error\.test/);
  assert.partialDeepStrictEqual(kept.cause, { name: 'Error', message: 'inner', code: 'ECONNREFUSED' });
});

test('throwing undefined or null is told as such, with a code', () => {
  for (const nothing of [undefined, null]) {
    const kept = toJobError(nothing);
    assert.equal(kept.code, 'handler_threw_nullish');
    assert.match(kept.message, new RegExp(`threw ${nothing}`));
  }
});

test('values that are no errors are told in words', () => {
  assert.equal(toJobError('out of stock').message, 'out of stock');
  assert.match(toJobError(42).message, /42/);
  assert.match(toJobError({ status: 500 }).message, /not an error/);
  assert.match(toJobError(Symbol('x')).message, /Symbol\(x\)/);
});

test('an error that cannot be read does not break the one who reads it', () => {
  const hostile = new Proxy(new Error('x'), {
    get() {
      throw new Error('no reading');
    },
  });
  assert.equal(typeof toJobError(hostile).message, 'string');
});

test('the code of a DulyError is kept', () => {
  assert.equal(toJobError(dulyError('lock_lost', { message: 'x' })).code, 'lock_lost');
});

test('what is kept is bounded: five levels of causes, and no long texts', () => {
  let error = new Error('deepest');
  for (let i = 0; i < 20; i++) error = new Error('x'.repeat(100_000), { cause: error });
  const kept = toJobError(error);
  let depth = 0;
  for (let at: JobError | undefined = kept; at !== undefined; at = at.cause) depth++;
  assert.equal(depth, 5);
  assert.ok(JSON.stringify(kept).length < 5 * 26 * 1024);
  assert.match(kept.message, /characters cut/);
});

test('a cycle of causes ends', () => {
  const error = new Error('round');
  error.cause = error;
  assert.equal(toJobError(error).message, 'round');
});
