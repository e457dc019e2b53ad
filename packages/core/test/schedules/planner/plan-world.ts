/** Random lives of schedules, played by the planner and by the model side by side. */
import assert from 'node:assert/strict';
import { isDulyError } from '../../../src/base/errors.ts';
import { formatInstant } from '../../../src/base/instant.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import type { ActiveRun, Origin, SlotRow } from '../../../src/contract/engine.ts';
import type { JobStatus } from '../../../src/contract/job-status.ts';
import { resolveRule } from '../../../src/schedules/calendar/rule.ts';
import type { RuleInput } from '../../../src/schedules/calendar/rule-input.ts';
import { withPendingSlot } from '../../../src/schedules/definition/pending-slot.ts';
import { type PlanRule, toPlanRule } from '../../../src/schedules/definition/planned-rule.ts';
import {
  type ResolvedPolicies,
  resolvePolicies,
  type SchedulePolicies,
} from '../../../src/schedules/definition/policies.ts';
import {
  hasSameRule,
  parseSpec,
  type ScheduleSpec,
  serialiseSpec,
} from '../../../src/schedules/definition/spec.ts';
import { parseState, type ScheduleState, serialiseState } from '../../../src/schedules/definition/state.ts';
import { plan, planCreate } from '../../../src/schedules/planner/plan.ts';
import { planEdit } from '../../../src/schedules/planner/plan-edit.ts';
import {
  planBackfill,
  planDelete,
  planPause,
  planResume,
  planSkipNext,
  planTrigger,
} from '../../../src/schedules/planner/plan-operations.ts';
import type { Plan, PlanInput, PlannedRun } from '../../../src/schedules/planner/plan-types.ts';
import { type ModelStep, PlanModel } from './plan-model.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const zones = ['UTC', 'Europe/Rome', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'];
// Near changes of the clock in those zones, and far from any.
const beginnings = [
  '2027-03-14T05:00:00Z',
  '2027-03-28T00:00:00Z',
  '2027-10-31T00:00:00Z',
  '2027-11-07T04:00:00Z',
  '2027-04-03T14:00:00Z',
  '2027-01-15T10:00:00.250Z',
  '2027-12-31T23:00:00Z',
].map((text) => Date.parse(text));

interface RuleChoice {
  rule: RuleInput;
  /** About how far apart its slots are: outages are measured in it. */
  periodMs: number;
}

const rules: RuleChoice[] = [
  { rule: { rate: '1s' }, periodMs: second },
  { rule: { rate: '5s' }, periodMs: 5 * second },
  { rule: { rate: '17s', anchor: 'epoch' }, periodMs: 17 * second },
  { rule: { rate: '7m' }, periodMs: 7 * minute },
  { rule: { rate: '6h' }, periodMs: 6 * hour },
  { rule: { cron: '* * * * *' }, periodMs: minute },
  { rule: { cron: '*/20 * * * * *' }, periodMs: 20 * second },
  { rule: { cron: '*/15 2-4 * * *' }, periodMs: 15 * minute },
  { rule: { cron: '30 2 * * *' }, periodMs: day },
  { rule: { cron: '0,1,2 */3 * * *' }, periodMs: hour },
  { rule: { cron: '15 1,2,3 * * *', dst: { repeat: 'both' } }, periodMs: 8 * hour },
  { rule: { cron: '0 9 * * 1-5' }, periodMs: day },
  { rule: { cron: '0 0 1 1 * 2028' }, periodMs: 30 * day },
  { rule: { delay: '10s' }, periodMs: 10 * second },
  { rule: { delay: '10m' }, periodMs: 10 * minute },
];
const excludes: NonNullable<RuleInput['exclude']>[] = [
  '* 2 * * *',
  ['2027-03-14', '2027-03-28', '2028-01-01'],
  '* * * * 0,6',
];
// What leaves out parts of hours and minutes may leave nothing of a slow rate, and finding that out takes long.
const fineExcludes: NonNullable<RuleInput['exclude']>[] = [
  ...excludes,
  '*/2 * * * *',
  { cron: '10-40 * * * * *' },
];

