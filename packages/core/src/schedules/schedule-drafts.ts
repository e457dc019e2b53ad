// Definitions as callers write them, read and checked.

import { toJson } from '../base/json.ts';
import { readFlag, readName, readOptions, refuseOption } from '../base/option-reader.ts';
import { isPromise, validateStoredInput } from '../jobs/stored-input.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import { declaredTaskOf, resolveTask } from '../jobs/task-options.ts';
import {
  type EveryDefinition,
  readDefinition,
  readDraft,
  type ScheduleDefinition,
  type ScheduleDraft,
} from './definition/definition.ts';
import { type ScheduleIdentity, scheduleIdOf } from './definition/identity.ts';
import type { ScheduleSpec } from './definition/spec.ts';
import { declaredTwice } from './schedule-errors.ts';
import { type ApplyOptions, applyNames, type DeclaredSet } from './schedule-options.ts';
import type { SchedulesDeps } from './schedules-deps.ts';

type DraftDeps = Pick<SchedulesDeps, 'app' | 'clock' | 'inputBytesMax' | 'tasks' | 'declared'>;

/** Reads definitions of schedules with the tasks of this process. */
export class ScheduleDrafts {
  readonly #deps: DraftDeps;

  /** Created by `Schedules`. */
  constructor(deps: DraftDeps) {
    this.#deps = deps;
  }

  /** Reads a list of definitions; what the declaring code says of tasks goes before what stands under the name here. */
  async all(
    declared: readonly ScheduleDefinition[] | undefined,
    app: string,
    tasks: ReadonlyMap<string, ResolvedTask> = new Map(),
  ): Promise<ScheduleDraft[]> {
    const drafts = new Map<string, ScheduleDraft>();
    for (const definition of declared ?? this.#deps.declared()) {
      const { type, rest } = splitType(definition);
      const draft = await this.read(tasks.get(type) ?? type, rest, app);
      const id = scheduleIdOf(draft);
      if (drafts.has(id)) throw declaredTwice(draft);
      drafts.set(id, draft);
    }
    return [...drafts.values()];
  }

  /** Reads what is declared and by whom; `declarer` is null where it is this process. */
  async set(
    declared: readonly ScheduleDefinition[] | undefined,
    options: ApplyOptions | undefined,
    what: string,
  ): Promise<{
    drafts: ScheduleDraft[];
    declarer: { app: string; release: string | null } | null;
    prune: boolean;
  }> {
    const { prune = false, app, release, tasks } = readOptions(options, what, applyNames);
    const isPruning = readFlag(prune, 'prune');
    if (app === undefined && release === undefined && tasks === undefined) {
      return { drafts: await this.all(declared, this.#deps.app), declarer: null, prune: isPruning };
    }
    if (declared === undefined) {
      const field = app !== undefined ? 'app' : release !== undefined ? 'release' : 'tasks';
      refuseOption(field, app ?? release, 'to be given with declarations');
    }
    if (tasks !== undefined && !Array.isArray(tasks)) refuseOption('tasks', tasks, 'to be a list of tasks');
    const given = (tasks ?? []).map((task) => resolveTask({ ...task, run: () => {} }, () => null));
    const declarer = {
      app: app === undefined ? this.#deps.app : readName(app, 'app'),
      release: release === undefined ? null : readName(release, 'release'),
    };
    const known = new Map(given.map((task) => [task.name, task]));
    return { drafts: await this.all(declared, declarer.app, known), declarer, prune: isPruning };
  }

  /** What the tasks of this process declare, checked, and those tasks. */
  async own(): Promise<Pick<DeclaredSet, 'schedules' | 'tasks'>> {
    const schedules = this.#deps.declared();
    await this.all(schedules, this.#deps.app);
    const used = new Set(schedules.map(({ type }) => type));
    return {
      schedules: [...schedules],
      tasks: [...used].map((name) => declaredTaskOf(this.#deps.tasks.get(name) as ResolvedTask)),
    };
  }

  /** Reads one definition. */
  async read(
    task: string | ResolvedTask,
    definition: EveryDefinition,
    app: string | null,
  ): Promise<ScheduleDraft> {
    const { clock, inputBytesMax } = this.#deps;
    const resolved = typeof task === 'string' ? this.#task(task) : task;
    return readDefinition(definition, { task: resolved, app, now: clock.now(), inputBytesMax });
  }

  /** The task of this name; one that is not defined here has the defaults. */
  #task(name: string): ResolvedTask {
    const known = this.#deps.tasks.get(name);
    return known ?? resolveTask({ name: readName(name, 'type'), run: () => {} }, () => null);
  }
}

/** Checks what a task declares, when it is defined. Throws what a wrong definition throws; the input is checked when it is applied. */
export function checkDeclared(
  task: ResolvedTask,
  definitions: readonly (EveryDefinition | string)[],
  { app, now, inputBytesMax }: { app: string; now: number; inputBytesMax: number },
): ScheduleIdentity[] {
  return definitions.map((definition) => readDraft(definition, { task, app, now, inputBytesMax }));
}

/** The type and the rest of a definition. */
export function splitType(definition: ScheduleDefinition): { type: string; rest: EveryDefinition } {
  if (typeof definition !== 'object' || definition === null) {
    refuseOption('schedule', definition, 'to be an object with "type" and a rule');
  }
  const { type, ...rest } = definition;
  return { type: readName(type, 'type'), rest };
}

/** Checks an input against the task's schema, where the task is defined here. */
export async function readJobInput(
  { inputBytesMax, tasks }: Pick<SchedulesDeps, 'inputBytesMax' | 'tasks'>,
  spec: ScheduleSpec,
  input: unknown,
): Promise<string> {
  const text = toJson(input, { what: 'input', maxBytes: inputBytesMax });
  const schema = tasks.get(spec.job.type)?.input ?? null;
  if (schema !== null) {
    const checked = validateStoredInput(schema, JSON.parse(text), spec.job.type);
    if (isPromise(checked)) await checked;
  }
  return text;
}
