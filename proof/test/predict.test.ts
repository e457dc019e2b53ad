// Histories by hand, for what few worlds show.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
const unchanged = { slots: [], jobs: [], cancel: [], slotDetails: [], pauseUntilAt: null };

function applied(at: number, node: string, action: string, fields: Partial<Applied>): Applied {
  const expectVersion = fields.expectVersion ?? null;
  const version = (expectVersion ?? 0) + 1;
  return {
    ...{ kind: 'applied', at, node, scheduleId, action, result: 'applied' },
    ...{ version, generation: 1, spec: specOf(null), dueAt: null, ...unchanged, ...fields, expectVersion },
  };
}

function differences(events: HistoryEvent[]): (string | null)[] {
  const final = { at: 100_000, jobs: [], schedules: [], ledger: {}, audit: [] };
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
  const ended = {
    kind: 'settled',
    at: 1_500,
    node: 'n1',
    id: 'job_1',
    fence: 2,
    to: 'COMPLETED',
    result: 'done',
  };
  const edited = (dueAt: number) =>
    differences([
      read(1_000, 'n0', null),
      applied(1_000, 'n0', 'create', { dueAt: 1_000 }),
      { kind: 'scheduleClaimed', at: 1_000, node: 'n1', scheduleId, fence: 1, version: 1, generation: 1 },
      fired,
      ended as unknown as HistoryEvent,
      read(2_000, 'n0', 2),
      applied(2_001, 'n0', 'pause', { expectVersion: 2, pauseUntilAt: 9_000, dueAt: 9_000 }),
      read(3_000, 'n0', 3),
      applied(3_001, 'n0', 'edit', { expectVersion: 3, spec: specOf('new'), dueAt }),
    ]).at(-1);
  assert.equal(edited(2_001), null);
  assert.equal(edited(1_500), 'is due again at 00:00:01.500, predicted 00:00:02.001');
  assert.equal(edited(9_000), 'is due again at 00:00:09.000, predicted 00:00:02.001');
});
