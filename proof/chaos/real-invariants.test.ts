// Each invariant of a chaos run is shown a history that breaks it, and the same without the harm.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptRecord, JobRecord, ScheduleRecord } from '../../packages/core/src/contract/engine.ts';
import { check, type Invariant } from '../checker/index.ts';
import { limitsHold } from '../checker/limits-hold.ts';
import { neverEarly } from '../checker/never-early.ts';
import { noFalseReclaim, oneLease } from '../checker/one-lease.ts';
import { oneOutcome } from '../checker/one-outcome.ts';
import type { Evidence, HistoryEvent, LedgerRow } from '../history.ts';
import { accusationsAreTrue } from './accusations-are-true.ts';
import { healthReportsTruth, noWrites } from './health-reports-truth.ts';
import { healed, movesAgain } from './moves-again.ts';
import { ownLocks } from './own-notes.ts';
import {
  everySlotDecided,
  lossesHaveCauses,
  nothingIsADefect,
  refusalsAreClear,
  resultsAreTheHolders,
  serialInTurn,
} from './real-invariants.ts';

const startAt = Date.UTC(2027, 0, 15, 10);
const at = (ms: number) => startAt + ms;

function attempt(fields: Partial<AttemptRecord>): AttemptRecord {
  return {
    n: 1,
    node: 'node_a',
    fence: 7,
    startedAt: at(0),
    begunAt: null,
    endedAt: at(100),
    reason: 'returned',
    error: null,
    ...fields,
  };
}

function job(fields: Partial<JobRecord>): JobRecord {
  const base = { id: 'job_1', status: 'COMPLETED', metadata: null, result: null, serial: null, attempts: [] };
  return { ...base, ...fields } as unknown as JobRecord;
}

function breaks(invariant: Invariant, events: HistoryEvent[], final: Partial<Evidence['final']>): string[] {
  const evidence: Evidence = {
    events,
    final: { at: at(60_000), jobs: [], schedules: [], ledger: {}, audit: [], ...final },
    isComplete: false,
    isSettled: true,
  };
  return check(evidence, [invariant]).map(({ message }) => message);
}

const refused = (code: string): HistoryEvent => ({
  kind: 'answered',
  at: at(0),
  node: 'client',
  call: 5,
  what: 'now',
  outcome: 'refused',
  subject: null,
  code,
});

test('a refused promise that exists all the same is found', () => {
  const jobs = [job({ metadata: '{"call":5}' })];
  assert.match(breaks(refusalsAreClear, [refused('store_full')], { jobs }).join(), /exists, though call 5/);
  assert.deepEqual(breaks(refusalsAreClear, [refused('store_full')], {}), []);
});

test('a failure without a code of the store is found', () => {
  assert.match(breaks(refusalsAreClear, [refused('internal')], {}).join(), /failed with "internal"/);
});

test('a result under another fence than the last attempt, or of a handler that was not entered, is found', () => {
  const began: HistoryEvent = {
    kind: 'began',
    at: at(0),
    node: 'node_a',
    id: 'job_1',
    type: 'quick',
    attempt: 1,
    fence: 7,
  };
  const whole = job({ result: '{"fence":7}', attempts: [attempt({})] });
  assert.deepEqual(breaks(resultsAreTheHolders, [began], { jobs: [whole] }), []);
  assert.equal(breaks(resultsAreTheHolders, [], { jobs: [whole] }).length, 1);
  assert.equal(breaks(resultsAreTheHolders, [began, began], { jobs: [whole] }).length, 1);
  const stale = job({ result: '{"fence":7}', attempts: [attempt({ fence: 9 })] });
  assert.equal(breaks(resultsAreTheHolders, [began], { jobs: [stale] }).length, 1);
});

