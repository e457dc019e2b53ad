import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../../test/property.ts';
import {
  packInput,
  packList,
  packReply,
  unpackInput,
  unpackList,
  unpackReply,
} from '../../../src/store/thread/packed.ts';

const value = fc.oneof(
  fc.constantFrom(null, 'a', 'b', 0, 1, true),
  fc.string(),
  fc.record({ inner: fc.integer() }),
);
const item = fc.record({ id: fc.string(), a: value, b: value, c: fc.constant('same') });
// As plain objects: fast-check makes some without a prototype, and no message carries that.
const lists = fc.array(item, { maxLength: 12 }).map((list) => structuredClone(list));
/** What a message does to what it carries. */
const travel = <Value>(value: Value): Value => structuredClone(value);

test('a list that was packed and has travelled is the list again', () => {
  fc.assert(
    fc.property(lists, (list) => {
      assert.deepEqual(unpackList(travel(packList(list))), list);
    }),
    cases(100),
  );
});

test('what all of a list have in common travels once', () => {
  const policy = { attempts: 3 };
  const list = Array.from({ length: 100 }, (_, n) => ({ id: `job_${n}`, type: 'mail', policy, input: '{}' }));
  const packed = packList(list);
  assert.ok('columns' in packed);
  assert.deepEqual(Object.keys(packed.columns), ['id']);
  assert.deepEqual(packed.shared, { id: null, type: 'mail', policy, input: '{}' });
});

test('a field that is an object of one shape in all of them is packed too', () => {
  const list = Array.from({ length: 50 }, (_, n) => ({ id: n, slot: { schedule: 'nightly', slotAt: n } }));
  const packed = packList(list);
  assert.ok('columns' in packed);
  assert.deepEqual((packed.columns['slot'] as { shared: object }).shared, {
    schedule: 'nightly',
    slotAt: null,
  });
  assert.deepEqual(unpackList(travel(packed)), list);
});

test('objects that have not all the same fields travel as they are', () => {
  const list = [{ a: 1 }, { a: 2, b: 3 }, { a: 4 }, { b: 5 }, { a: 6 }];
  assert.equal(packList(list), list);
  assert.deepEqual(unpackList<object>(packList(list)), list);
});

test('what verbs are asked and answer comes out as it went in', () => {
  const groups = fc.array(
    lists.map((jobs) => ({ jobs })),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(lists, groups, fc.string(), (list, many, other) => {
      const exchange = { settle: list, claim: { limit: 3 }, repeat: true };
      assert.deepEqual(unpackInput('exchange', travel(packInput('exchange', exchange))), exchange);
      const enqueue = { groups: many, claim: { limit: 3 } };
      assert.deepEqual(unpackInput('enqueue', travel(packInput('enqueue', enqueue))), enqueue);
      const fire = {
        node: 'n',
        groups: many.map(({ jobs }, i) => ({
          scheduleId: `s${i}`,
          state: '{}',
          slots: list,
          jobs,
          cancel: [],
        })),
        claim: { limit: 3 },
      };
      assert.deepEqual(unpackInput('fire', travel(packInput('fire', fire))), fire);
      assert.deepEqual(unpackInput('get', travel(packInput('get', { other }))), { other });
    }),
    cases(100),
  );
  const outcomes = fc.array(fc.constantFrom('done', 'lost'));
  const answers = fc.array(
    fc.oneof(
      lists.map((items) => ({ ok: true, items })),
      fc.constant({ ok: false, error: { code: 'group_refused' } }),
    ),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(outcomes, answers, lists, (settled, many, claimed) => {
      const exchange = { now: 1, settled, claimed, nextDueAt: null, more: true, soloSinceAt: null };
      assert.deepEqual(unpackReply('exchange', travel(packReply('exchange', exchange))), exchange);
      const enqueue = { now: 1, groups: many, claimed };
      assert.deepEqual(unpackReply('enqueue', travel(packReply('enqueue', enqueue))), enqueue);
      const fire = { now: 1, groups: ['fired'], claimed };
      assert.deepEqual(unpackReply('fire', travel(packReply('fire', fire))), fire);
      const schedules = { now: 1, schedules: claimed, nextDueAt: null, more: false };
      assert.deepEqual(
        unpackReply('claimSchedules', travel(packReply('claimSchedules', schedules))),
        schedules,
      );
      assert.deepEqual(unpackReply('get', travel(packReply('get', { now: 1 }))), { now: 1 });
    }),
    cases(100),
  );
});
