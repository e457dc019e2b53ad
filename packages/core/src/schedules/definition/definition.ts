import { type DulyError, isDulyError } from '../../base/errors.ts';
import { toJson } from '../../base/json.ts';
import { type OptionNames, readName, readOptions, refuseOption, shown } from '../../base/option-reader.ts';
import { createdFor } from '../../jobs/create-job.ts';
import type { JobOptions } from '../../jobs/job-options.ts';
import { resolveJobOptions } from '../../jobs/job-options.ts';
import { isPromise, validateStoredInput } from '../../jobs/stored-input.ts';
import type { ResolvedTask } from '../../jobs/task-definition.ts';
import { type Rule, resolveRule } from '../calendar/rule.ts';
import { type RuleInput, ruleFields, ruleKinds } from '../calendar/rule-input.ts';
import { refuseOver } from '../calendar/rule-refusals.ts';
import type { ScheduleIdentity } from './identity.ts';
import { toPlanRule } from './planned-rule.ts';
import {
  policyNames,
  refuseDst,
  refuseLongJitter,
  resolvePolicies,
  type SchedulePolicies,
} from './policies.ts';
import { hasSameRule, type RuleAndPolicies, type ScheduleJob, type ScheduleSpec } from './spec.ts';

/** How the jobs of a schedule are created, where the task does not say it already. */
export interface ScheduleJobOptions
  extends Pick<JobOptions, 'queue' | 'priority' | 'metadata' | 'retry' | 'timeout' | 'delivery' | 'serial'> {
  /** The schedule's name. Default: the task's. */
  name?: string;
  /** For whom: part of the schedule's identity, and the tenant of its jobs. */
  tenant?: string | null;
  /** What a person should know about it. */
  note?: string;
}

/** What `task.every` takes beside the rule and the input: the rest of the rule, policies, and how its jobs are created. */
export interface EveryOptions
  extends Omit<RuleInput, 'cron' | 'rate' | 'delay' | 'rrule'>,
    SchedulePolicies,
    ScheduleJobOptions {
  /** A transaction of your own on the database that holds the store: the schedule is there when you commit, or never was. */
  tx?: unknown;
}

/** A schedule in one object: exactly one of `cron`, `rate`, `delay` and `rrule`, policies, and how its jobs are created. */
export interface EveryDefinition<Input = unknown> extends RuleInput, SchedulePolicies, ScheduleJobOptions {
  /** What each run is given. */
  input?: Input;
}

/** A schedule in one object, with the type of its jobs. */
export interface ScheduleDefinition extends EveryDefinition {
  /** Type of its jobs: the name of a task, which need not be defined in this process. */
  type: string;
}

const jobNames: OptionNames<ScheduleJobOptions> = {
  name: true,
  tenant: true,
  note: true,
  queue: true,
  priority: true,
  metadata: true,
  retry: true,
  timeout: true,
  delivery: true,
  serial: true,
};
const everyNames: OptionNames<EveryDefinition> = {
  ...ruleFields,
  ...policyNames,
  ...jobNames,
  input: true,
};

/** A schedule that was checked, before it is stored. */
export interface ScheduleDraft extends ScheduleIdentity {
  rule: ScheduleSpec['rule'];
  written: ScheduleSpec['written'];
  policies: ScheduleSpec['policies'];
  job: ScheduleJob;
  note: string | null;
  /** Why a schedule with this rule is not created now: it would never fire. One that has the rule already keeps it. null: it would. */
  refusal: DulyError | null;
}

/** What a definition is read against. */
export interface DefinitionPlace {
  task: ResolvedTask;
  /** The app that declares it; null: dynamic. */
  app: string | null;
  /** Now: a rule that can never fire from here on is refused. */
  now: number;
  inputBytesMax: number;
}

/** One definition from the three arguments of `task.every`. Throws `invalid_option` when a field stands in two of them. */
export function joinEvery(
  rule: string | RuleInput,
  input: unknown,
  options: EveryOptions | undefined,
): EveryDefinition {
  const from = typeof rule === 'string' ? { cron: rule } : rule;
  if (typeof from !== 'object' || from === null || Array.isArray(from)) {
    refuseOption(
      'rule',
      rule,
      'to be a cron, or an object with "cron", "rate", "delay" or "rrule"',
      undefined,
      'invalid_rule',
    );
  }
  const rest = readOptions<Omit<EveryDefinition, 'input'>>(options, 'every()', withoutInput);
  for (const field of Object.keys(rest)) {
    if (ruleKinds.some((kind) => kind === field)) {
      refuseOption(
        field,
        (rest as Record<string, unknown>)[field],
        'to be in the rule, the first argument',
        undefined,
        'invalid_rule',
      );
    }
    if (Object.hasOwn(from, field)) {
      refuseOption(
        field,
        (rest as Record<string, unknown>)[field],
        'to be written once, in the rule or in the options',
      );
    }
  }
  return { ...from, ...rest, ...(input === undefined ? {} : { input }) };
}