interface Job {
  id: string;
  slotAt: number | null;
  origin: Origin;
  status: JobStatus;
  gates: string[];
  allow: boolean;
  dueAt: number;
  cancelRequestedAt: number | null;
  finishedAt: number | null;
}

const isOver = ({ status }: Job): boolean => ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'].includes(status);

/** Plays one case; throws an error whose message tells the whole history. Returns how many slots were decided. */
export function playCase(seed: number): number {
  const world = new World(seededRandom(seed), seed);
  try {
    return world.play();
  } catch (error) {
    const history = world.history.join('\n');
    throw new assert.AssertionError({
      message: `case ${seed}\n${history}\n\n${(error as Error).message}\n\nAgain: npm run plan-model -- --cases 1 --seed ${seed}`,
    });
  }
}

class World {
  readonly history: string[] = [];
  readonly #random: Random;
  readonly #id: string;
  #now: number;
  #choice: RuleChoice;
  #spec: ScheduleSpec;
  #rule: PlanRule;
  #state: ScheduleState;
  #model: PlanModel;
  #waitsFor: string | null = null;
  #dueAt: number | null = null;
  #jobs: Job[] = [];
  #forgotten = new Set<string>();
  #idCount = 0;
  #slotCount = 0;

  constructor(random: Random, seed: number) {
    this.#random = random;
    this.#id = `sch_${seed}`;
    this.#now = this.#one(beginnings) + this.#below(5 * hour);
    this.#choice = this.#one(rules);
    this.#spec = this.#createSpec(this.#choice, null);
    this.#rule = planRuleOf(this.#spec, this.#now);
    this.#state = undefined as never;
    this.#model = new PlanModel(this.#id, this.#rule, this.#spec.policies, this.#now);
  }

  play(): number {
    const { rule, written } = this.#spec;
    this.#mergedInto(`created ${JSON.stringify({ ...rule, ...written })}`);
    const { now, newJobId, limits } = this.#input();
    const created = planCreate({
      id: this.#id,
      generation: 1,
      spec: this.#spec,
      rule: this.#rule,
      now,
      node: 'n',
      limits,
      newJobId,
    });
    this.#accept(created, this.#model.create(now));
    const stepCount = 3 + this.#below(8);
    for (let i = 0; i < stepCount; i++) {
      this.#letTimePass();
      this.#letJobsLive();
      if (!this.#act()) break;
    }
    return this.#slotCount;
  }

  // ------------------------------------------------------------------------------------------------ chance

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }

  #one<Value>(values: readonly Value[]): Value {
    return values[this.#below(values.length)] as Value;
  }