test('two jobs of one serial key at the same time are found', () => {
  const first = job({ id: 'job_1', serial: 'k', attempts: [attempt({})] });
  const during = job({ id: 'job_2', serial: 'k', attempts: [attempt({ startedAt: at(99) })] });
  const after = job({ id: 'job_2', serial: 'k', attempts: [attempt({ startedAt: at(100) })] });
  assert.equal(breaks(serialInTurn, [], { jobs: [first, during] }).length, 1);
  assert.deepEqual(breaks(serialInTurn, [], { jobs: [first, after] }), []);
});

test('a loss is excused by a death, a stop or a store that could not be written, and by nothing else', () => {
  const jobs = [job({ attempts: [attempt({ reason: 'lost', endedAt: at(3_000) })] })];
  const node = (state: 'crashed' | 'paused' | 'resumed', ms: number, name = 'node_a'): HistoryEvent => ({
    kind: 'node',
    at: at(ms),
    node: name,
    state,
  });
  const locked: HistoryEvent = {
    kind: 'fault',
    at: at(-50),
    node: '*',
    fault: 'store-locked',
    untilAt: at(50),
  };
  assert.equal(breaks(lossesHaveCauses, [], { jobs }).length, 1);
  assert.equal(breaks(lossesHaveCauses, [node('crashed', 10, 'node_b')], { jobs }).length, 1);
  assert.equal(breaks(lossesHaveCauses, [node('crashed', 3_001)], { jobs }).length, 1);
  assert.equal(breaks(lossesHaveCauses, [node('paused', -900), node('resumed', -100)], { jobs }).length, 1);
  const blocked: HistoryEvent = { ...locked, node: 'node-3', fault: 'blocked' };
  assert.equal(breaks(lossesHaveCauses, [blocked], { jobs }).length, 1);
  // One node's own call that failed is a moment and no excuse; a node that was cut off has one.
  const failed: HistoryEvent = { kind: 'fault', at: at(10), node: 'node_a', fault: 'call-failed' };
  assert.equal(breaks(lossesHaveCauses, [failed], { jobs }).length, 1);
  const cutOff: HistoryEvent = { ...locked, node: 'node_a', fault: 'cut-off' };
  assert.deepEqual(breaks(lossesHaveCauses, [cutOff], { jobs }), []);
  for (const cause of [[node('crashed', 10)], [node('paused', 10), node('resumed', 2_500)], [locked]]) {
    assert.deepEqual(breaks(lossesHaveCauses, cause, { jobs }), []);
  }
});

test('a slot without a decision, with two, or miscounted is found, and an end before the schedulers ended', () => {
  const schedules = [{ id: 's', name: 'tick', createdAt: at(-500) } as unknown as ScheduleRecord];
  const row = (from: number, to: number, count = (to - from) / 1_000 + 1): LedgerRow =>
    ({ fromAt: at(from), toAt: at(to), count, decision: 'fired' }) as LedgerRow;
  const problems = (...rows: LedgerRow[]) => breaks(everySlotDecided, [], { schedules, ledger: { s: rows } });
  assert.deepEqual(problems(row(0, 0), row(1_000, 4_000), row(5_000, 5_000)), []);
  assert.match(problems(row(0, 0), row(2_000, 2_000)).join(), /expected a decision/);
  assert.match(problems(row(0, 0), row(0, 0)).join(), /expected a decision/);
  assert.match(problems(row(0, 4_000, 4)).join(), /counts 4, not 5/);
  // Whoever made it looked 2 ms before the second and wrote 2 ms after it: that second is the first slot.
  const read = { kind: 'scheduleRead', at: at(-2), node: 'n', scheduleId: 's', version: null } as const;
  const created = [{ ...schedules[0], createdAt: at(2) }] as typeof schedules;
  const ofLate = (events: HistoryEvent[]) =>
    breaks(everySlotDecided, events, { schedules: created, ledger: { s: [row(0, 0), row(1_000, 1_000)] } });
  assert.deepEqual(ofLate([read]), []);
  assert.match(ofLate([]).join(), /expected a decision/);
  const fired = { kind: 'fired', at: at(9_000), slots: [], jobs: [] } as unknown as HistoryEvent;
  const late = breaks(everySlotDecided, [fired], { schedules, ledger: { s: [row(0, 1_000)] } });
  assert.match(late.join(), /no decision from/);
  // A node that dies with the schedule holds it for a lease of 3 s.
  const claimedAt = (ms: number): HistoryEvent =>
    ({ kind: 'scheduleClaimed', at: at(ms), node: 'node_b', scheduleId: 's' }) as HistoryEvent;
  const held = breaks(everySlotDecided, [claimedAt(8_000), fired], {
    schedules,
    ledger: { s: [row(0, 1_000)] },
  });
  assert.deepEqual(held, []);
  const free = breaks(everySlotDecided, [claimedAt(2_000), fired], {
    schedules,
    ledger: { s: [row(0, 1_000)] },
  });
  assert.equal(free.length, 1);
});

