import { dulyError } from '../base/errors.ts';
import type { Ids } from '../base/ids.ts';
import { type OptionNames, readOptions, refuseOption } from '../base/option-reader.ts';
import type { Engine } from '../contract/engine.ts';
import { createJob } from '../jobs/create-job.ts';
import { type JobOptions, resolveJobOptions } from '../jobs/job-options.ts';
import type { ResolvedTask, TaskContext, TaskHandler } from '../jobs/task-definition.ts';
import { resolveTask } from '../jobs/task-options.ts';
import type { Task } from '../tasks/task.ts';
import type { TaskRegistry } from '../tasks/task-registry.ts';
import { createExpiring, type ExpiredValue, type Expiring } from './expiring.ts';

/** A task that takes what a clean-up is given. */
export type CleanupTask<Value> = Pick<Task, 'name' | 'version'> & {
  now(input: ExpiredValue<Value>, options?: JobOptions): Promise<unknown>;
};

/** How to create a set of expiring values. */
export interface ExpiringOptions<Value> {
  /**
   * Runs at least once after a value has ended, also when nothing ran at that instant: a task that takes
   * `{ name, key, value }`, or a handler, of which a task `expiring:<name>` is created.
   */
  cleanup?: CleanupTask<Value> | TaskHandler<ExpiredValue<Value>, unknown>;
}

/** What sets of expiring values need of their Duly. */
export interface ExpiringSetsOptions {
  engine(): Promise<Engine>;
  actor(): string;
  ids: Ids;
  registry: TaskRegistry;
}

const expiringNames: OptionNames<ExpiringOptions<unknown>> = { cleanup: true };

/** The sets of expiring values of one Duly. */
export class ExpiringSets {
  readonly #options: ExpiringSetsOptions;
  /** Those that have a clean-up. */
  readonly #sets = new Map<string, Expiring<unknown>>();

  constructor(options: ExpiringSetsOptions) {
    this.#options = options;
  }

  /** See `Duly.expiring`. */
  named<Value>(name: string, options?: ExpiringOptions<Value>): Expiring<Value> {
    const { cleanup } = readOptions(
      options,
      'expiring()',
      expiringNames as OptionNames<ExpiringOptions<Value>>,
    );
    const known = this.#sets.get(name);
    if (known !== undefined) {
      if (cleanup === undefined) return known as Expiring<Value>;
      throw dulyError('duplicate_task', {
        message: `The expiring values "${name}" are defined already, with a clean-up.`,
        hint: 'Define them once, with their clean-up, before they are used.',
        details: { name },
      });
    }
    const { engine, actor, ids } = this.#options;
    const task = cleanup === undefined ? null : this.#cleanupTask(name, cleanup as object);
    const values = createExpiring<Value>(
      {
        engine,
        actor,
        cleanup:
          task === null
            ? null
            : async (value, due) =>
                createJob({
                  id: ids.jobId(),
                  task,
                  input: value,
                  options: resolveJobOptions(task, undefined),
                  due,
                  parent: null,
                  // The value is within the limit; its name and key come on top.
                  inputBytesMax: Number.POSITIVE_INFINITY,
                }),
      },
      name,
    );
    // Without a clean-up there is nothing to remember: names may come from anybody.
    if (task !== null) this.#sets.set(name, values as Expiring<unknown>);
    return values;
  }

  #cleanupTask(name: string, cleanup: object): ResolvedTask {
    const { registry } = this.#options;
    if (typeof cleanup === 'function') {
      const resolved = resolveTask(
        { name: `expiring:${name}`, run: cleanup as (context: TaskContext<unknown>) => unknown },
        () => null,
      );
      registry.define(resolved);
      return resolved;
    }
    const resolved = typeof cleanup === 'object' ? registry.resolvedOf(cleanup) : undefined;
    if (resolved === undefined) {
      return refuseOption('cleanup', cleanup, 'to be a task of this Duly or a handler');
    }
    return resolved;
  }
}
