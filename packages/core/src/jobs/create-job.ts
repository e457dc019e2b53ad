import { dulyError } from '../base/errors.ts';
import { metadataBytesMax, toJson } from '../base/json.ts';
import type { Due, Gate, JobPolicy, JobSpec } from '../contract/engine.ts';
import { rankOffsetMs } from '../lifecycle/rank.ts';
import type { CurrentJob } from './current-job.ts';
import { defaultsOf, type ResolvedJobOptions } from './job-options.ts';
import { isPromise, validateStoredInput } from './stored-input.ts';
import type { ResolvedTask } from './task-definition.ts';

/** What a call of a task's verb comes to. */
export interface CreateJob {
  id: string;
  task: ResolvedTask;
  input: unknown;
  options: ResolvedJobOptions;
  due: Due;
  /** The job in whose handler the call was made. */
  parent: CurrentJob | null;
  inputBytesMax: number;
}

/**
 * Turns a call into the promise that is handed to the store. The input is checked, and kept as it was given: what a schema makes
 * of it (defaults, transformations) is made again, once, when the job runs. A promise only if the schema needs one.
 * Throws `invalid_input`, `input_not_json`, `input_too_large`, `metadata_invalid`, `invalid_option`.
 */
export function createJob(call: CreateJob): JobSpec | Promise<JobSpec> {
  const { task, input, options } = call;
  if (options.key !== null && call.parent === null) {
    throw dulyError('invalid_option', {
      message: `The option "key" of a job of task "${task.name}" works only inside a handler, where it names a child.`,
      hint: `To create one job instead of several, write dedupe: { key: ${JSON.stringify(options.key)} }.`,
      details: { field: 'key', type: task.name },
    });
  }
  const text = toJson(input, { what: 'input', maxBytes: call.inputBytesMax });
  const spec = toSpec(call, text);
  if (task.input === null) return spec;
  // What is checked is what the worker will read back, so a Date that JSON turns into a text is refused here and not there.
  const checked = validateStoredInput(task.input, JSON.parse(text), task.name);
  return isPromise(checked) ? checked.then(() => spec) : spec;
}

// One list for all: a thousand jobs in one message carry it once.
const noGates: Gate[] = [];

function toSpec({ id, task, options, due, parent }: CreateJob, input: string): JobSpec {
  return {
    id,
    ...createdFor(task, options),
    rankOffsetMs: rankOffsetMs(options.priority),
    due,
    input,
    startDeadlineMs: options.startDeadlineMs,
    dedupe: options.dedupe,
    gates: noGates,
    parent: parent === null ? null : { id: parent.id, key: options.key },
    origin: parent === null ? 'event' : 'child',
    slot: null,
    copyOf: null,
  };
}

/** What a job has of its task and of the options it is created with, by a call now or by a schedule later. */
export function createdFor(
  task: ResolvedTask,
  options: ResolvedJobOptions,
): Pick<JobSpec, 'type' | 'version' | 'queue' | 'tenant' | 'priority' | 'metadata' | 'policy' | 'serial'> {
  return {
    type: task.name,
    version: task.version,
    queue: options.queue,
    tenant: options.tenant,
    priority: options.priority,
    metadata:
      options.metadata === null
        ? null
        : toJson(options.metadata, { what: 'metadata', maxBytes: metadataBytesMax }),
    policy: policyOf(task, options),
    serial: options.serial,
  };
}

const ownPolicies = new WeakMap<ResolvedTask, JobPolicy>();

/** One object for all jobs that are created with a task's own options: a thousand of them in one message carry it once. */
function policyOf(task: ResolvedTask, options: ResolvedJobOptions): JobPolicy {
  if (options !== defaultsOf(task)) return createPolicy(task, options);
  let policy = ownPolicies.get(task);
  if (policy === undefined) {
    policy = createPolicy(task, options);
    ownPolicies.set(task, policy);
  }
  return policy;
}

function createPolicy(task: ResolvedTask, options: ResolvedJobOptions): JobPolicy {
  return Object.freeze({
    maxAttempts: options.retry.attempts,
    retry: options.retry.toStored(),
    timeoutMs: options.timeoutMs,
    graceMs: task.graceMs,
    delivery: options.delivery,
    retentionMs: task.retentionMs,
    deadRetentionMs: task.deadRetentionMs,
  });
}