test('jobs that do not move again when the store is back are found', () => {
  const over = { kind: 'fault', at: at(1_000), node: 'run', fault: healed, detail: 'outage' } as HistoryEvent;
  const settled = (ms: number) => ({ kind: 'settled', at: at(ms), result: 'done' }) as HistoryEvent;
  const other = { kind: 'fault', at: at(3_000), node: '*', fault: 'outage' } as HistoryEvent;
  assert.deepEqual(breaks(movesAgain, [settled(500), over, settled(15_900)], {}), []);
  assert.match(breaks(movesAgain, [settled(500), over, settled(16_100)], {}).join(), /15100 ms later/);
  const fired = { kind: 'fired', at: at(17_000), slots: [], jobs: [] } as unknown as HistoryEvent;
  assert.match(breaks(movesAgain, [settled(500), over, fired], {}).join(), /nothing was settled any more/);
  // Nobody was there: it counts from when somebody was.
  const node = (state: 'up' | 'crashed', ms: number) =>
    ({ kind: 'node', at: at(ms), node: 'n', state }) as HistoryEvent;
  const absent = [node('up', 0), node('crashed', 900), over, node('up', 9_000)];
  assert.deepEqual(breaks(movesAgain, [...absent, settled(23_900)], {}), []);
  assert.equal(breaks(movesAgain, [...absent, settled(24_100)], {}).length, 1);
  // What comes before that is another outage, or the end.
  assert.deepEqual(breaks(movesAgain, [over, other, settled(20_000)], {}), []);
  assert.deepEqual(breaks(movesAgain, [over], {}), []);
});

test('a retry is early before the instant that its outcome promised, unless that was sent again and nobody knows when it counted', () => {
  const lease = { id: 'job_1', type: 'quick', node: 'node_a', dueAt: at(0) };
  const claimed = (ms: number, fence: number) =>
    ({ ...lease, kind: 'claimed', at: at(ms), attempt: fence, fence, untilAt: at(ms + 99) }) as HistoryEvent;
  const settled = (repeat: boolean) =>
    ({
      kind: 'settled',
      at: at(90),
      node: 'node_a',
      id: 'job_1',
      fence: 1,
      to: 'RETRYING',
      dueAt: at(240),
      result: 'done',
      repeat,
    }) as HistoryEvent;
  const early = (repeat: boolean) =>
    breaks(neverEarly, [claimed(0, 1), settled(repeat), claimed(100, 2)], {});
  assert.equal(early(false).length, 1);
  assert.deepEqual(early(true), []);
});

test('a first attempt is early before its promise, unless that was noted only after it: then it tells when the job is due by now', () => {
  const lease = { id: 'job_1', type: 'quick', node: 'node_a', dueAt: at(0), attempt: 1, fence: 1 };
  const claimed = { ...lease, kind: 'claimed', at: at(10), untilAt: at(99) } as HistoryEvent;
  const created = (ms: number) =>
    ({
      kind: 'created',
      at: at(ms),
      node: 'client',
      jobs: [{ id: 'job_1', dueAt: at(500) }],
    }) as HistoryEvent;
  assert.equal(breaks(neverEarly, [created(5), claimed], {}).length, 1);
  assert.deepEqual(breaks(neverEarly, [claimed, created(800)], {}), []);
});