  #chance(share: number): boolean {
    return this.#random.next() < share;
  }

  #createSpec(choice: RuleChoice, before: ScheduleSpec | null): ScheduleSpec {
    const isDelay = choice.rule.delay !== undefined;
    const rule: RuleInput =
      before === null ? { ...choice.rule, timezone: this.#one(zones) } : { ...choice.rule };
    if (before !== null)
      rule.timezone = this.#chance(0.8) ? (before.rule.timezone as string) : this.#one(zones);
    if (this.#chance(0.25)) rule.exclude = this.#one(choice.periodMs < minute ? fineExcludes : excludes);
    for (;;) {
      const written = this.#createPolicies(choice.periodMs, isDelay);
      try {
        const kind = isDelay ? 'delay' : rule.cron === undefined ? 'rate' : 'cron';
        const policies = resolvePolicies(written, kind);
        const rest = { job: job(), release: null, note: null, override: null, drift: null };
        const spec = parseSpec(serialiseSpec({ rule: { ...rule }, written, policies, ...rest }));
        // A rule of which nothing is left is refused when it is made.
        const planned = planRuleOf(spec, this.#now);
        if (rule.exclude === undefined || planned.kind === 'delay') return spec;
        if (planned.open.next(this.#now) !== null) return spec;
        delete rule.exclude;
      } catch (error) {
        if (!isDulyError(error, 'policy_conflict')) throw error;
      }
    }
  }

  #createPolicies(periodMs: number, isDelay: boolean): SchedulePolicies {
    const modes = ['skip', 'latest', 'all'] as const;
    const maybe = <Value>(share: number, create: () => Value): Value | undefined =>
      this.#chance(share) ? create() : undefined;
    const policies: SchedulePolicies = {
      missed: maybe(0.7, () => this.#one(modes)),
      onResume: maybe(0.5, () => this.#one(modes)),
      onEdit: maybe(0.5, () => this.#one(modes)),
      overlap: maybe(isDelay ? 0 : 0.7, () =>
        this.#one(['skip', 'allow', 'bufferOne', 'bufferAll', 'cancelOther', 'terminateOther'] as const),
      ),
      catchUpWindow: maybe(0.3, () => 1 + this.#below(30 * periodMs)),
      catchUpLimit: maybe(0.4, () => 1 + this.#below(12)),
      bufferLimit: maybe(0.2, () => 1 + this.#below(4)),
      startDeadline: maybe(0.25, () => 1 + this.#below(10 * periodMs)),
      finishDeadline: maybe(0.05, () => 1 + this.#below(10 * periodMs)),
      jitter: maybe(0.3, () => this.#below(periodMs)),
      jitterMode: maybe(0.3, () => (isDelay ? 'perFire' : this.#one(['perFire', 'perSchedule'] as const))),
      pauseAfterFailures: maybe(0.2, () => 1 + this.#below(3)),
      flagAfterFailures: maybe(0.15, () => 1 + this.#below(3)),
      startAt: maybe(0.15, () => this.#now + this.#below(10 * periodMs) - 2 * periodMs),
      endAt: maybe(0.2, () => this.#now + this.#below(40 * periodMs)),
      maxRuns: maybe(0.2, () => 1 + this.#below(6)),
    };
    // What was not drawn is not written: only then do the defaults speak.
    for (const [name, value] of Object.entries(policies)) {
      if (value === undefined) delete policies[name as keyof SchedulePolicies];
    }
    return policies;
  }

  // ------------------------------------------------------------------------------------------------- time

  #letTimePass(): void {
    const { periodMs } = this.#choice;
    const kind = this.#below(5);
    let ms = this.#below(kind === 0 ? 2 * periodMs : kind === 1 ? 12 * periodMs : 30 * periodMs);
    const dueAt = this.#dueAt;
    // To the due instant or a moment after it, as a node that is awake would come; or to where a bound of a policy lies.
    if (kind >= 3 && dueAt !== null && dueAt >= this.#now) {
      const { startDeadlineMs, catchUpWindowMs } = this.#spec.policies;
      // A day of minutes is too much for a model that walks.
      const dayMs = periodMs < 5 * minute ? 0 : day;
      const lateMs =
        kind === 3
          ? this.#one([0, this.#below(8 * second)])
          : this.#one([5 * second, minute, periodMs, startDeadlineMs ?? 0, catchUpWindowMs ?? 0, dayMs]);
      ms = dueAt - this.#now + lateMs;
    }
    // To between a slot and its due instant, where only an edit finds something.
    const { nextSlotAt } = this.#state;
    if (kind === 2 && dueAt !== null && nextSlotAt !== null && nextSlotAt >= this.#now && this.#chance(0.5)) {
      ms = nextSlotAt - this.#now + this.#below(Math.max(1, dueAt - nextSlotAt));
    }
    // A pause may outlast what a model that walks can look at.
    this.#now += Math.min(ms, 3_000 * periodMs);
  }

  #letJobsLive(): void {
    for (const job of this.#jobs) {
      if (isOver(job)) continue;
      const isFree = job.gates.every((id) => this.#jobs.every((other) => other.id !== id || isOver(other)));
      if (job.status === 'BLOCKED' && isFree) job.status = 'PENDING';
      if (job.status === 'PENDING' && this.#chance(0.6)) job.status = 'RUNNING';
      if (job.status === 'RUNNING' && this.#chance(0.1)) job.status = 'RETRYING';
      if (job.status === 'RUNNING' && this.#chance(0.6)) {
        job.status = this.#one(['COMPLETED', 'COMPLETED', 'FAILED', 'FAILED', 'FAILED', 'CANCELLED']);
        job.finishedAt = this.#now - this.#below(2 * second);
        // Now and then someone deletes a job together with its history.
        if (this.#chance(0.05)) this.#forgotten.add(job.id);
      }
    }
  }

  // ----------------------------------------------------------------------------------------------- actions

  #input(): PlanInput {
    const counting = this.#jobs.filter((job) => !isOver(job) && !job.allow);
    const ended = this.#jobs.find(
      (job) => job.id === this.#waitsFor && isOver(job) && !this.#forgotten.has(job.id),
    );
    return {
      id: this.#id,
      generation: 1,
      spec: this.#spec,
      rule: this.#rule,
      state: this.#state,
      now: this.#now,
      node: 'n',
      active: counting.slice(0, 10).map(
        ({ id, status, slotAt, origin, dueAt, cancelRequestedAt }): ActiveRun => ({
          id,
          status,
          slotAt,
          origin,
          dueAt,
          cancelRequestedAt,
        }),
      ),
      activeCount: counting.length,
      waited:
        ended === undefined
          ? null
          : { id: ended.id, status: ended.status, finishedAt: ended.finishedAt as number },
      limits: { leaseMs: 3 * second, catchUpBudget: this.#chance(0.8) ? 1_000 : this.#below(6) },
      newJobId: this.#ids(),
    };
  }

  /** Both sides count their ids from the same number. */
  #ids(): () => string {
    let count = this.#idCount;
    return () => `job_${++count}`;
  }

  /** Some instant ahead, now and then that of a slot. */
  #pauseEnd({ rule }: PlanInput): number {
    const at = this.#now + 1 + this.#below(20 * this.#choice.periodMs);
    return rule.kind === 'calendar' && this.#chance(0.3) ? (rule.all.next(at - 1) ?? at) : at;
  }

  /** Lets someone do something; false when the schedule is gone. */
  #act(): boolean {
    const action = this.#below(20);
    const input = this.#input();
    const reported = { ...input, newJobId: this.#ids() };
    const model = this.#model;
    switch (action) {
      case 0: {
        const untilAt = this.#chance(0.5) ? this.#pauseEnd(input) : null;
        this.#mergedInto(`pause until ${untilAt === null ? 'resume' : formatInstant(untilAt)}`);
        const created = planPause(input, { note: 'n', untilAt, by: null });
        this.#accept(created, model.pause(reported, untilAt));
        return true;
      }
      case 1:
      case 2:
        this.#mergedInto('resume');
        this.#accept(planResume(input), model.resume(reported));
        return true;
      case 3:
        this.#mergedInto('skip next');
        this.#accept(planSkipNext(input).plan, model.skipNext(reported));
        return true;
      case 4: {
        const allow = this.#chance(0.5);
        const hasOwnInput = this.#chance(0.3);
        this.#mergedInto(`trigger${allow ? ' (allow)' : ''}${hasOwnInput ? ' (own input)' : ''}`);
        this.#accept(
          planTrigger(input, { allow, hasOwnInput }).plan,
          model.trigger(reported, allow, hasOwnInput),
        );
        return true;
      }
      case 5:
        return this.#backfill(input, reported);
      case 6:
      case 7:
        this.#edit(input, reported);
        return true;
      case 8: {
        if (!this.#chance(0.3)) return true;
        this.#mergedInto('delete');
        const { slots, cancelled, finishing, unseenCount } = planDelete(input);
        const before = withPendingSlot(this.#rule, this.#state.pendingSlot);
        checkRows(slots, before, this.#state.cursorAt);
        const step = model.delete(reported);
        assert.deepEqual(expand(slots, step, before), step.slots, 'decisions of a deletion');
        assert.equal(cancelled.length + finishing.length + unseenCount, input.activeCount);
        return false;
      }
      default:
        this.#mergedInto('look');
        this.#accept(plan(input), model.pass(reported));
        return true;
    }
  }

  #backfill(input: PlanInput, reported: PlanInput): boolean {
    const request = {
      fromAt: this.#now - this.#below(30 * this.#choice.periodMs),
      toAt: this.#now + this.#below(5 * this.#choice.periodMs),
      order: this.#one(['oldest', 'newest'] as const),
      concurrency: 1 + this.#below(3),
      reprocess: this.#chance(0.3),
      allow: this.#chance(0.4),
    };
    this.#mergedInto(`backfill ${JSON.stringify(request)}`);
    const slotsOf = (jobs: Job[]): Set<number> => new Set(jobs.flatMap(({ slotAt }) => slotAt ?? []));
    const completed = slotsOf(this.#jobs.filter(({ status }) => status === 'COMPLETED'));
    const unfinished = slotsOf(this.#jobs.filter((job) => !isOver(job)));
    if (input.rule.kind === 'delay') {
      assert.throws(
        () => planBackfill(input, request, { completed, unfinished }),
        (error) => isDulyError(error, 'policy_conflict'),
      );
      return true;
    }
    const created = planBackfill(input, request, { completed, unfinished });
    const ask = { ...request, newestFirst: request.order === 'newest', capacity: request.concurrency };
    this.#accept(created.plan, this.#model.backfill(reported, ask, completed, unfinished));
    return true;
  }

  #edit(input: PlanInput, reported: PlanInput): void {
    const choice = this.#chance(0.5) ? this.#choice : this.#one(rules);
    const before = this.#spec;
    const spec = this.#createSpec(choice, before);
    const isSameRule = hasSameRule(before, spec);
    this.#mergedInto(
      `edit to ${JSON.stringify({ ...spec.rule, ...spec.written })}${isSameRule ? ' (same rule)' : ''}`,
    );
    const edited = planEdit(input, { spec, ruleFor: (anchorAt) => planRuleOf(spec, anchorAt) });
    // A rate goes on counting from when it was made; another rate counts from the edit.
    const isSameRate = ['rate', 'anchor'].every((field) => before.rule[field] === spec.rule[field]);
    const rule = planRuleOf(spec, isSameRule || isSameRate ? this.#state.anchorAt : this.#now);
    const byModel = this.#model.edit(reported, { rule, policies: spec.policies, isSameRule });
    assert.equal(edited.applied, byModel.applied, 'applied');
    const isLeft = edited.plan.state.pendingSlot !== null;
    // What came before an old `startAt` is passed over.
    const isSameStart = before.policies.startAt === spec.policies.startAt;
    const keepsCursor = isSameRule && isSameStart && !isLeft;
    this.#accept(edited.plan, byModel.step, keepsCursor ? null : this.#now);
    if (!edited.applied) return;
    this.#choice = choice;
    this.#spec = spec;
    this.#rule = rule;
  }

  // ------------------------------------------------------------------------------------------- comparison

  #accept(created: Plan, step: ModelStep, ruleChangedAt: number | null = null): void {
    this.#show(created);
    const { rule } = this;
    if (this.#state !== undefined) {
      // What an edit left undecided stands before what the rule names.
      const before = withPendingSlot(rule, this.#state.pendingSlot);
      checkRows(created.slots, before, this.#state.cursorAt);
      assert.deepEqual(expand(created.slots, step, before), step.slots, 'decisions');
    }
    assert.deepEqual(created.runs.map(plainRun), step.runs, 'runs');
    assert.deepEqual(created.cancel, step.cancel, 'cancel');
    assert.deepEqual(
      new Map(created.mergedInto.map(({ id, covers }) => [id, covers])),
      step.reported,
      'reported',
    );
    assert.equal(created.more, step.more, 'more');
    assert.equal(created.waitsFor, step.waitsFor, 'waitsFor');
    assert.equal(shownAt(created.dueAt), shownAt(step.dueAt), 'dueAt');
    assert.equal(created.state.pause !== null, step.paused, 'paused');
    assert.equal(created.state.flaggedAt !== null, step.flagged, 'flagged');
    for (const { id } of created.mergedInto) {
      const status = this.#jobs.find((one) => one.id === id)?.status ?? 'gone';
      assert.match(status, /^(BLOCKED|PENDING)$/, 'a slot is merged only into a run that has not started');
    }
    for (const run of created.runs)
      checkRun(run, this.#spec.policies, this.#now, this.#state?.pendingSlot ?? null);
    if (ruleChangedAt === null && created.slots.length > 0) {
      const lastAt = created.slots.at(-1)?.toAt ?? 0;
      const editedAt = this.#state?.pendingSlot?.editedAt ?? 0;
      const wasLeft = this.#state?.pendingSlot?.slotAt === lastAt;
      assert.equal(
        created.state.cursorAt,
        wasLeft ? editedAt : lastAt,
        'the cursor is the last decided slot',
      );
    }
    this.#write(created);
  }

  get rule(): PlanRule {
    return this.#rule;
  }

  #write(created: Plan): void {
    this.#slotCount += created.slots.reduce((sum, { count }) => sum + (count ?? 0), 0);
    for (const { id, mode } of created.cancel) {
      const job = this.#jobs.find((one) => one.id === id);
      if (job === undefined || isOver(job)) continue;
      if (mode === 'ask' && (job.status === 'RUNNING' || job.status === 'RETRYING')) {
        job.cancelRequestedAt = this.#now;
      } else {
        job.status = 'CANCELLED';
        job.finishedAt = this.#now;
      }
    }
    for (const run of created.runs) {
      this.#idCount += 1;
      const { id, slotAt, origin, gates, allow, dueAt } = run;
      const status = gates.length > 0 ? 'BLOCKED' : 'PENDING';
      this.#jobs.push({
        id,
        slotAt,
        origin,
        status,
        gates,
        allow,
        dueAt,
        cancelRequestedAt: null,
        finishedAt: null,
      });
    }
    this.#state = parseState(serialiseState(created.state));
    assert.deepEqual(this.#state, created.state, 'the state survives its stored form');
    this.#waitsFor = created.waitsFor;
    this.#dueAt = created.dueAt;
  }

  #mergedInto(text: string): void {
    this.history.push(`${formatInstant(this.#now)}  ${text}`);
  }

  #show(created: Plan): void {
    for (const { fromAt, toAt, count, decision, reason, jobId } of created.slots) {
      const range =
        fromAt === toAt
          ? formatInstant(fromAt)
          : `${formatInstant(fromAt)} … ${formatInstant(toAt)} (${count ?? '?'})`;
      this.history.push(
        `    ${range}  ${decision}${reason === null ? '' : `: ${reason}`}${jobId === null ? '' : ` → ${jobId}`}`,
      );
    }
    for (const { id, origin, gates } of created.runs) {
      if (origin !== 'schedule' || gates.length > 0)
        this.history.push(`    ${origin} ${id} behind [${gates.join(' ')}]`);
    }
  }
}

/** What a run must be, whatever made it. */
function checkRun(
  run: PlannedRun,
  policies: ResolvedPolicies,
  now: number,
  pendingSlot: ScheduleState['pendingSlot'],
): void {
  const pendingMs = pendingSlot?.slotAt === run.slotAt ? pendingSlot.dueAt - pendingSlot.slotAt : 0;
  assert.ok(run.dueAt <= now, 'no run is created before it is due');
  assert.ok(run.slotAt === null || run.origin === 'backfill' || run.slotAt <= run.dueAt);
  assert.equal(run.rankDelayMs > 0, run.isCatchUp);
  if (run.origin === 'schedule')
    assert.ok(run.dueAt - (run.slotAt as number) <= Math.max(policies.jitterMs, pendingMs));
  assert.ok(!run.gates.includes(run.id));
}

/** Rows follow each other without a gap, and neighbours differ unless they fired. */
function checkRows(rows: SlotRow[], rule: PlanRule, cursorAt: number): void {
  let lastAt = cursorAt;
  for (const [i, row] of rows.entries()) {
    assert.ok(row.fromAt > lastAt || rule.kind === 'delay', 'rows are in order');
    if (rule.kind === 'calendar') assert.equal(rule.all.next(lastAt), row.fromAt, 'no slot is passed over');
    const before = rows[i - 1];
    if (before !== undefined && row.jobId === null && before.jobId === null) {
      assert.ok(before.decision !== row.decision || before.reason !== row.reason, 'rows are maximal');
    }
    assert.equal(row.decision === 'fired', row.jobId !== null, 'fired rows have a job');
    lastAt = row.toAt;
  }
}

/** The rows slot by slot. A long row of missed slots may hold excluded ones, which it does not count; the model says which. */
function expand(rows: SlotRow[], step: ModelStep, rule: PlanRule): ModelStep['slots'] {
  const excluded = new Set(
    step.slots.filter(({ decision }) => decision === 'excluded').map(({ slotAt }) => slotAt),
  );
  return rows.flatMap(({ fromAt, toAt, count, decision, reason, jobId }) => {
    const slots: ModelStep['slots'] = [];
    if (rule.kind === 'delay') return [{ slotAt: fromAt, decision, reason, runId: jobId }];
    for (let at = rule.all.next(fromAt - 1); at !== null && at <= toAt; at = rule.all.next(at)) {
      const isOut = decision === 'missed' && excluded.has(at);
      slots.push(
        isOut
          ? { slotAt: at, decision: 'excluded', reason: 'exclude', runId: null }
          : { slotAt: at, decision, reason, runId: jobId },
      );
    }
    const ofRow = slots.filter((one) => one.decision === decision).length;
    assert.equal(count, ofRow, 'counts are exact');
    assert.ok(ofRow === slots.length || slots.length > 256, 'only long ranges hold excluded slots');
    return slots;
  });
}

function plainRun({
  id,
  slotAt,
  dueAt,
  origin,
  gates,
  isCatchUp,
  allow,
  details,
}: PlannedRun): ModelStep['runs'][number] {
  const { previousSlotAt, nextSlotAt, covers } = details;
  return { id, slotAt, dueAt, origin, gates, isCatchUp, allow, previousSlotAt, nextSlotAt, covers };
}

function shownAt(at: number | null): string | null {
  return at === null ? null : formatInstant(at);
}

function job(): ScheduleSpec['job'] {
  return {
    type: 't',
    version: 1,
    queue: 'default',
    tenant: null,
    priority: 0,
    input: 'null',
    metadata: null,
    policy: {
      maxAttempts: 1,
      retry: null,
      timeoutMs: null,
      graceMs: 0,
      delivery: 'at-least-once',
      retentionMs: 0,
      deadRetentionMs: 0,
    },
    serial: null,
  };
}

/** The rule of a spec as the planner takes it. */
function planRuleOf({ rule, policies }: ScheduleSpec, anchorAt: number): PlanRule {
  const { startAt } = policies;
  return toPlanRule(
    resolveRule({ ...(rule as RuleInput), ...(startAt === null ? {} : { startAt }) }, { anchorAt }),
  );
}
