import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../../src/base/errors.ts';
import type { ActiveRun } from '../../../src/contract/engine.ts';
import { resolveRule } from '../../../src/schedules/calendar/rule.ts';
import { type RuleInput, ruleKinds } from '../../../src/schedules/calendar/rule-input.ts';
import {
  type CalendarRule,
  type PlanRule,
  type Slots,
  toPlanRule,
} from '../../../src/schedules/definition/planned-rule.ts';
import { resolvePolicies, type SchedulePolicies } from '../../../src/schedules/definition/policies.ts';
import {
  hasSameRule,
  parseSpec,
  type ScheduleSpec,
  serialiseSpec,
} from '../../../src/schedules/definition/spec.ts';
import { createState, parseState, serialiseState } from '../../../src/schedules/definition/state.ts';
import { dueAtOf, jitterOffsetMs } from '../../../src/schedules/planner/jitter.ts';
import { plan, planCreate } from '../../../src/schedules/planner/plan.ts';
import { planBackfill, planPause, planTrigger } from '../../../src/schedules/planner/plan-operations.ts';
import type { Plan, PlanInput } from '../../../src/schedules/planner/plan-types.ts';
import { nextComing } from '../../../src/schedules/planner/upcoming-slot.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const createdAt = Date.parse('2027-01-15T10:00:00Z');

function specOf(rule: RuleInput, written: SchedulePolicies = {}): ScheduleSpec {
  const kind = ruleKinds.find((one) => one in rule) ?? assert.fail('no rule');
  return {
    rule: { ...rule },
    written,
    policies: resolvePolicies(written, kind),
    job: {} as ScheduleSpec['job'],
    release: null,
    note: null,
    override: null,
    drift: null,
  };
}

interface Setup {
  rule?: RuleInput;
  policies?: SchedulePolicies;
  id?: string;
  planRule?: PlanRule;
}

/** A schedule made at `createdAt`, ready for a pass. */
function setup({
  rule = { cron: '0 * * * *' },
  policies = {},
  id = 'sch_a',
  planRule,
}: Setup = {}): PlanInput {
  let runCount = 0;
  const input: PlanInput = {
    id,
    generation: 2,
    spec: specOf(rule, policies),
    rule: planRule ?? toPlanRule(resolveRule(rule, { anchorAt: createdAt })),
    state: createState(createdAt),
    now: createdAt,
    node: 'node-a',
    active: [],
    activeCount: 0,
    waited: null,
    limits: { leaseMs: 3 * second, catchUpBudget: 1_000 },
    newJobId: () => `job_${++runCount}`,
  };
  return { ...input, state: planCreate(input).state };
}

const running = (id: string): ActiveRun => ({
  id,
  status: 'RUNNING',
  slotAt: createdAt,
  origin: 'schedule',
  dueAt: createdAt,
  cancelRequestedAt: null,
});

/** A rule that counts how often it is asked. */
function counted(rule: RuleInput): { planRule: CalendarRule; calls: () => number } {
  const inner = toPlanRule(resolveRule(rule, { anchorAt: createdAt })) as CalendarRule;
  let calls = 0;
  const count = (slots: Slots): Slots => {
    const asked = <Args extends number[], Answer>(
      ask: (...args: Args) => Answer,
    ): ((...args: Args) => Answer) => {
      return (...args) => {
        calls += 1;
        return ask(...args);
      };
    };
    return {
      next: asked(slots.next),
      previous: asked(slots.previous),
      countBetween: asked(slots.countBetween),
    };
  };
  const all = count(inner.all);
  return { planRule: { ...inner, all, open: all }, calls: () => calls };
}

for (const missed of ['skip', 'latest', 'all'] as const) {
  test(`a month of missed seconds costs what two minutes cost, with missed: '${missed}'`, () => {
    const callsFor = (awayMs: number): { calls: number; created: Plan } => {
      const { planRule, calls } = counted({ cron: '* * * * * *' });
      const input = setup({ planRule, policies: { missed } });
      const before = calls();
      const created = plan({ ...input, now: createdAt + awayMs });
      return { calls: calls() - before, created };
    };
    const short = callsFor(3 * minute);
    const long = callsFor(31 * day);
    assert.ok(long.calls <= short.calls + 10, `${long.calls} calls for a month, ${short.calls} for minutes`);
    assert.ok(long.calls < 1_000, `${long.calls} calls`);
    const decided = long.created.slots.reduce((sum, { count }) => sum + (count as number), 0);
    assert.equal(decided, (31 * day) / second, 'every slot has its decision');
    assert.ok(long.created.slots.length < 120);
  });
}