test('a clean-up is early before its promise, unless a call about its value had no answer before and may have moved it', () => {
  const lease = { id: 'job_1', type: 'expiring:chaos', node: 'node_a', dueAt: at(0), attempt: 1, fence: 1 };
  const claimed = { ...lease, kind: 'claimed', at: at(100), untilAt: at(999) } as HistoryEvent;
  const created = {
    ...{ kind: 'created', at: at(5), node: 'client', jobs: [{ id: 'job_1', dueAt: at(500) }] },
  } as HistoryEvent;
  const valued = {
    ...{ kind: 'valued', at: at(5), node: 'client', name: 'chaos', key: 'a', op: 'put', result: 'changed' },
    ...{ value: '1', expiresAt: at(500), cleanupId: 'job_1' },
  } as HistoryEvent;
  const asked = (ms: number, subject: string) =>
    ({ kind: 'asked', at: at(ms), node: 'client', call: 9, what: 'value', subject }) as HistoryEvent;
  const answered = (outcome: string) =>
    ({
      kind: 'answered',
      at: at(20),
      node: 'client',
      call: 9,
      what: 'value',
      outcome,
      subject: 'chaos/a',
    }) as HistoryEvent;
  const early = (...calls: HistoryEvent[]) =>
    breaks(neverEarly, [created, valued, claimed, ...calls], {}).length;
  assert.equal(early(asked(10, 'chaos/a'), answered('acknowledged')), 1);
  assert.equal(early(asked(10, 'chaos/b')), 1);
  assert.equal(early(asked(200, 'chaos/a')), 1);
  assert.equal(early(asked(10, 'chaos/a')), 0);
  assert.equal(early(asked(10, 'chaos/a'), answered('unknown')), 0);
});

test('a second lease is found, unless the first holder was killed or has no answer to what it handed in', () => {
  const lease = { kind: 'claimed', id: 'job_1', type: 'quick', dueAt: at(0), attempt: 1 };
  const leases = [
    { ...lease, at: at(0), node: 'node_a', fence: 1, untilAt: at(3_000) },
    { ...lease, at: at(1_000), node: 'node_b', fence: 2, untilAt: at(4_000) },
  ] as HistoryEvent[];
  const failed = (detail: string, ms: number): HistoryEvent => ({
    ...{ kind: 'fault', at: at(ms), node: 'node-1', fault: 'call-failed', detail },
  });
  assert.equal(breaks(oneLease, leases, {}).length, 1);
  assert.equal(
    breaks(oneLease, [...leases, failed('exchange: store_unavailable node_b', 500)], {}).length,
    1,
  );
  assert.equal(breaks(oneLease, [...leases, failed('exchange: store_busy node_a', 500)], {}).length, 1);
  assert.equal(
    breaks(oneLease, [...leases, failed('exchange: store_unavailable node_a', 12_500)], {}).length,
    1,
  );
  assert.deepEqual(
    breaks(oneLease, [...leases, failed('exchange: store_unavailable node_a', 9_000)], {}),
    [],
  );
});

test('an outcome under a dead fence is found, unless it was sent again and counted before', () => {
  const lease = { kind: 'claimed', id: 'job_1', type: 'quick', dueAt: at(0), attempt: 1 };
  const leases = [
    { ...lease, at: at(0), node: 'node_a', fence: 1, untilAt: at(900) },
    { ...lease, at: at(1_000), node: 'node_b', fence: 2, untilAt: at(4_000) },
  ] as HistoryEvent[];
  const settled = (repeat: boolean) =>
    ({
      kind: 'settled',
      at: at(2_000),
      node: 'node_a',
      id: 'job_1',
      fence: 1,
      to: 'RETRYING',
      result: 'done',
      repeat,
    }) as HistoryEvent;
  assert.equal(breaks(oneOutcome, [...leases, settled(false)], {}).length, 1);
  assert.deepEqual(breaks(oneOutcome, [...leases, settled(true)], {}), []);
});

