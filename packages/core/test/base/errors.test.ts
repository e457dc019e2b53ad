import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import {
  DulyError,
  dulyError,
  fromPlainError,
  isDulyError,
  type PlainError,
  toPlainError,
} from '../../src/base/errors.ts';

function overPort<Value>(value: Value): Value {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(value);
  const received = receiveMessageOnPort(port2)?.message as Value;
  port1.close();
  return received;
}

test('an error has code, message, hint, details and cause, and its stack begins at its maker', () => {
  const cause = new Error('below');
  const error = dulyError('lease_lost', { message: 'Gone.', hint: 'Stop.', details: { id: 'job_1' }, cause });
  assert.ok(error instanceof DulyError && error instanceof Error);
  assert.equal(error.name, 'DulyError');
  assert.equal(error.code, 'lease_lost');
  assert.equal(error.hint, 'Stop.');
  assert.deepEqual(error.details, { id: 'job_1' });
  assert.equal(error.cause, cause);
  assert.match(error.stack?.split('\n')[1] ?? '', /errors\.test\.ts/);
});

test('an error without hint and cause has no such fields', () => {
  const error = dulyError('stopped', { message: 'No.' });
  assert.equal('hint' in error, false);
  assert.equal('cause' in error, false);
  assert.deepEqual(error.details, {});
  assert.doesNotMatch(inspect(error), /hint|name:/);
});

test('an error is recognised by its brand and code, from another copy of the package too', async () => {
  const url: string = '../../src/base/errors.ts?copy=1';
  const copy = (await import(url)) as typeof import('../../src/base/errors.ts');
  const error = copy.dulyError('timeout', { message: 'Too long.' });
  assert.equal(error instanceof DulyError, false);
  assert.equal(isDulyError(error), true);
  assert.equal(isDulyError(error, 'timeout'), true);
  assert.equal(isDulyError(error, 'lost'), false);
});

for (const value of [undefined, null, 'timeout', 0, {}, new Error('x'), { code: 'timeout' }]) {
  test(`${inspect(value).split('\n')[0]} is not an error of Duly`, () => {
    assert.equal(isDulyError(value), false);
  });
}

test('an error survives a message port and JSON with everything it holds', () => {
  const root = Object.assign(new TypeError('disk'), { code: 'ENOSPC' });
  const middle = dulyError('store_full', { message: 'Full.', hint: 'Make room.', cause: root });
  const error = dulyError('group_refused', {
    message: 'Refused.',
    details: { index: 2, ids: ['a', 'b'], nested: { at: 5 } },
    cause: middle,
  });
  for (const plain of [overPort(toPlainError(error)), JSON.parse(JSON.stringify(toPlainError(error)))]) {
    const back = fromPlainError(plain);
    assert.ok(isDulyError(back, 'group_refused'));
    assert.equal(back.message, error.message);
    assert.equal(back.stack, error.stack);
    assert.equal('hint' in back, false);
    assert.deepEqual(back.details, error.details);
    assert.ok(isDulyError(back.cause, 'store_full'));
    assert.equal(back.cause.hint, 'Make room.');
    const below = back.cause.cause as Error & { code: string };
    assert.equal(isDulyError(below), false);
    assert.deepEqual([below.name, below.message, below.code], ['TypeError', 'disk', 'ENOSPC']);
    assert.deepEqual(toPlainError(back), plain);
  }
});

test('details that cannot travel become words', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const error = dulyError('internal', {
    message: 'Odd.',
    details: {
      fn: () => 1,
      big: 5n,
      nan: Number.NaN,
      date: new Date(0),
      error: new Error('x'),
      cyclic,
      gone: undefined,
    },
  });
  const { details } = overPort(toPlainError(error));
  assert.equal(details.big, '5');
  assert.equal(details.nan, 'NaN');
  assert.equal(details.date, '1970-01-01T00:00:00.000Z');
  assert.equal(details.error, 'Error: x');
  assert.equal(typeof details.fn, 'string');
  JSON.stringify(details);
});

test('anything thrown becomes plain data without throwing', () => {
  const cyclic = new Error('a');
  cyclic.cause = cyclic;
  const hostile = {
    get message(): string {
      throw new Error('no');
    },
  };
  for (const value of [
    undefined,
    null,
    'text',
    5,
    5n,
    Symbol('s'),
    {},
    [],
    Object.create(null),
    () => 1,
    cyclic,
    hostile,
  ]) {
    const plain = overPort(toPlainError(value));
    assert.equal(plain.duly, false);
    assert.ok(plain.message.length > 0);
    assert.ok(fromPlainError(plain) instanceof Error);
  }
  assert.equal(toPlainError('text').message, 'text');
});

test('a chain of causes ends after a few', () => {
  const cyclic = new Error('a');
  cyclic.cause = cyclic;
  let depth = 0;
  for (let at: PlainError | null = toPlainError(cyclic); at !== null; at = at.cause) depth++;
  assert.equal(depth, 9);
});
