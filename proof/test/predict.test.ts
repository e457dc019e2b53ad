// Histories by hand, for what few worlds show.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobRecord } from '../../packages/core/src/contract/engine.ts';
import type { Applied, CreatedJob, Fired, HistoryEvent } from '../history.ts';
import { predict } from '../model/predict.ts';

const scheduleId = 'sch_1';
const policies = { overlap: 'skip', jitterMs: 0, startAt: null, endAt: null, maxRuns: null };
const of = { pauseAfterFailures: null, flagAfterFailures: null, startDeadlineMs: null };
const specOf = (note: string | null): string =>
  JSON.stringify({ rule: { delay: 2_000 }, policies: { ...policies, ...of }, release: null, note });

const up = (node: string): HistoryEvent => ({ kind: 'node', at: 0, node, state: 'up' });
const asked = (at: number, node: string, call: number): HistoryEvent => ({
  ...{ kind: 'asked', at, node, call },
  ...{ what: 'put', subject: 's0' },
});
const answered = (at: number, node: string, call: number): HistoryEvent => ({
  ...{ kind: 'answered', at, node, call },
  ...{ what: 'put', outcome: 'acknowledged', subject: 's0' },
});
const read = (at: number, node: string, version: number | null): HistoryEvent => ({
  ...{ kind: 'scheduleRead', at, node, scheduleId, version },
});
const ended = (at: number, id: string): HistoryEvent =>
  ({ kind: 'settled', at, node: 'n1', id, fence: 2, to: 'COMPLETED', result: 'done' }) as HistoryEvent;
/** The slot of a run that has none. */
const slotless = { scheduleId, generation: 1, slotAt: null, fireId: 'f', allow: false, details: null };
const unchanged = { slots: [], jobs: [], cancel: [], slotDetails: [], pauseUntilAt: null };

function applied(at: number, node: string, action: string, fields: Partial<Applied>): Applied {
  const expectVersion = fields.expectVersion ?? null;
  const version = (expectVersion ?? 0) + 1;
  return {
    ...{ kind: 'applied', at, node, scheduleId, action, result: 'applied' },
    ...{ version, generation: 1, spec: specOf(null), dueAt: null, ...unchanged, ...fields, expectVersion },
  };
}

function differences(events: HistoryEvent[], jobs: Partial<JobRecord>[] = []): (string | null)[] {
  const final = { at: 100_000, jobs: jobs as JobRecord[], schedules: [], ledger: {}, audit: [] };
  const { writes } = predict({ events, final, isComplete: true, isSettled: true });
  return writes.map(({ difference }) => difference);
}

test('a schedule may be created from a reading that is older than its last deletion, if the call is', () => {
  const missed = { fromAt: 2_000, toAt: 2_000, count: 1, decision: 'missed', reason: 'deleted', jobId: null };
  const meanwhile = [
    read(2_000, 'n1', null),
    applied(2_000, 'n1', 'create', { dueAt: 2_000 }),
    read(3_000, 'n1', 1),
    applied(3_000, 'n1', 'delete', { expectVersion: 1, spec: null, slots: [missed] as Applied['slots'] }),
  ];
  const create = applied(4_000, 'n0', 'create', { dueAt: 1_000 });
  const before = [up('n0'), up('n1'), asked(900, 'n0', 1), read(1_000, 'n0', null)];
  assert.deepEqual(differences([...before, ...meanwhile, create]), [null]);
  const other = [answered(1_100, 'n0', 1), ...meanwhile, asked(3_500, 'n0', 2)];
  assert.deepEqual(differences([...before, ...other, create]), [
    null,
    'is due first at 00:00:01.000, predicted that its writer reads first',
  ]);
});

