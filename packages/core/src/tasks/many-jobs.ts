import { dulyError } from '../base/errors.ts';
import { refuseOption } from '../base/option-reader.ts';
import type { Due, EnqueuedItem, JobSpec } from '../contract/engine.ts';
import type { JobOptions } from '../jobs/job-options.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { JobWriter } from './job-writer.ts';
import type { ManyOptions } from './task.ts';

/** What bulk calls are made of. */
export interface ManyJobsDeps<Handle> {
  /** Creates the spec of one job. */
  create(input: unknown, options: JobOptions | undefined, due: Due): JobSpec | Promise<JobSpec>;
  write: JobWriter['write'];
  toHandle(item: EnqueuedItem): Handle;
}

/** Creates one job for each input, all or none. */
export type ManyJobs<Input, Handle> = (
  inputs: readonly unknown[],
  options: ManyOptions<Input> | undefined,
  due: Due,
) => Promise<Handle[]>;

// One call is one transaction. More jobs than this, or more bytes, hold the store for too long.
const countMax = 10_000;
const bytesMax = 64 * 1024 * 1024;

/** Creates the bulk call of a task. */
export function createManyJobs<Input, Handle>(
  task: Pick<ResolvedTask, 'name'>,
  { create, write, toHandle }: ManyJobsDeps<Handle>,
): ManyJobs<Input, Handle> {
  return async (inputs, options, due) => {
    checkCall(task, inputs, options);
    const specs: JobSpec[] = [];
    let tx = typeof options === 'object' ? options?.tx : undefined;
    let bytes = 0;
    let isRepeat = false;
    for (const [i, input] of inputs.entries()) {
      const own = typeof options === 'function' ? options(input as Input, i) : options;
      if (i === 0) tx = own?.tx;
      else if (own?.tx !== tx)
        refuseOption('tx', own?.tx, 'to be the same for all jobs of one call, which are created all or none');
      if (own?.id !== undefined) isRepeat = true;
      const created = create(input, own, due);
      const spec = created instanceof Promise ? await created : created;
      bytes += spec.input.length;
      if (bytes > bytesMax) throw tooManyBytes(task, inputs.length);
      specs.push(spec);
    }
    if (specs.length === 0) return [];
    const { items } = await write(specs, tx, isRepeat);
    return items.map(toHandle);
  };
}

function tooManyBytes(task: Pick<ResolvedTask, 'name'>, count: number): Error {
  return dulyError('input_too_large', {
    message: `The inputs of ${count} jobs of task "${task.name}" are together more than ${bytesMax} bytes.`,
    hint: 'Create them in several calls.',
    details: { type: task.name, maxBytes: bytesMax },
  });
}

function checkCall<Input>(
  task: Pick<ResolvedTask, 'name'>,
  inputs: readonly unknown[],
  options: ManyOptions<Input> | undefined,
): void {
  if (!Array.isArray(inputs)) {
    refuseOption('inputs', inputs, `of task "${task.name}" to be an array, one element for each job`);
  }
  if (inputs.length > countMax) {
    refuseOption(
      'inputs',
      inputs.length,
      `to be at most ${countMax} in one call`,
      'Create them in several calls.',
    );
  }
  // One key for all of them would make the whole list one job.
  if (typeof options === 'object' && options !== null && inputs.length > 1) {
    const field = (['key', 'dedupe', 'id'] as const).find((one) => options[one] !== undefined) ?? null;
    if (field === null) return;
    throw dulyError('invalid_option', {
      message: `The option "${field}" cannot be the same for ${inputs.length} jobs of task "${task.name}".`,
      hint: 'Give the options as a function: (input, index) => ({ … }).',
      details: { field, type: task.name },
    });
  }
}
