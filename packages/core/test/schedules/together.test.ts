import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { dulyError, isDulyError } from '../../src/base/errors.ts';
import { createIds } from '../../src/base/ids.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Engine } from '../../src/contract/engine.ts';
import { resolveTask } from '../../src/jobs/task-options.ts';
import { readDraft } from '../../src/schedules/definition/definition.ts';
import { createParsedSchedules } from '../../src/schedules/definition/schedule-cache.ts';
import { createScheduleReader } from '../../src/schedules/schedule-reader.ts';
import { createScheduleWrites, type ScheduleWrites } from '../../src/schedules/writes.ts';
import { openEngine } from '../../src/store/open-engine.ts';

/** Writes over a real store; `meddle` is asked before each call that changes schedules. */
async function setup(t: TestContext, info: Partial<ReturnType<Engine['info']>> = {}) {
  const engine = await openEngine('sqlite::memory:');
  t.after(() => engine.close());
  const sizes: number[] = [];
  const state = { meddle: (_names: string[]): void => {} };
  const clock = systemClock;
  const random = seededRandom(3);
  const reads: number[] = [];
  const ids: string[][] = [];
  const meddled: Engine = {
    ...engine,
    info: () => ({ ...engine.info(), ...info }),
    async schedules(input) {
      reads.push(input.filter.ids?.length ?? 0);
      return engine.schedules(input);
    },
    async applySchedules(input) {
      sizes.push(input.groups.length);
      ids.push(input.groups.flatMap(({ changes }) => changes.map(({ id }) => id)));
      state.meddle(
        input.groups.flatMap(({ changes }) => changes.map((one) => ('name' in one ? one.name : one.id))),
      );
      return engine.applySchedules(input);
    },
  };
  const writes = createScheduleWrites({
    engine: async () => meddled,
    read: createScheduleReader({ engine: async () => meddled, clock, random }),
    actor: () => 'test',
    node: 'n',
    ids: createIds({ clock, random }),
    parsed: createParsedSchedules(),
    clock,
    random,
  });
  const { schedules: all } = engine;
  const names = async () =>
    (await all({ filter: {}, cursor: null, limit: 1_000 })).schedules.map(({ name }) => name);
  return { writes, sizes, reads, ids, state, names };
}

const task = resolveTask({ name: 'work', run: () => {} }, () => null);

function create(writes: ScheduleWrites, name: string, cron = '0 3 * * *') {
  const draft = readDraft({ cron, name }, { task, app: null, now: 0, inputBytesMax: 1_000 });
  return writes.upsert(draft);
}

const many = Array.from({ length: 60 }, (_, n) => `many-${String(n).padStart(2, '0')}`);

test('schedules that are created at the same time are written together', async (t) => {
  const { writes, sizes, names } = await setup(t);
  const created = await Promise.all(many.map((name) => create(writes, name)));
  assert.deepEqual(new Set(created), new Set(['created']));
  assert.deepEqual(await names(), many);
  assert.ok(sizes.length < many.length / 4, `${sizes.length} writes for ${many.length} schedules`);
});

test('on a store with many writers new schedules are written together, and each edit by itself', async (t) => {
  const { writes, sizes } = await setup(t, { isParallel: true });
  await Promise.all(many.map((name) => create(writes, name)));
  assert.ok(sizes.length < many.length / 4, `${sizes.length} writes for ${many.length} schedules`);
  sizes.length = 0;
  await Promise.all(many.map((name) => create(writes, name, '0 4 * * *')));
  assert.deepEqual(sizes, new Array(many.length).fill(1));
});

test('on a store with many writers a schedule that somebody locks delays no other', async (t) => {
  const { writes, state, names } = await setup(t, { isParallel: true });
  state.meddle = (asked) => {
    if (asked.includes('many-13')) throw dulyError('store_busy', { message: 'Locked.' });
  };
  const created = await Promise.allSettled(many.map((name) => create(writes, name)));
  assert.deepEqual(
    created.flatMap(({ status }, n) => (status === 'rejected' ? [many[n]] : [])),
    ['many-13'],
  );
  assert.equal((await names()).length, many.length - 1);
});

test('schedules that are read at the same time are read together, and nothing is written for those that are equal', async (t) => {
  const { writes, reads, sizes } = await setup(t);
  await Promise.all(many.map((name) => create(writes, name)));
  reads.length = sizes.length = 0;
  const again = await Promise.all(many.map((name) => create(writes, name)));
  assert.deepEqual(new Set(again), new Set(['unchanged']));
  assert.deepEqual(
    { reads: reads.reduce((sum, count) => sum + count), writes: sizes.length },
    { reads: 60, writes: 0 },
  );
  assert.ok(reads.length <= 2, `${reads.length} reads`);
});

test('new schedules are written in the order of their ids, whatever the order of the calls', async (t) => {
  const { writes, ids } = await setup(t);
  await Promise.all([...many].reverse().map((name) => create(writes, name)));
  assert.ok(ids.some((one) => one.length > 1));
  for (const one of ids) assert.deepEqual(one, [...one].sort());
});

test('of one name that is created twice at the same time, one is created and the other finds it', async (t) => {
  const { writes, names } = await setup(t);
  const created = await Promise.all([...many, 'many-07'].map((name) => create(writes, name)));
  assert.equal(created.filter((one) => one === 'created').length, many.length);
  assert.equal(created.filter((one) => one === 'unchanged').length, 1);
  assert.deepEqual(await names(), many);
});

test('a change that the store refuses fails alone, whatever travels with it', async (t) => {
  const { writes, state, names } = await setup(t);
  state.meddle = (asked) => {
    if (asked.includes('many-13')) throw dulyError('store_corrupt', { message: 'Not this one.' });
  };
  const created = await Promise.allSettled(many.map((name) => create(writes, name)));
  const refused = created.flatMap((one, n) => (one.status === 'rejected' ? [[many[n], one.reason]] : []));
  assert.equal(refused.length, 1);
  assert.equal(refused[0]?.[0], 'many-13');
  assert.ok(isDulyError(refused[0]?.[1], 'store_corrupt'));
  assert.deepEqual(
    await names(),
    many.filter((name) => name !== 'many-13'),
  );
});

test('when the store is away nothing is asked for a second time by itself', async (t) => {
  const { writes, sizes, state } = await setup(t);
  state.meddle = () => {
    throw dulyError('store_unavailable', { message: 'Away.' });
  };
  const created = await Promise.allSettled(many.map((name) => create(writes, name)));
  assert.ok(
    created.every((one) => one.status === 'rejected' && isDulyError(one.reason, 'store_unavailable')),
  );
  const asked = sizes.reduce((sum, size) => sum + size, 0);
  assert.equal(asked, many.length, 'a trigger whose outcome is unknown must not run twice');
});