test('a write that waits for a run that is over leaves its schedule due at the instant of the write', () => {
  const slot = { scheduleId, generation: 1, slotAt: 1_000, fireId: 'f', allow: false, details: null };
  const job = { id: 'job_1', dueAt: 1_000, gates: [], slot, origin: 'schedule' } as unknown as CreatedJob;
  const details = JSON.stringify({ isCatchUp: false, previousSlotAt: null, nextSlotAt: null, covers: null });
  const row = { fromAt: 1_000, toAt: 1_000, count: 1, decision: 'fired', reason: null, jobId: 'job_1' };
  const fired = {
    ...{
      kind: 'fired',
      at: 1_000,
      node: 'n1',
      scheduleId,
      fence: 1,
      version: 1,
      result: 'fired',
      dueAt: null,
    },
    ...{ ...unchanged, slots: [row], jobs: [{ ...job, slot: { ...slot, details } }] },
  } as unknown as Fired;
  const edited = (dueAt: number) =>
    differences([
      read(1_000, 'n0', null),
      applied(1_000, 'n0', 'create', { dueAt: 1_000 }),
      { kind: 'scheduleClaimed', at: 1_000, node: 'n1', scheduleId, fence: 1, version: 1, generation: 1 },
      fired,
      ended(1_500, 'job_1'),
      read(2_000, 'n0', 2),
      applied(2_001, 'n0', 'pause', { expectVersion: 2, pauseUntilAt: 9_000, dueAt: 9_000 }),
      read(3_000, 'n0', 3),
      applied(3_001, 'n0', 'edit', { expectVersion: 3, spec: specOf('new'), dueAt }),
    ]).at(-1);
  assert.equal(edited(2_001), null);
  assert.equal(edited(1_500), 'is due again at 00:00:01.500, predicted 00:00:02.001');
  assert.equal(edited(9_000), 'is due again at 00:00:09.000, predicted 00:00:02.001');
});

test('a planner reads all of more than ten unfinished runs, between its claim and its write', () => {
  // More than the ten of a claim and the newest one, also without one that ends.
  const ids = Array.from({ length: 13 }, (_, i) => `job_${10 + i}`);
  const [first, ...others] = ids as [string, ...string[]];
  const rule = { rate: 2_000, anchor: 'epoch' };
  const spec = JSON.stringify({
    rule,
    policies: { ...policies, ...of, overlap: 'bufferOne' },
    release: null,
  });
  const run = (id: string, fields: object): CreatedJob =>
    ({ id, dueAt: 1_100, gates: [], slot: slotless, origin: 'backfill', ...fields }) as unknown as CreatedJob;
  const claimed: HistoryEvent = {
    ...{ kind: 'scheduleClaimed', at: 2_000, node: 'n1', scheduleId, fence: 1, version: 2, generation: 1 },
  };
  const fired = (gates: readonly string[]): HistoryEvent => {
    const told = { isCatchUp: false, previousSlotAt: 0, nextSlotAt: 4_000, covers: null };
    const firedSlot = { ...slotless, slotAt: 2_000, details: JSON.stringify(told) };
    const row = { fromAt: 2_000, toAt: 2_000, count: 1, decision: 'fired', reason: null, jobId: 'job_99' };
    return {
      ...{ kind: 'fired', at: 2_010, node: 'n1', scheduleId, fence: 1, version: 2, result: 'fired' },
      ...{ ...unchanged, slots: [row], dueAt: 4_000 },
      jobs: [run('job_99', { dueAt: 2_000, gates, slot: firedSlot, origin: 'schedule' })],
    } as unknown as Fired;
  };
  const before = [
    read(1_000, 'n0', null),
    applied(1_000, 'n0', 'create', { spec, dueAt: 2_000 }),
    read(1_100, 'n0', 1),
    applied(1_100, 'n0', 'backfill', {
      spec,
      expectVersion: 1,
      dueAt: 2_000,
      jobs: ids.map((id) => run(id, {})),
    }),
  ];
  const wrong = /^created job_99 with gates \[.*\], predicted \[.*\]$/;
  const difference = (events: HistoryEvent[], jobs?: Partial<JobRecord>[]): string =>
    String(differences([...before, ...events], jobs).at(-1));
  // A run ends between the claim and the write: it may have been read before or after that.
  assert.equal(difference([claimed, ended(2_005, first), fired(others)]), 'null');
  assert.equal(difference([claimed, ended(2_005, first), fired(ids)]), 'null');
  // It ended before the claim, or not at all.
  assert.match(difference([ended(1_999, first), claimed, fired(ids)]), wrong);
  assert.match(difference([claimed, fired(others)]), wrong);
  assert.equal(difference([claimed, fired(ids)]), 'null');
  // It expired meanwhile, which nobody wrote down.
  const expired = (finishedAt: number): Partial<JobRecord>[] => [
    { id: first, status: 'EXPIRED', finishedAt },
  ];
  assert.equal(difference([claimed, fired(others)], expired(2_005)), 'null');
  assert.match(difference([claimed, fired(others)], expired(2_011)), wrong);
});

