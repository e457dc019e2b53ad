import { Duly, DulyError, type DulyOptions, type ScheduleDefinition } from '@duly/core';
import { didYouMean } from '../cli/usage.ts';
import type { DulyConfig, TaskDefinition } from './define.ts';
import { findProject, importModule, inFile, shown } from './modules.ts';

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
  options: Omit<DulyConfig, 'tasks' | 'schedules'>;
  tasks: FoundTask[];
  /** Whether there is a folder `tasks/`, even if it is empty. */
  hasTasksFolder: boolean;
  /** Whether there are modules of tasks, even if they define none here. */
  hasTaskFiles: boolean;
  /** What a person should know that stops nothing: modules of `tasks/` without a task. */
  warnings: string[];
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
    hasTasksFolder: files.hasTasksFolder,
    hasTaskFiles: files.tasks.length > 0,
    warnings: [],
  };
  const schedules =
    files.config === null ? [] : readConfig(project, files.config, await importModule(files.config));
  if (withTasks) {
    for (const file of files.tasks) await loadTasks(project, file);
    for (const [i, schedule] of schedules.entries()) declare(project, schedule, i);
  }
  return project;
}

async function loadTasks(project: Project, file: string): Promise<void> {
  // A module may define its tasks on the config's own Duly and export nothing.
  const count = (): number => project.tasks.length + (project.duly?.tasks.size ?? 0);
  const before = count();
  const hasTasks = readTasks(project, file, await importModule(file));
  if (hasTasks || count() > before) return;
  project.warnings.push(
    `"${shown(file)}" exports no task: an object with "name" and "run". A file that is no module of tasks is left out if its name begins with "_".`,
  );
}

/** Adds a schedule of the config to what its task declares. */
function declare(project: Project, schedule: ScheduleDefinition, i: number): void {
  const { type, ...every } = schedule ?? {};
  const found = project.tasks.findIndex(({ definition }) => definition.name === type);
  if (found === -1) {
    const names = project.tasks.map(({ definition }) => definition.name);
    throw new DulyError('config_invalid', {
      message: `Expected "type" of schedules[${i}] in "${shown(project.config as string)}" to name a task that is defined here, got ${type === undefined ? 'nothing' : `"${type}"`}.`,
      hint: `${didYouMean(String(type), names).trim() || `Defined are: ${names.join(', ') || 'none'}.`}`,
    });
  }
  const { definition, file } = project.tasks[found] as FoundTask;
  const declared = [definition.every ?? []].flat();
  // A new object: the definition is the module's own.
  project.tasks[found] = {
    definition: { ...definition, every: [...declared, every] } as TaskDefinition,
    file,
  };
}

/** Takes in what a config says, and returns its schedules: their tasks may be in modules that are loaded later. */
function readConfig(
  project: Project,
  file: string,
  module: Record<string, unknown>,
): readonly ScheduleDefinition[] {
  const exported = module.default ?? module.duly;
  if (isDuly(exported)) {
    project.duly = exported;
    return [];
  }
  if (typeof exported !== 'object' || exported === null || Array.isArray(exported)) {
    throw new DulyError('config_invalid', {
      message: `Expected "${shown(file)}" to export by default a config or a Duly, got ${exported === undefined ? 'nothing' : `a value of type ${typeof exported}`}.`,
      hint: "Write: export default { store: 'sqlite:./duly.db', tasks: [ … ] }",
    });
  }
  const { tasks = [], schedules = [], ...options } = exported as DulyConfig;
  for (const [field, list] of Object.entries({ tasks, schedules })) {
    if (Array.isArray(list)) continue;
    throw new DulyError('config_invalid', {
      message: `Expected "${field}" in "${shown(file)}" to be an array.`,
    });
  }
  project.options = options;
  for (const [i, task] of tasks.entries()) addTask(project, file, task, `tasks[${i}]`);
  return schedules;
}

/** Takes the tasks out of a module's exports; tells whether there were any. */
function readTasks(project: Project, file: string, module: Record<string, unknown>): boolean {
  let hasTasks = false;
  for (const [name, exported] of Object.entries(module)) {
    if (isTask(exported) || isMeantAsTask(exported)) {
      addTask(project, file, exported, name);
      hasTasks = true;
    } else if (Array.isArray(exported) && exported.some(isMeantAsTask)) {
      for (const [i, one] of exported.entries()) addTask(project, file, one, `${name}[${i}]`);
      hasTasks = true;
    }
  }
  return hasTasks;
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
  if (typeof exported !== 'object' || exported === null) {
    throw new DulyError('config_invalid', {
      message: `Expected ${where} in "${shown(file)}" to define a task: an object with "name" and "run".`,
    });
  }
  const definition = exported as TaskDefinition;
  // One definition may be exported twice, by name and by default.
  if (project.tasks.some((task) => task.definition === definition)) return;
  project.tasks.push({ definition, file });
}

/** Defines the tasks that were found. An isolated one is found again by its thread through `project/isolated.ts`. */
export function defineTasks(duly: Duly, tasks: readonly FoundTask[]): void {
  const files = new Map<string, string>();
  for (const { definition, file } of tasks) {
    const other = files.get(definition.name);
    if (other !== undefined) {
      throw new DulyError('duplicate_task', {
        message: `Two tasks are named "${definition.name}": one in "${shown(other)}", one in "${shown(file)}".`,
        hint: 'Give each task its own name.',
        details: { type: definition.name },
      });
    }
    inFile(file, () => duly.task(isolatedBy(definition, file)));
    files.set(definition.name, file);
  }
}

function isolatedBy(definition: TaskDefinition, file: string): TaskDefinition {
  if (definition.isolate !== true) return definition;
  const entry = new URL('./isolated.ts', import.meta.url);
  entry.searchParams.set('file', file);
  return { ...definition, isolate: { file: entry } };
}

/** Makes a Duly of the project's options, or takes the one it has. */
export function dulyOf(project: Project, options: DulyOptions): Duly {
  if (project.duly !== null) return project.duly;
  const create = (): Duly => new Duly({ ...project.options, ...options });
  return project.config === null ? create() : inFile(project.config, create);
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

/** Whether an export is a definition, or was meant as one and lacks something: it must not be dropped in silence. */
function isMeantAsTask(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { name, run } = value as Partial<TaskDefinition>;
  return typeof name === 'string' || typeof run === 'function';
}

/** The definitions in a module, wherever it holds them: its exports, or the `tasks` of a config. */
export function definitionsOf(file: string, module: Record<string, unknown>): TaskDefinition[] {
  const project: Project = {
    config: null,
    duly: null,
    options: {},
    tasks: [],
    hasTasksFolder: true,
    hasTaskFiles: true,
    warnings: [],
  };
  const config = module.default as DulyConfig | undefined;
  if (Array.isArray(config?.tasks)) readConfig(project, file, module);
  else readTasks(project, file, module);
  return project.tasks.map((task) => task.definition);
}
