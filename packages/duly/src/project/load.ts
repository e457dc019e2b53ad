import { Duly, DulyError, type DulyOptions } from '@duly/core';
import type { DulyConfig, TaskDefinition } from './define.ts';
import { findProject, importModule, shown } from './modules.ts';

/** A task's definition and the module it stands in. */
export interface FoundTask {
  definition: TaskDefinition;
  file: string;
}

/** What the user's folder says. */
export interface Project {
  /** The config; null: there is none. */
  config: string | null;
  /** The Duly that the config exports; null: it exports options, or there is none. */
  duly: Duly | null;
  options: Omit<DulyConfig, 'tasks'>;
  tasks: FoundTask[];
  /** Whether there are modules of tasks, even if they define none here. */
  hasTaskFiles: boolean;
}

/** What to load. */
export interface LoadOptions {
  config?: string | undefined;
  /** Whether the modules of `tasks/` are loaded too. */
  withTasks: boolean;
}

/** Loads the config and the tasks of this folder. Throws `config_invalid` or `config_not_found`. */
export async function loadProject({ config: configOption, withTasks }: LoadOptions): Promise<Project> {
  const files = findProject(configOption);
  const project: Project = {
    config: files.config,
    duly: null,
    options: {},
    tasks: [],
    hasTaskFiles: files.tasks.length > 0,
  };
  if (files.config !== null) readConfig(project, files.config, await importModule(files.config));
  if (withTasks) {
    for (const file of files.tasks) readTasks(project, file, await importModule(file));
  }
  return project;
}

function readConfig(project: Project, file: string, module: Record<string, unknown>): void {
  const exported = module.default ?? module.duly;
  if (isDuly(exported)) {
    project.duly = exported;
    return;
  }
  if (typeof exported !== 'object' || exported === null || Array.isArray(exported)) {
    throw new DulyError('config_invalid', {
      message: `Expected "${shown(file)}" to export by default a config or a Duly, got ${exported === undefined ? 'nothing' : `a value of type ${typeof exported}`}.`,
      hint: "Write: export default { store: 'sqlite:./duly.db', tasks: [ … ] }",
    });
  }
  const { tasks = [], ...options } = exported as DulyConfig;
  if (!Array.isArray(tasks)) {
    throw new DulyError('config_invalid', {
      message: `Expected "tasks" in "${shown(file)}" to be an array.`,
    });
  }
  project.options = options;
  for (const [i, task] of tasks.entries()) addTask(project, file, task, `tasks[${i}]`);
}

function readTasks(project: Project, file: string, module: Record<string, unknown>): void {
  for (const [name, exported] of Object.entries(module)) {
    if (isDefinition(exported) || isTask(exported)) addTask(project, file, exported, name);
    else if (Array.isArray(exported) && exported.some(isDefinition)) {
      for (const [i, one] of exported.entries()) addTask(project, file, one, `${name}[${i}]`);
    }
  }
}

function addTask(project: Project, file: string, exported: unknown, where: string): void {
  if (isTask(exported)) {
    // Defined on the config's own Duly: it is there already.
    if (project.duly?.tasks.get(exported.name) === exported) return;
    throw new DulyError('config_invalid', {
      message: `The task "${exported.name}" (${where} in "${shown(file)}") belongs to a Duly that this command does not know.`,
      hint: 'Export that Duly by default from duly.config.ts, or export the definition itself ({ name, run }) instead of duly.task(…).',
    });
  }
  if (!isDefinition(exported)) {
    throw new DulyError('config_invalid', {
      message: `Expected ${where} in "${shown(file)}" to define a task: an object with "name" and "run".`,
    });
  }
  // One definition may be exported twice, by name and by default.
  if (project.tasks.some((task) => task.definition === exported)) return;
  project.tasks.push({ definition: exported, file });
}

/** Defines the tasks that were found. An isolated one is found again by its thread through `project/isolated.ts`. */
export function defineTasks(duly: Duly, tasks: readonly FoundTask[]): void {
  for (const { definition, file } of tasks) duly.task(isolatedBy(definition, file));
}

function isolatedBy(definition: TaskDefinition, file: string): TaskDefinition {
  if (definition.isolate !== true) return definition;
  const entry = new URL('./isolated.ts', import.meta.url);
  entry.searchParams.set('file', file);
  return { ...definition, isolate: { file: entry } };
}

/** Makes a Duly of the project's options, or takes the one it has. */
export function dulyOf(project: Project, options: DulyOptions): Duly {
  return project.duly ?? new Duly({ ...project.options, ...options });
}

// By what they can do and not by their class: the project may have a copy of the package of its own.
function isDuly(value: unknown): value is Duly {
  const duly = value as Partial<Duly> | null | undefined;
  return (
    typeof duly?.start === 'function' && typeof duly.task === 'function' && typeof duly.jobs === 'function'
  );
}

function isTask(value: unknown): value is { name: string } {
  const task = value as { name?: unknown; now?: unknown; nowMany?: unknown } | null | undefined;
  return (
    typeof task?.name === 'string' && typeof task.now === 'function' && typeof task.nowMany === 'function'
  );
}

function isDefinition(value: unknown): value is TaskDefinition {
  const definition = value as Partial<TaskDefinition> | null | undefined;
  return (
    typeof definition === 'object' &&
    typeof definition?.name === 'string' &&
    typeof definition.run === 'function'
  );
}

/** The definitions in a module, wherever it holds them: its exports, or the `tasks` of a config. */
export function definitionsOf(file: string, module: Record<string, unknown>): TaskDefinition[] {
  const project: Project = { config: null, duly: null, options: {}, tasks: [], hasTaskFiles: true };
  const config = module.default as DulyConfig | undefined;
  if (Array.isArray(config?.tasks)) readConfig(project, file, module);
  else readTasks(project, file, module);
  return project.tasks.map((task) => task.definition);
}