test('a long gap with exclusions is one row that counts what was missed, and covers leave the excluded ones out too', () => {
  const input = setup({ rule: { rate: '1s', exclude: '* 12 * * *' }, policies: { missed: 'latest' } });
  const created = plan({ ...input, now: createdAt + 10 * day + hour });
  const [row, last] = created.slots;
  assert.equal(last?.decision, 'fired');
  const all = ((last?.fromAt as number) - createdAt) / second - 1;
  assert.deepEqual(
    [row?.fromAt, row?.count, row?.decision, row?.reason],
    [createdAt + second, all - 10 * 3_600, 'missed', 'late, not the latest'],
  );
  assert.equal(created.runs[0]?.details.covers?.count, all - 10 * 3_600);
});

test('a short gap with exclusions tells them apart', () => {
  const input = setup({
    rule: { cron: '* * * * *', exclude: '10-19 * * * *' },
    policies: { missed: 'skip' },
  });
  const created = plan({ ...input, now: createdAt + 30 * minute + 30 * second });
  assert.deepEqual(
    created.slots.map(({ count, decision }) => [count, decision]),
    [
      [9, 'missed'],
      [10, 'excluded'],
      [10, 'missed'],
      [1, 'fired'],
    ],
  );
  assert.equal(created.runs[0]?.details.covers?.count, 19);
});

test('a run carries what the handler is told', () => {
  const input = setup({ rule: { cron: '30 2 * * *', timezone: 'Asia/Kolkata' } });
  const created = plan({ ...input, now: Date.parse('2027-01-17T21:00:30Z') });
  assert.deepEqual(created.runs, [
    {
      id: 'job_1',
      slotAt: Date.parse('2027-01-16T21:00:00Z'),
      dueAt: Date.parse('2027-01-16T21:00:00Z'),
      origin: 'schedule',
      gates: [],
      line: null,
      isCatchUp: true,
      rankDelayMs: 2 * day + 30 * second,
      startDeadlineMs: null,
      finishDeadlineAt: null,
      fireId: 'sch_a/2/2027-01-16T21:00:00.000Z',
      allow: false,
      details: {
        date: '2027-01-17',
        timezone: 'Asia/Kolkata',
        isCatchUp: true,
        previousSlotAt: Date.parse('2027-01-15T21:00:00Z'),
        nextSlotAt: Date.parse('2027-01-17T21:00:00Z'),
        covers: {
          fromAt: Date.parse('2027-01-15T21:00:00Z'),
          toAt: Date.parse('2027-01-15T21:00:00Z'),
          count: 1,
        },
      },
    },
  ]);
});

test('deadlines count from the due instant', () => {
  const policies = { startDeadline: '10m', finishDeadline: '1h', jitter: '5m' };
  const created = plan({ ...setup({ policies }), now: createdAt + hour + 5 * minute });
  const run = created.runs[0] ?? assert.fail('nothing fired');
  assert.equal(run.finishDeadlineAt, run.dueAt + hour);
  assert.equal(run.startDeadlineMs, 10 * minute);
});

