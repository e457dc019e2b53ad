/** Plays the cases of docs/reference/semantics.md: a schedule, its jobs, and what happens to them on one day. */
import assert from 'node:assert/strict';
import type { ActiveRun, Origin, SlotRow } from '../../../src/contract/engine.ts';
import { ruleFields, ruleKinds } from '../../../src/schedules/calendar/rule-input.ts';
import { type PlanRule, resolveStoredRule } from '../../../src/schedules/definition/planned-rule.ts';
import { policyNames, resolvePolicies } from '../../../src/schedules/definition/policies.ts';
import type { ScheduleSpec } from '../../../src/schedules/definition/spec.ts';
import { createState, type ScheduleState } from '../../../src/schedules/definition/state.ts';
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
import type { Plan, PlanInput } from '../../../src/schedules/planner/plan-types.ts';

const dayAt = Date.parse('2027-01-15T00:00:00Z');

interface Run extends ActiveRun {
  name: string;
  allow: boolean;
  gates: string[];
  finishedAt: number | null;
}

/** One schedule on one day. */
export class ScheduleStory {
  #spec: ScheduleSpec;
  #rule: PlanRule | null = null;
  #state: ScheduleState = createState(0);
  #waitsFor: string | null = null;
  #now = 0;
  #runs: Run[] = [];
  readonly #rows: SlotRow[] = [];
  readonly #jobs: string[] = [];

  constructor(definition: Record<string, unknown>) {
    this.#spec = specOf(definition);
  }

