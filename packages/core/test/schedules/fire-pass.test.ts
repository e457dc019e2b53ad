import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createIds } from '../../src/base/ids.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Engine, FireInput } from '../../src/contract/engine.ts';
import { resolveTask } from '../../src/jobs/task-options.ts';
import { type EveryDefinition, readDraft } from '../../src/schedules/definition/definition.ts';
import { scheduleIdOf } from '../../src/schedules/definition/identity.ts';
import { createParsedSchedules } from '../../src/schedules/definition/schedule-cache.ts';
import { createFirePass } from '../../src/schedules/fire-pass.ts';
import { scheduleLeaseMs } from '../../src/schedules/schedule-lease.ts';
import { createScheduleReader } from '../../src/schedules/schedule-reader.ts';
import { createScheduleWrites } from '../../src/schedules/writes.ts';
import { openTestStore } from '../worker/setup.ts';

const minute = 60_000;

/** A store with one schedule, every ten minutes, and the pass that decides it. `meddle` acts between a claim and its fire, once. */
async function setup(t: TestContext, definition: EveryDefinition) {
  const store = await openTestStore();
  t.after(() => store.close());
  const { engine, clock } = store;
  const ids = createIds({ clock, random: seededRandom(7) });
  const task = resolveTask({ name: 'work', run: () => {} }, () => null);
  const draft = readDraft(definition, { task, app: null, now: clock.now(), inputBytesMax: 1_000 });
  const parsed = createParsedSchedules();
  await createScheduleWrites({
    engine: async () => engine,
    read: createScheduleReader({ engine: async () => engine, clock, random: seededRandom(7) }),
    clock,
    random: seededRandom(7),
    actor: () => 'test',
    node: 'n',
    ids,
    parsed,
  }).upsert(draft);
  const scheduleId = scheduleIdOf(draft);
  let meddle: ((input: FireInput) => Promise<unknown>) | null = null;
  let delayMs = 0;
  const meddled: Engine = {
    ...engine,
    async claimSchedules(input) {
      const reply = await engine.claimSchedules(input);
      if (delayMs > 0) await clock.sleep(delayMs);
      return reply;
    },
    async fire(input) {
      const act = meddle;
      meddle = null;
      await act?.(input);
      return engine.fire(input);
    },
  };
  const errors: unknown[] = [];
  const pass = createFirePass({
    engine: meddled,
    clock,
    node: 'n',
    ids,
    maxSleepMs: () => 30_000,
    onError: (error) => errors.push(error),
  });
  return {
    ...store,
    errors,
    pass,
    scheduleId,
    between(act: (input: FireInput) => Promise<unknown>) {
      meddle = act;
    },
    /** From now on, replies to claims of schedules arrive this late. */
    delayReplies(ms: number) {
      delayMs = ms;
    },
    /** Settles what is given and takes what may run now. */
    async work(done: { id: string; fence: number }[] = []) {
      const claim = {
        token: ids.newId('claim'),
        node: 'w',
        tasks: [{ type: 'work', version: 1, limit: 100 }],
        queues: null,
        limit: 100,
        leaseMs: 3_600_000,
        idle: true,
      };
      const settle = done.map(({ id, fence }) => ({
        id,
        fence,
        to: 'COMPLETED' as const,
        reason: 'returned' as const,
        spends: true,
        started: true,
        loss: 'none' as const,
        due: null,
        result: null,
        error: null,
        report: null,
      }));
      return (await engine.exchange({ settle, claim })).claimed;
    },
    async ledger() {
      const { slots } = await engine.slots({ scheduleId, fromAt: 0, beforeAt: clock.now() + 1, limit: 100 });
      return slots.reverse();
    },
  };
}

test('a run that starts between claim and fire is not taken to have heard of the slot: it is planned anew', async (t) => {
  const one = await setup(t, { rate: '10m', overlap: 'bufferOne' });
  const { clock, pass, work, ledger } = one;
  await clock.advance(10 * minute);
  await pass();
  const [first] = await work();
  assert.ok(first);
  await clock.advance(10 * minute);
  await pass();
  assert.deepEqual(await work(), [], 'the second run waits behind the first');
  await clock.advance(10 * minute);

  // The first run ends and the one that waits begins, while the slot of now is being merged into it.
  let second: Awaited<ReturnType<typeof work>>[number] | undefined;
  one.between(async () => {
    [second] = await work([first]);
  });
  assert.equal(await pass(), 0, 'it comes back at once');
  assert.equal((await ledger()).length, 2, 'nothing was written');
  await pass();
  assert.ok(second);
  const rows = await ledger();
  assert.deepEqual(
    rows.map(({ decision }) => decision),
    ['fired', 'fired', 'fired'],
  );
  const third = await one.job(rows[2]?.jobId ?? '');
  assert.deepEqual([third.status, third.gates], ['BLOCKED', [{ kind: 'overlap', ref: second.id }]]);
  assert.equal(JSON.parse((await one.job(second.id)).slot?.details ?? '').covers, null);

  // The same with nobody in between: the slot is merged, and the run that waits knows of it.
  await clock.advance(10 * minute);
  await pass();
  assert.equal((await ledger())[3]?.decision, 'merged');
  const { covers } = JSON.parse((await one.job(third.id)).slot?.details ?? '');
  assert.equal(covers.count, 1);
  assert.deepEqual(one.errors, []);
});

test('a run that was deleted between claim and fire takes no slot with it', async (t) => {
  const one = await setup(t, { rate: '10m', overlap: 'bufferOne' });
  const { clock, pass, work, ledger, engine } = one;
  await clock.advance(10 * minute);
  await pass();
  await work();
  await clock.advance(10 * minute);
  await pass();
  const waiting = (await ledger())[1]?.jobId ?? '';
  await clock.advance(10 * minute);
  one.between(async () => {
    const targets = [{ id: waiting }];
    await engine.act({ groups: [{ actor: 'a', note: null, action: 'delete', targets }] });
  });
  assert.equal(await pass(), 0);
  await pass();
  const last = (await ledger()).at(-1);
  assert.equal(last?.decision, 'fired');
  assert.equal((await one.job(last?.jobId ?? '')).status, 'BLOCKED');
});

test('after a conflict the schedules are looked at again at once, for nobody says when they are due', async (t) => {
  const { pass, between, engine, clock, errors } = await setup(t, { rate: 10 * minute });
  await clock.advance(10 * minute);
  // As after a lost answer: an earlier send of the same decisions took effect.
  between((input) => engine.fire(input));
  assert.equal(await pass(), 0);
  assert.equal(await pass(), 30_000);
  assert.deepEqual(errors, []);
});

test('a schedule whose decision could not be written is looked at again after its lease', async (t) => {
  const { pass, between, clock, errors } = await setup(t, { rate: 10 * minute });
  await clock.advance(10 * minute);
  between(() => Promise.reject(new Error('No answer.')));
  assert.equal(await pass(), scheduleLeaseMs);
  assert.equal(errors.length, 1);
});

test('a reply that arrives late does not delay the next look: its times count from the request', async (t) => {
  const { clock, pass, delayReplies } = await setup(t, { rate: '10m' });
  await clock.advance(10 * minute - 20_000);
  assert.equal(await pass(), 20_000, 'a quick reply');
  delayReplies(12_000);
  const waiting = pass();
  await clock.advance(12_000);
  assert.equal(await waiting, 8_000, 'the event loop was blocked, or the store was slow');
});
