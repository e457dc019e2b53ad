import { inputBytesMax, metadataBytesMax, toJson } from '../../base/json.ts';
import { type OptionNames, readName, readOptions } from '../../base/option-reader.ts';
import { readQueue } from '../../jobs/built-in-tasks.ts';
import { readPriority } from '../../jobs/job-options.ts';
import { type RuleInput, ruleFields, ruleKinds } from '../calendar/rule-input.ts';
import { isRefused, readText, resolveNow, type ScheduleDraft } from './definition.ts';
import { toPlanRule } from './planned-rule.ts';
import {
  policyNames,
  refuseDst,
  refuseLongJitter,
  resolvePolicies,
  type SchedulePolicies,
} from './policies.ts';
import type { ScheduleSpec } from './spec.ts';

/** What can be changed on a schedule that exists: its rule, its policies, and how its jobs are created. */
interface Changeable extends RuleInput, SchedulePolicies {
  input?: unknown;
  queue?: string;
  priority?: number;
  metadata?: Record<string, unknown>;
  serial?: string;
  note?: string;
}

/** Changes to a schedule. `null` takes a field back to its default. */
export type ScheduleChanges = { [Field in keyof Changeable]?: Changeable[Field] | null };

const jobFields = {
  input: true,
  queue: true,
  priority: true,
  metadata: true,
  serial: true,
  note: true,
} as const;
const changeNames: OptionNames<ScheduleChanges> = { ...ruleFields, ...policyNames, ...jobFields };

/** The fields that can be changed and belong neither to the rule nor to the policies. */
export const changeableJobFields = Object.keys(jobFields);

/** The part of a schedule that can be changed. */
export type Changed = Pick<ScheduleDraft, 'rule' | 'written' | 'policies' | 'job' | 'note'>;

/** Checks the names of changes and makes them JSON, as they are kept with an override. Throws `invalid_option`. */
export function readChanges(given: ScheduleChanges): Record<string, unknown> {
  const changes = readOptions<ScheduleChanges>(given, 'a schedule', changeNames);
  return JSON.parse(JSON.stringify(changes)) as Record<string, unknown>;
}

/** A schedule with some of its fields changed, checked as if it were created so now. Throws what a definition throws. */
export function withChanges(base: Changed, changes: Readonly<Record<string, unknown>>, now: number): Changed {
  const written = overlay(base.written, changes, policyNames) as SchedulePolicies;
  const ruleInput = changedRule(base.rule, changes);
  if (changes['dst'] !== null) refuseDst({ ...ruleInput, dst: changes['dst'] });
  const { startAt, endAt } = written;
  const { rule, refusal } = resolveNow(
    {
      ...ruleInput,
      ...(startAt === undefined ? {} : { startAt }),
      ...(endAt === undefined ? {} : { endAt }),
    },
    now,
  );
  const resolved = resolvePolicies(written, rule.kind, rule.timezone);
  // What the task says about a late start holds until the schedule says something else.
  const ownDeadline = base.written.startDeadline === undefined ? base.policies.startDeadlineMs : null;
  const policies = { ...resolved, startDeadlineMs: resolved.startDeadlineMs ?? ownDeadline };
  refuseLongJitter(policies, toPlanRule(rule), now);
  const { startAt: _startAt, endAt: _endAt, ...stored } = rule.spec;
  const changed = { rule: stored as unknown as ScheduleSpec['rule'], policies };
  if (isRefused(refusal, base, changed)) throw refusal;
  return {
    ...changed,
    written,
    job: changedJob(base.job, changes),
    note: 'note' in changes ? (changes.note === null ? null : readText(changes.note, 'note')) : base.note,
  };
}

function changedRule(rule: ScheduleSpec['rule'], changes: Readonly<Record<string, unknown>>): RuleInput {
  const input: Record<string, unknown> = { ...rule };
  if (ruleKinds.some((kind) => changes[kind] !== undefined && changes[kind] !== null)) {
    // Another rule takes the place of this one; the zone and what is left out stay, and so does what another rate counts from.
    const isRateStill = 'rate' in rule && changes['rate'] !== undefined && changes['rate'] !== null;
    for (const kind of [...ruleKinds, ...(isRateStill ? [] : ['anchor'])]) delete input[kind];
    // What is real time has no use for what a changed clock means.
    if (['rate', 'delay'].some((kind) => changes[kind] !== undefined && changes[kind] !== null))
      delete input['dst'];
  }
  const { startAt: _startAt, endAt: _endAt, ...fields } = ruleFields;
  return overlay(input, changes, fields) as RuleInput;
}

function changedJob(job: Changed['job'], changes: Readonly<Record<string, unknown>>): Changed['job'] {
  const has = (field: string): boolean => Object.hasOwn(changes, field);
  return {
    ...job,
    ...(has('input') ? { input: toJson(changes.input, { what: 'input', maxBytes: inputBytesMax }) } : {}),
    ...(has('queue') ? { queue: changes.queue === null ? 'default' : readQueue(changes.queue) } : {}),
    ...(has('priority') ? { priority: changes.priority === null ? 0 : readPriority(changes.priority) } : {}),
    ...(has('serial') ? { serial: changes.serial === null ? null : readName(changes.serial, 'serial') } : {}),
    ...(has('metadata')
      ? {
          metadata:
            changes.metadata === null
              ? null
              : toJson(changes.metadata, { what: 'metadata', maxBytes: metadataBytesMax }),
        }
      : {}),
  };
}

function overlay(base: object, changes: Readonly<Record<string, unknown>>, names: object): object {
  const merged: Record<string, unknown> = { ...base };
  for (const [field, value] of Object.entries(changes)) {
    if (!Object.hasOwn(names, field)) continue;
    if (value === null) delete merged[field];
    else merged[field] = value;
  }
  return merged;
}

/** What stands in a field: of the rule, of the policies as written, or of the jobs; undefined: nothing was written. */
export function fieldOf(from: Changed, field: string): unknown {
  if (field === 'note') return from.note ?? undefined;
  if (field === 'input' || field === 'metadata') {
    const text = from.job[field];
    return text === null ? undefined : JSON.parse(text);
  }
  if (field === 'queue' || field === 'priority' || field === 'serial') return from.job[field] ?? undefined;
  if (field in from.rule) return from.rule[field];
  return (from.written as Record<string, unknown>)[field];
}