test('an operation may read the runs long after its schedule', () => {
  const policed = { ...policies, ...of, overlap: 'skip' };
  const spec = JSON.stringify({
    rule: { rate: 600_000, anchor: 'epoch' },
    policies: policed,
    release: null,
    job: { input: null },
  });
  const told = { isCatchUp: false, previousSlotAt: 0, nextSlotAt: 600_000, covers: null };
  const run = (id: string, dueAt: number, details: string | null): CreatedJob =>
    ({
      id,
      dueAt,
      gates: [],
      slot: { ...slotless, details },
      origin: 'trigger',
      input: null,
    }) as unknown as CreatedJob;
  const details = JSON.stringify(told);
  const triggered = (at: number, expectVersion: number, job: CreatedJob) =>
    applied(at, 'n0', 'trigger', { spec, expectVersion, dueAt: 600_000, jobs: [job] });
  // The clock of the store jumps between the second trigger's read of the schedule and its read of the runs.
  const secondAfter = (...expired: number[]) =>
    differences(
      [
        read(1_000, 'n0', null),
        applied(1_000, 'n0', 'create', { spec, dueAt: 600_000 }),
        read(1_100, 'n0', 1),
        triggered(1_101, 1, run('job_1', 1_100, details)),
        read(2_000, 'n0', 2),
        triggered(80_000, 2, run('job_2', 2_000, details)),
      ],
      expired.map((finishedAt) => ({ id: 'job_1', status: 'EXPIRED', finishedAt })),
    ).at(-1);
  const wrong = 'created [trigger never job_2], predicted []';
  for (const at of [1_500, 2_001, 70_000, 80_000]) assert.equal(secondAfter(at), null);
  assert.equal(secondAfter(80_001), wrong);
  assert.equal(secondAfter(), wrong);
});

test('an operation lists the unfinished runs of one millisecond by id', () => {
  const jobs = ['job_2', 'job_1'].map((id) => ({
    id,
    dueAt: 1_100,
    gates: [],
    slot: slotless,
    origin: 'backfill',
  }));
  const rated = JSON.stringify({
    rule: { rate: 60_000, anchor: 'epoch' },
    policies: { ...policies, ...of },
    release: null,
    note: null,
  });
  // Edited to a fixed delay it waits for the last run of the list.
  const editedAfter = (id: string, dueAt: number | null) =>
    differences([
      read(1_000, 'n0', null),
      applied(1_000, 'n0', 'create', { spec: rated, dueAt: 60_000 }),
      read(1_100, 'n0', 1),
      applied(1_100, 'n0', 'backfill', {
        ...{ spec: rated, expectVersion: 1, dueAt: 60_000, jobs: jobs as unknown as CreatedJob[] },
      }),
      read(1_200, 'n0', 2),
      applied(1_201, 'n0', 'edit', { expectVersion: 2 }),
      ended(1_500, id),
      read(2_000, 'n0', 3),
      applied(2_001, 'n0', 'edit', { expectVersion: 3, spec: specOf('new'), dueAt }),
    ]).at(-1);
  assert.equal(editedAfter('job_2', 1_500), null);
  assert.equal(editedAfter('job_1', null), null);
  assert.equal(editedAfter('job_1', 1_500), 'is due again at 00:00:01.500, predicted never');
});