  /** `10:00 looked at` and the like. */
  happen(event: string, read: (code: string) => Record<string, unknown>): void {
    const [, time, what] =
      /^(\d\d:\d\d(?::\d\d)?) (.+)$/.exec(event) ?? assert.fail(`not an event: ${event}`);
    this.#now = atOf(time as string);
    const [, verb, rest = ''] =
      /^(created|looked at|runs start|runs end|runs fail|runs deleted|deleted|paused|resumed|skip next|triggered|edited to|backfilled) ?(.*)$/.exec(
        what as string,
      ) ?? assert.fail(`nothing that can happen: ${what}`);
    switch (verb) {
      case 'created':
        this.#create();
        break;
      case 'looked at':
        this.#look();
        break;
      case 'runs start':
        this.#start();
        break;
      case 'runs end':
        this.#end('COMPLETED');
        break;
      case 'runs fail':
        this.#end('FAILED');
        break;
      case 'runs deleted':
        this.#runs = [];
        this.#look();
        break;
      case 'deleted':
        for (const row of planDelete(this.#input()).slots) this.#addRow(row);
        break;
      case 'paused': {
        const untilAt = rest === '' ? null : atOf(rest.replace('until ', ''));
        this.#accept(planPause(this.#input(), { note: null, untilAt, by: null }));
        break;
      }
      case 'resumed':
        this.#accept(planResume(this.#input()));
        break;
      case 'skip next':
        this.#accept(planSkipNext(this.#input()).plan);
        break;
      case 'triggered': {
        const { plan, outcome } = planTrigger(this.#input(), {
          allow: rest === '(allow)',
          hasOwnInput: rest === '(own input)',
        });
        if (outcome.kind === 'skipped') this.#jobs.push(`trigger refused: ${outcome.reason}`);
        this.#accept(plan);
        break;
      }
      case 'edited to':
        this.#edit(specOf(read(rest)));
        break;
      case 'backfilled':
        this.#backfill(rest);
        break;
    }
  }

  /** The ledger, oldest first. */
  decisions(): string {
    const rows = this.#rows.map(({ fromAt, toAt, count, decision, reason }) => {
      const range =
        fromAt === toAt
          ? timeOf(fromAt)
          : `${timeOf(fromAt)}–${timeOf(toAt)} (${count?.toLocaleString('en') ?? '?'})`;
      return `${range} ${decision}${reason === null ? '' : `: ${reason}`}`;
    });
    return rows.length === 0 ? '–' : rows.join(' · ');
  }

  /** The jobs that were made, and what was done to others for them. */
  jobs(): string {
    return this.#jobs.length === 0 ? '–' : this.#jobs.join(' · ');
  }

  #create(): void {
    this.#rule = this.#ruleOf(this.#spec, this.#now);
    this.#state = createState(this.#now);
    this.#accept(planCreate(this.#input()));
  }

  #look(): void {
    for (;;) {
      const decided = plan(this.#input());
      this.#accept(decided);
      if (!decided.more) return;
    }
  }

  #edit(spec: ScheduleSpec): void {
    for (;;) {
      const edited = planEdit(this.#input(), { spec, ruleFor: (anchorAt) => this.#ruleOf(spec, anchorAt) });
      this.#accept(edited.plan);
      if (!edited.applied) continue;
      this.#spec = spec;
      this.#rule = this.#ruleOf(spec, edited.plan.state.anchorAt);
      return;
    }
  }

  #backfill(text: string): void {
    const [, from, to, isAll] = /^(\S+)–(\S+)( \(reprocess\))?$/.exec(text) ?? assert.fail(text);
    const slotsOf = (runs: Run[]): Set<number> => new Set(runs.flatMap(({ slotAt }) => slotAt ?? []));
    const request = {
      fromAt: atOf(from as string),
      toAt: atOf(to as string),
      order: 'oldest' as const,
      concurrency: 1,
      reprocess: isAll !== undefined,
      allow: false,
    };
    const completed = slotsOf(this.#runs.filter(({ status }) => status === 'COMPLETED'));
    const unfinished = slotsOf(this.#runs.filter((run) => run.finishedAt === null));
    this.#accept(planBackfill(this.#input(), request, { completed, unfinished }).plan);
  }

  #start(): void {
    for (const run of this.#runs) if (run.status === 'PENDING') run.status = 'RUNNING';
  }

  #end(status: 'COMPLETED' | 'FAILED'): void {
    this.#start();
    for (const run of this.#runs)
      if (run.status === 'RUNNING') Object.assign(run, { status, finishedAt: this.#now });
    for (const run of this.#runs) {
      const isFree = run.gates.every(
        (id) => this.#runs.find((other) => other.id === id)?.finishedAt !== null,
      );
      if (run.status === 'BLOCKED' && isFree) run.status = 'PENDING';
    }
    // As the store does: the end of the job it waits for makes a schedule due.
    if (this.#runs.some(({ id, finishedAt }) => id === this.#waitsFor && finishedAt !== null)) this.#look();
  }

  #input(): PlanInput {
    const active = this.#runs.filter(({ finishedAt, allow }) => finishedAt === null && !allow);
    const waited = this.#runs.find(({ id, finishedAt }) => id === this.#waitsFor && finishedAt !== null);
    let runCount = this.#runs.length;
    return {
      id: 'sch_story',
      generation: 1,
      spec: this.#spec,
      rule: this.#rule as PlanRule,
      state: this.#state,
      now: this.#now,
      node: 'n',
      active,
      activeCount: active.length,
      waited: waited === undefined ? null : { ...waited, finishedAt: waited.finishedAt as number },
      limits: { leaseMs: 3_000, catchUpBudget: 1_000 },
      newJobId: () => `job_${++runCount}`,
    };
  }

  #accept(decided: Plan): void {
    for (const { id, mode } of decided.cancel) {
      const run = this.#runs.find((one) => one.id === id) as Run;
      this.#jobs.push(`${run.name} ${mode === 'ask' ? 'asked to cancel' : 'terminated'}`);
      if (mode === 'ask' && run.status === 'RUNNING') run.cancelRequestedAt = this.#now;
      else Object.assign(run, { status: 'CANCELLED', finishedAt: this.#now });
    }
    for (const run of decided.runs) {
      const { id, slotAt, origin, gates, allow, dueAt, details } = run;
      const status = gates.length > 0 ? 'BLOCKED' : 'PENDING';
      const created: Run = {
        id,
        slotAt,
        origin,
        gates,
        allow,
        dueAt,
        status,
        name: nameOf(origin, slotAt),
        cancelRequestedAt: null,
        finishedAt: null,
      };
      this.#runs.push(created);
      const behind = gates.map((gate) => this.#runs.find((one) => one.id === gate)?.name ?? gate);
      this.#jobs.push(
        [
          created.name,
          ...(details.isCatchUp && origin === 'schedule' ? ['(catch-up)'] : []),
          ...(behind.length > 0 ? [`behind ${behind.join(' and ')}`] : []),
          ...(details.covers === null ? [] : [coversText('covers', details.covers)]),
        ].join(' '),
      );
    }
    for (const { id, covers } of decided.mergedInto) {
      if (covers === null) continue;
      this.#jobs.push(`${this.#runs.find((one) => one.id === id)?.name} ${coversText('told of', covers)}`);
    }
    for (const event of decided.events) {
      if (event.kind === 'flagged' || event.kind === 'paused') this.#jobs.push(`schedule ${event.kind}`);
    }
    for (const row of decided.slots) this.#addRow(row);
    this.#state = decided.state;
    this.#waitsFor = decided.waitsFor;
  }

  /** As the store does: a row that goes on with the same decision lengthens the last one. */
  #addRow(row: SlotRow): void {
    const last = this.#rows.at(-1);
    if (
      last?.jobId === null &&
      row.jobId === null &&
      last.decision === row.decision &&
      last.reason === row.reason
    ) {
      last.toAt = row.toAt;
      last.count = last.count === null || row.count === null ? null : last.count + row.count;
    } else this.#rows.push({ ...row });
  }

  #ruleOf({ rule, policies }: ScheduleSpec, anchorAt: number): PlanRule {
    return resolveStoredRule(rule, policies, anchorAt).planRule;
  }
}

/** A definition with its times of day as instants. */
function specOf(definition: Record<string, unknown>): ScheduleSpec {
  const given = Object.fromEntries(
    Object.entries(definition).map(([name, value]) => [
      name,
      name === 'startAt' || name === 'endAt' ? atOf(value as string) : value,
    ]),
  );
  const pick = (names: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(names, name)));
  const { startAt: _startAt, endAt: _endAt, ...rule } = pick(ruleFields);
  const written = pick(policyNames);
  const kind = ruleKinds.find((one) => one in rule) ?? assert.fail('no rule');
  return {
    rule,
    written,
    policies: resolvePolicies(written, kind),
    job: {} as ScheduleSpec['job'],
    release: null,
    note: null,
    override: null,
    drift: null,
  };
}

function nameOf(origin: Origin, slotAt: number | null): string {
  if (slotAt === null) return 'trigger';
  return origin === 'backfill' ? `backfill of ${timeOf(slotAt)}` : timeOf(slotAt);
}

function coversText(
  verb: string,
  { fromAt, toAt, count }: { fromAt: number; toAt: number; count: number },
): string {
  return `${verb} ${fromAt === toAt ? timeOf(fromAt) : `${timeOf(fromAt)}–${timeOf(toAt)} (${count.toLocaleString('en')})`}`;
}

function atOf(time: string): number {
  return Date.parse(`2027-01-15T${time.length === 5 ? `${time}:00` : time}Z`);
}

function timeOf(at: number): string {
  assert.ok(at >= dayAt && at < dayAt + 86_400_000, 'the stories are of one day');
  const time = new Date(at).toISOString().slice(11, 19);
  return time.endsWith(':00') ? time.slice(0, 5) : time;
}