test('jitter is the same for the same schedule, differs between schedules, and ends before the next slot', () => {
  const { all } = setup({ rule: { rate: '10m' } }).rule as CalendarRule;
  const dueAt = (
    id: string,
    slotAt: number,
    jitterMode: 'perSchedule' | 'perFire',
    jitterMs = 10 * minute,
  ): number => dueAtOf({ id, policies: { jitterMs, jitterMode } }, all, slotAt) - slotAt;
  const slots = Array.from({ length: 200 }, (_, i) => createdAt + (i + 1) * 10 * minute);
  const perSchedule = new Set(slots.map((slotAt) => dueAt('sch_a', slotAt, 'perSchedule')));
  const perFire = slots.map((slotAt) => dueAt('sch_a', slotAt, 'perFire'));
  assert.equal(perSchedule.size, 1);
  assert.ok(new Set(perFire).size > 150);
  assert.deepEqual(
    perFire,
    slots.map((slotAt) => dueAt('sch_a', slotAt, 'perFire')),
  );
  const offsets = Array.from({ length: 1_000 }, (_, i) =>
    dueAt(`user-${i}`, createdAt + 10 * minute, 'perSchedule'),
  );
  for (const offset of [...offsets, ...perFire]) assert.ok(offset >= 0 && offset < 10 * minute);
  // Spread evenly: each tenth of the period gets its share.
  for (let tenth = 0; tenth < 10; tenth++) {
    const share = offsets.filter((offset) => Math.floor(offset / minute) === tenth).length;
    assert.ok(share > 60 && share < 140, `tenth ${tenth} has ${share} of 1,000`);
  }
  assert.equal(Math.max(...slots.map((slotAt) => dueAt('sch_z', slotAt, 'perFire', day))), 10 * minute - 1);
});

test('a node whose catch-up budget is spent creates what it may, continues after a second, and decides the same', () => {
  const policies = { missed: 'all', overlap: 'allow', catchUpLimit: 6 } as const;
  const now = createdAt + 10 * hour + 30 * minute;
  const whole = plan({ ...setup({ policies }), now });
  let input = setup({ policies });
  const slots: Plan['slots'] = [];
  for (let i = 0; i < 3; i++) {
    // Time goes on meanwhile, and the window and the limit still mean what they meant at first.
    const created = plan({
      ...input,
      now: now + i * second,
      limits: { leaseMs: 3 * second, catchUpBudget: 2 },
    });
    assert.equal(created.runs.length, 2);
    assert.equal(created.more, i < 2);
    if (created.more) assert.equal(created.dueAt, now + (i + 1) * second);
    slots.push(...created.slots);
    input = { ...input, state: created.state };
  }
  assert.deepEqual(slots, whole.slots);
});

test('a live slot needs no catch-up budget', () => {
  const created = plan({
    ...setup(),
    now: createdAt + hour,
    limits: { leaseMs: 3 * second, catchUpBudget: 0 },
  });
  assert.equal(created.runs.length, 1);
  assert.equal(created.more, false);
});

test('a run behind more than ten others waits for the oldest, the newest, and in line', () => {
  const input = setup({ policies: { overlap: 'bufferAll' } });
  const active = Array.from({ length: 10 }, (_, i) => running(`old_${i}`));
  const state = { ...input.state, lastRunId: 'newest' };
  const run = plan({ ...input, state, active, activeCount: 25, now: createdAt + hour }).runs[0];
  assert.deepEqual(run?.gates, [...active.map(({ id }) => id), 'newest']);
  assert.equal(run?.line, 'schedule:sch_a');
});

test('under bufferOne one run waits, also behind more than ten that the store does not all tell of', () => {
  const input = setup({ policies: { overlap: 'bufferOne' } });
  const active = Array.from({ length: 10 }, (_, i) => ({
    ...running(`old_${i}`),
    origin: 'backfill' as const,
  }));
  const first = plan({ ...input, active, activeCount: 11, now: createdAt + hour });
  assert.equal(first.runs.length, 1);
  const second_ = plan({ ...input, state: first.state, active, activeCount: 12, now: createdAt + 2 * hour });
  assert.deepEqual([second_.runs.length, second_.slots[0]?.decision], [0, 'merged']);
  assert.deepEqual(
    second_.mergedInto.map(({ id }) => id),
    ['job_1'],
  );
  // A newer one among the oldest ten: the run that waited is over, and another may wait.
  const newer = active.map((run) => ({ ...run, dueAt: createdAt + 3 * hour }));
  const third = plan({
    ...input,
    state: first.state,
    active: newer,
    activeCount: 12,
    now: createdAt + 2 * hour,
  });
  assert.equal(third.runs.length, 1);
});