const { input: _input, ...withoutInput } = everyNames;

/**
 * Checks a definition and settles every choice. Throws what a wrong rule, policy, option or input throws; a promise, because a
 * schema may need one.
 */
export function readDefinition(
  given: EveryDefinition | string,
  place: DefinitionPlace,
): ScheduleDraft | Promise<ScheduleDraft> {
  const { task } = place;
  const draft = readDraft(given, place);
  if (task.input === null) return draft;
  const checked = validateStoredInput(task.input, JSON.parse(draft.job.input), task.name);
  return isPromise(checked) ? checked.then(() => draft) : draft;
}

/** The same without asking the task's schema about the input. */
export function readDraft(given: EveryDefinition | string, place: DefinitionPlace): ScheduleDraft {
  const { task, app, now, inputBytesMax } = place;
  const what = `a schedule of task "${task.name}"`;
  const definition = readOptions<EveryDefinition>(
    typeof given === 'string' ? { cron: given } : given,
    what,
    everyNames,
  );
  const ruleInput = pick(definition, ruleFields) as RuleInput;
  const { rule, refusal } = resolveNow(ruleInput, now);
  refuseDst(ruleInput);
  const written = plainPolicies(pick(definition, policyNames));
  const resolved = resolvePolicies(written, rule.kind, definition.timezone ?? rule.rrule?.timezone ?? null);
  const policies = { ...resolved, startDeadlineMs: resolved.startDeadlineMs ?? task.startDeadlineMs };
  const { startAt: _startAt, endAt: _endAt, ...stored } = rule.spec;
  refuseLongJitter(policies, toPlanRule(rule), now);
  const { name, note, ...jobOptions } = pick(definition, jobNames) as ScheduleJobOptions;
  return {
    app,
    tenant:
      definition.tenant === undefined || definition.tenant === null
        ? null
        : readName(definition.tenant, 'tenant'),
    name: name === undefined ? task.name : readName(name, 'name'),
    rule: stored as unknown as ScheduleDraft['rule'],
    written,
    policies,
    job: readJob(task, jobOptions as JobOptions, definition.input, inputBytesMax),
    note: note === undefined || note === null ? null : readText(note, 'note'),
    refusal,
  };
}

const overCodes: readonly string[] = ['rule_never_fires', 'everything_excluded', 'invalid_cron'];

/**
 * Resolves a rule, and tells whether a schedule may be created with it now. What was of use when its schedule was created is not refused here: the
 * same declaration is read again with every start, also when its last year is over. What never had a slot is.
 */
export function resolveNow(input: RuleInput, now: number): { rule: Rule; refusal: DulyError | null } {
  try {
    const rule = resolveRule(input, { now });
    refuseOver(rule, now);
    return { rule, refusal: null };
  } catch (error) {
    if (!isDulyError(error) || !overCodes.includes(error.code)) throw error;
    const rule = resolveRule(input);
    if (rule.kind !== 'delay' && rule.next(-1) === null) throw error;
    return { rule, refusal: error };
  }
}

/** Whether a refusal holds for a schedule that has a rule already: only where the edit brings the reason for it. */
export function isRefused(refusal: DulyError | null, from: RuleAndPolicies, to: RuleAndPolicies): boolean {
  if (refusal === null) return false;
  // An edit of `endAt` may end a schedule.
  if (refusal.code !== 'everything_excluded') return !hasSameRule(from, to);
  return (
    JSON.stringify([from.rule, from.policies.startAt]) !== JSON.stringify([to.rule, to.policies.startAt])
  );
}

function readJob(task: ResolvedTask, given: JobOptions, input: unknown, inputBytesMax: number): ScheduleJob {
  const options = resolveJobOptions(task, given, `a schedule of task "${task.name}"`);
  return { ...createdFor(task, options), input: toJson(input, { what: 'input', maxBytes: inputBytesMax }) };
}

const noteLengthMax = 1_000;

/** Reads a text for people. */
export function readText(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length > noteLengthMax) {
    return refuseOption(field, shown(value), `to be a text of at most ${noteLengthMax} characters`);
  }
  return value;
}

/** The fields of an object that are named and written. */
function pick<Names extends object>(from: object, names: Names): Partial<Record<keyof Names, unknown>> {
  return Object.fromEntries(
    Object.entries(from).filter(([field, value]) => Object.hasOwn(names, field) && value !== undefined),
  ) as Partial<Record<keyof Names, unknown>>;
}

/** Policies as JSON keeps them: instants as text. */
function plainPolicies(given: object): SchedulePolicies {
  return JSON.parse(JSON.stringify(given)) as SchedulePolicies;
}
