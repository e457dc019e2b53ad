import type { Clock } from '../base/clock.ts';
import { dulyError } from '../base/errors.ts';
import { registerTask } from '../jobs/isolate-registry.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import { resolveTask } from '../jobs/task-options.ts';
import { type Tracing, tracedTask } from '../jobs/tracing.ts';
import { watchBackoff } from '../lifecycle/retry.ts';
import type { EveryDefinition, ScheduleDefinition } from '../schedules/definition/definition.ts';
import { scheduleIdOf } from '../schedules/definition/identity.ts';
import { checkDeclared } from '../schedules/schedule-drafts.ts';
import { declaredTwice } from '../schedules/schedule-errors.ts';
import type { Task } from './task.ts';

/** What a task declares with `every`. */
export type Declared = EveryDefinition | string | readonly (EveryDefinition | string)[];

/** What a task registry needs from its Duly. */
export interface TaskRegistryOptions {
  options: { app: string; clock: Clock; inputBytesMax: number; tracing: Tracing | null };
  /** Creates the task object that users call. */
  createTask(resolved: ResolvedTask): Task;
  /** Called with every task that is defined, so that a running node takes it up. */
  onDefined(): void;
  onError(error: unknown, doing: string): void;
}

const namedCountMax = 1_000;

/** The tasks that one Duly knows, and the schedules that they declare. */
export class TaskRegistry {
  /** What the worker runs, by name. */
  readonly resolved = new Map<string, ResolvedTask>();
  /** What users call, by name. */
  readonly calls = new Map<string, Task>();
  /** What tasks declare with `every`. */
  readonly declared: ScheduleDefinition[] = [];
  readonly declaredIds = new Set<string>();
  /** Set by a node that decides schedules: called when a task declares one after it has started. */
  onDeclaredLate: (() => void) | null = null;
  readonly #options: TaskRegistryOptions;
  readonly #byTask = new WeakMap<object, ResolvedTask>();
  /** Tasks that were only named here. */
  readonly #named = new Map<string, Task>();

  constructor(options: TaskRegistryOptions) {
    this.#options = options;
  }

  /** Notes what a task declares with `every`; applied at `start()`, or now if this node decides schedules already. */
  declare(task: ResolvedTask, every: Declared | undefined): void {
    if (every === undefined) return;
    this.#refuseDefined(task);
    const definitions = (Array.isArray(every) ? every : [every]) as (EveryDefinition | string)[];
    const { app, clock, inputBytesMax } = this.#options.options;
    const identities = checkDeclared(task, definitions, { app, now: clock.now(), inputBytesMax });
    const ids = identities.map(scheduleIdOf);
    const second = ids.findIndex((id, i) => this.declaredIds.has(id) || ids.indexOf(id) !== i);
    if (second >= 0) throw declaredTwice(identities[second] as (typeof identities)[number]);
    for (const id of ids) this.declaredIds.add(id);
    for (const one of definitions) {
      this.declared.push({ ...(typeof one === 'string' ? { cron: one } : one), type: task.name });
    }
    this.onDeclaredLate?.();
  }

  /** Takes a task in. Throws `duplicate_task`. */
  define(given: ResolvedTask): Task {
    this.#refuseDefined(given);
    const { createTask, onDefined, onError, options } = this.#options;
    const resolved = tracedTask(given, options.tracing);
    const task = createTask(resolved);
    // What the worker runs. A backoff that fails is passed over, so that its job is tried again all the same; here it is told.
    const retry = watchBackoff(resolved.retry, (error) =>
      onError(error, `asking the backoff of task "${resolved.name}"`),
    );
    this.resolved.set(resolved.name, Object.freeze({ ...resolved, retry }));
    this.calls.set(resolved.name, task);
    this.#byTask.set(task, resolved);
    registerTask(resolved);
    onDefined();
    return task;
  }

  /** What a task that was defined here resolves to. */
  resolvedOf(task: object): ResolvedTask | undefined {
    return this.#byTask.get(task);
  }

  /** See `Duly.taskNamed`. */
  named(name: string): Task {
    const known = this.calls.get(name) ?? this.#named.get(name);
    if (known !== undefined) return known;
    const task = this.#options.createTask(resolveTask({ name, run: () => undefined }, () => null));
    // Names may come from anybody who may make jobs; what is forgotten is made again.
    if (this.#named.size >= namedCountMax) this.#named.clear();
    this.#named.set(name, task);
    return task;
  }

  #refuseDefined({ name }: ResolvedTask): void {
    if (!this.resolved.has(name)) return;
    throw dulyError('duplicate_task', {
      message: `A task named "${name}" is defined already.`,
      hint: 'Give each task its own name; export the task and import it where it is used.',
      details: { type: name },
    });
  }
}