test('two slots under cancelOther are decided in two looks: the first run must be in the store before it is cancelled', () => {
  const input = setup({ rule: { rate: '1s' }, policies: { overlap: 'cancelOther' } });
  const first = plan({ ...input, now: createdAt + 2 * second });
  assert.deepEqual([first.runs.length, first.more, first.dueAt], [1, true, createdAt + 2 * second]);
  const active = [{ ...running('job_1'), status: 'PENDING' as const }];
  const then = plan({ ...input, state: first.state, active, activeCount: 1, now: createdAt + 2 * second });
  assert.deepEqual(then.cancel, [{ id: 'job_1', mode: 'ask' }]);
  assert.equal(then.more, false);
});

test('a backfill keeps its places apart, and is refused when it is too large', () => {
  const input = { ...setup(), now: createdAt + 8 * hour };
  const request = {
    fromAt: createdAt,
    toAt: createdAt + 5 * hour,
    order: 'newest' as const,
    concurrency: 2,
    reprocess: false,
    allow: true,
  };
  const runs = { completed: new Set([createdAt + hour]), unfinished: new Set([createdAt + 2 * hour]) };
  const created = planBackfill(input, request, runs);
  assert.deepEqual(
    created.slots,
    [5, 4, 3, 0].map((i) => createdAt + i * hour),
  );
  assert.deepEqual([created.completedCount, created.unfinishedCount], [1, 1]);
  assert.deepEqual(created.plan.slots, [], 'decisions are not changed');
  assert.deepEqual(
    created.plan.runs.map(({ gates }) => gates),
    [[], [], ['job_1'], ['job_2']],
  );
  assert.equal(new Set(created.plan.runs.map(({ line }) => line)).size, 2);
  assert.ok(
    created.plan.runs.every(({ allow, isCatchUp, origin }) => allow && isCatchUp && origin === 'backfill'),
  );
  assert.throws(
    () =>
      planBackfill(
        { ...setup({ rule: { rate: '1s' } }), now: createdAt + day },
        { ...request, toAt: createdAt + day },
        runs,
      ),
    (error) => isDulyError(error, 'backfill_too_large'),
  );
});

test('a trigger leaves cursor and due instant alone', () => {
  const input = setup();
  const { plan: created, outcome } = planTrigger({ ...input, now: createdAt + minute }, { allow: false });
  assert.equal(outcome.kind, 'created');
  assert.deepEqual([created.state.cursorAt, created.dueAt], [createdAt, createdAt + hour]);
  assert.equal(created.runs[0]?.fireId, 'sch_a/2/trigger/job_1');
});

test('a pause cannot end before it begins', () => {
  assert.throws(
    () => planPause(setup(), { note: null, untilAt: createdAt, by: null }),
    (error) => isDulyError(error, 'invalid_option'),
  );
});

test('the next run is told as far as it is known', () => {
  const input = setup({ policies: { endAt: createdAt + 3 * hour, maxRuns: 2 } });
  const at = (state: Partial<PlanInput['state']>): number | null =>
    nextComing({ ...input, state: { ...input.state, ...state } })?.slotAt ?? null;
  assert.equal(at({}), createdAt + hour);
  assert.equal(at({ skips: [createdAt + hour] }), createdAt + 2 * hour);
  assert.equal(at({ firedCount: 2 }), null);
  assert.equal(at({ cursorAt: createdAt + 3 * hour }), null);
  const pause = { at: createdAt, note: null, cause: 'person' as const, by: null };
  assert.equal(at({ pause: { ...pause, untilAt: null } }), null);
  assert.equal(at({ pause: { ...pause, untilAt: createdAt + 90 * minute } }), createdAt + 2 * hour);
});

test('the next run is the one that falls due after the pause, also when its slot comes in it', () => {
  const input = setup({ policies: { jitter: '50m' } });
  const slotAt = createdAt + hour;
  const dueAt = slotAt + jitterOffsetMs({ id: input.id, policies: input.spec.policies }, slotAt);
  const next = (untilAt: number): ReturnType<typeof nextComing> => {
    const pause = { at: createdAt, note: null, cause: 'person' as const, by: null, untilAt };
    return nextComing({ ...input, state: { ...input.state, pause } });
  };
  assert.ok(dueAt > slotAt + minute);
  assert.deepEqual(next(slotAt + minute), { slotAt, dueAt });
  assert.deepEqual(next(dueAt), { slotAt, dueAt });
  assert.equal(next(dueAt + 1)?.slotAt, slotAt + hour);
});