test('two leases of a serial key at once are found; when an outcome that was sent again counted its job tells', () => {
  const jobs = ['job_1', 'job_2'].map((id) => ({
    id,
    type: 'serial',
    dueAt: at(0),
    serial: 'key',
    slot: null,
  }));
  const created = { kind: 'created', at: at(0), node: 'client', jobs } as unknown as HistoryEvent;
  const claimed = (id: string, ms: number, fence: number) =>
    ({
      kind: 'claimed',
      id,
      type: 'serial',
      at: at(ms),
      node: 'n',
      fence,
      attempt: 1,
      dueAt: at(0),
      untilAt: at(ms + 900),
    }) as HistoryEvent;
  const again = {
    kind: 'settled',
    at: at(500),
    node: 'n',
    id: 'job_1',
    fence: 1,
    to: 'COMPLETED',
    result: 'done',
    repeat: true,
  } as HistoryEvent;
  const events = [created, claimed('job_1', 10, 1), claimed('job_2', 200, 2), again];
  const ended = (ms: number) => ({ jobs: [job({ attempts: [attempt({ fence: 1, endedAt: at(ms) })] })] });
  assert.equal(breaks(limitsHold, events, ended(300)).length, 1);
  assert.deepEqual(breaks(limitsHold, events, ended(100)), []);
});

test('a call that fails of a defect is found', () => {
  const failed = (detail: string): HistoryEvent => ({
    ...{ kind: 'fault', at: at(1), node: 'node_a', fault: 'call-failed', detail },
  });
  assert.equal(breaks(nothingIsADefect, [failed('fire: internal node_a')], {}).length, 1);
  assert.deepEqual(breaks(nothingIsADefect, [failed('fire: store_unavailable node_a')], {}), []);
});

test('who is told that its own transaction has the store locked, and has none open, is found', () => {
  const own = (state: 'open' | 'held' | 'over', ms: number, process = 'node-1'): HistoryEvent => ({
    ...{ kind: 'ownTransaction', at: at(ms), node: 'node_a', process, n: 1, state },
  });
  const failed = (ms: number): HistoryEvent => ({
    ...{ kind: 'fault', at: at(ms), node: 'node-1', fault: 'call-failed' },
    detail: 'exchange: store_locked_by_user_transaction node_a',
  });
  const problems = (...events: HistoryEvent[]) => breaks(accusationsAreTrue, events, {}).length;
  assert.equal(problems(failed(5_000)), 1);
  assert.equal(problems(own('open', 0), own('over', 3_000), failed(5_000)), 1);
  assert.equal(problems(own('open', 0, 'node-2'), failed(5_000)), 1);
  assert.equal(problems(own('open', 6_000), failed(5_000)), 1);
  assert.equal(problems(own('open', 0), own('held', 1), failed(5_000)), 0);
  assert.equal(problems(own('open', 0), own('held', 1), own('over', 4_000), failed(5_000)), 0);
  const answered: HistoryEvent = {
    ...{ kind: 'answered', at: at(5_000), node: 'node-1', call: 1, what: 'now', outcome: 'refused' },
    ...{ subject: null, code: 'store_locked_by_user_transaction' },
  };
  assert.equal(problems(answered), 1);
  assert.equal(problems(own('open', 0), answered), 0);
});

test('a transaction of a program that keeps all others from writing is told as a fault, for as long as it has the lock', () => {
  const own = (state: 'open' | 'held' | 'over', ms: number): HistoryEvent => ({
    ...{ kind: 'ownTransaction', at: at(ms), node: 'node_a', process: 'node-1', n: 1, state },
  });
  assert.deepEqual(ownLocks([own('open', 0), own('held', 900), own('over', 1_000)], 500), []);
  assert.deepEqual(
    ownLocks([own('open', 0), own('held', 100), own('over', 1_000)], 500).map((one) => [one.at, one.untilAt]),
    [[at(100), at(1_000)]],
  );
});