test('the next run of a fixed delay is past what is skipped, excluded or held', () => {
  const next = (
    rule: Parameters<typeof specOf>[0],
    state: Partial<PlanInput['state']>,
    policies: Parameters<typeof specOf>[1] = {},
  ): ReturnType<typeof nextComing> => {
    const input = setup({ rule, policies });
    const nextSlotAt = createdAt + 10 * minute;
    return nextComing({ ...input, state: { ...input.state, nextSlotAt, ...state } });
  };
  const at = (minutes: number): ReturnType<typeof nextComing> => ({
    slotAt: createdAt + minutes * minute,
    dueAt: createdAt + minutes * minute,
  });
  const delay = { delay: '10m' as const };
  assert.deepEqual(next(delay, {}), at(10));
  assert.deepEqual(next(delay, { skips: [createdAt + 10 * minute] }), at(20));
  assert.equal(next(delay, { nextSlotAt: null, outstanding: 'job_1' }), null);
  assert.equal(next(delay, { skips: [createdAt + 10 * minute] }, { endAt: createdAt + 15 * minute }), null);
  const date = new Date(createdAt).toISOString().slice(0, 10);
  const excluded = next({ ...delay, exclude: date }, {});
  assert.ok(excluded !== null && new Date(excluded.slotAt).toISOString().slice(0, 10) > date);
  const pause = {
    at: createdAt,
    note: null,
    cause: 'person' as const,
    by: null,
    untilAt: createdAt + 15 * minute,
  };
  assert.deepEqual(next(delay, { pause }, { onResume: 'skip' }), at(25));
  assert.deepEqual(next(delay, { pause }, { onResume: 'latest' }), {
    slotAt: createdAt + 10 * minute,
    dueAt: createdAt + 15 * minute,
  });
});

test('a schedule whose rule has no more slots is over and never due', () => {
  const input = setup({ rule: { cron: '0 0 1 1 * 2028' } });
  const created = plan({ ...input, now: Date.parse('2028-01-01T00:00:00Z') });
  assert.equal(created.runs.length, 1);
  assert.deepEqual([created.state.ended, created.dueAt], ['rule', null]);
  assert.deepEqual(created.events, [{ kind: 'ended', reason: 'rule' }]);
});

test('spec and state survive their stored form, and one that is broken or too new is refused', () => {
  const spec = specOf({ cron: '0 * * * *' }, { missed: 'all', startDeadline: '10m' });
  assert.deepEqual(parseSpec(serialiseSpec(spec)), spec);
  const { state } = setup({ policies: { pauseAfterFailures: 3 } });
  assert.deepEqual(parseState(serialiseState(state)), state);
  assert.deepEqual(parseState('{"v":1,"cursorAt":7}'), { ...createState(0), cursorAt: 7 });
  for (const parse of [parseSpec, parseState]) {
    for (const text of ['', 'null', '[]', '{}', '7']) {
      assert.throws(
        () => parse(text),
        (error) => isDulyError(error, 'store_corrupt'),
      );
    }
    assert.throws(
      () => parse('{"v":99}'),
      (error) => isDulyError(error, 'schema_too_new'),
    );
  }
});

test('what names the slots is the rule: not exclude, not endAt, and startAt only where slots count from it', () => {
  const cron = specOf({ cron: '0 * * * *' });
  const isSame = (one: ScheduleSpec, other: ScheduleSpec): boolean => hasSameRule(one, other);
  assert.ok(
    isSame(cron, specOf({ cron: '0 * * * *', exclude: '2027-12-25' }, { endAt: createdAt, missed: 'all' })),
  );
  assert.ok(isSame(cron, specOf({ cron: '0 * * * *' }, { startAt: createdAt })));
  assert.ok(!isSame(cron, specOf({ cron: '0 * * * *', timezone: 'Europe/Rome' })));
  assert.ok(!isSame(cron, specOf({ cron: '1 * * * *' })));
  assert.ok(!isSame(specOf({ rate: '1h' }), specOf({ rate: '1h' }, { startAt: createdAt })));
});