test('a machine that stood still excuses a lost lease only if it was taken soon after', () => {
  const stalled: HistoryEvent = {
    ...{ kind: 'fault', at: at(0), node: '*', fault: 'machine-stalled', untilAt: at(1_000) },
  };
  const of = { id: 'job_1', type: 'quick', version: 1, queue: 'default' };
  const lease = { ...of, dueAt: at(0), attempt: 1, together: 1 };
  const taken = (ms: number): HistoryEvent[] => [
    { kind: 'node', at: at(-10), node: 'node_a', state: 'up' },
    { ...lease, kind: 'claimed', at: at(0), node: 'node_a', fence: 1, untilAt: at(2_000) },
    {
      kind: 'reaped',
      id: 'job_1',
      attempt: 1,
      at: at(ms),
      node: 'node_b',
      fence: 2,
      untilAt: at(ms + 2_000),
      begun: false,
    },
  ];
  assert.deepEqual(breaks(noFalseReclaim, [stalled, ...taken(2_500)], {}), []);
  assert.equal(breaks(noFalseReclaim, [stalled, ...taken(9_000)], {}).length, 1);
  const jobs = (ms: number) => [job({ attempts: [attempt({ reason: 'lost', endedAt: at(ms) })] })];
  assert.deepEqual(breaks(lossesHaveCauses, [stalled], { jobs: jobs(3_000) }), []);
  assert.equal(breaks(lossesHaveCauses, [stalled], { jobs: jobs(9_000) }).length, 1);
});

test('who says that all is well while no write is confirmed, or goes on to complain when it is again, is found', () => {
  const outage: HistoryEvent = {
    ...{ kind: 'fault', at: at(1_000), node: '*', fault: noWrites, untilAt: at(6_000) },
  };
  const reported = (
    of: 'health' | 'readyz',
    from: number,
    to: number,
    reasons: string[] = [],
  ): HistoryEvent => ({
    ...{
      kind: 'health',
      at: at(to),
      node: 'node_a',
      of,
      askedAt: at(from),
      isBad: reasons.length > 0,
      reasons,
    },
  });
  const truth = (...events: HistoryEvent[]) => breaks(healthReportsTruth, [outage, ...events], {});
  for (const source of ['health', 'readyz'] as const) {
    assert.match(truth(reported(source, 1_100, 3_000)).join(), /said .* that all is well/);
    assert.deepEqual(truth(reported(source, 1_100, 3_000, ['writes'])), []);
    // Asked before it, or answered after it, it may be either.
    assert.deepEqual(truth(reported(source, 900, 3_000), reported(source, 5_000, 6_100)), []);
    const before = reported(source, 100, 200);
    const complains = [
      reported(source, 7_000, 9_000, ['store']),
      reported(source, 20_000, 22_000, ['writes']),
    ];
    assert.match(
      truth(before, ...complains, reported(source, 31_500, 32_000)).join(),
      /is not well, though it was/,
    );
    assert.deepEqual(
      truth(before, ...complains, reported(source, 30_000, 30_900), reported(source, 31_500, 32_000)),
      [],
    );
    // It was harmed again, or was not there to be asked.
    const again: HistoryEvent = { ...outage, at: at(7_500), untilAt: at(8_000) };
    assert.deepEqual(truth(before, ...complains, again, reported(source, 31_500, 31_600)), []);
    assert.deepEqual(truth(before, ...complains), []);
  }
  // Of another process it says nothing.
  assert.deepEqual(
    breaks(healthReportsTruth, [{ ...outage, node: 'node_b' }, reported('health', 1_100, 3_000)], {}),
    [],
  );
});
