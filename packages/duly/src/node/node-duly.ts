import { Duly, DulyError, type DulyOptions, defaultStore, type Logger, systemClock } from '@duly/core';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { invocation } from '../cli/invocation.ts';
import { givenStore, isSameStore, refuseUnmakable } from '../client/store.ts';
import { demoApp, demoTasks } from '../demo/tasks.ts';
import { defineShadowTask } from '../import/shadow-task.ts';
import { printWarning, sentenceOf } from '../output/errors.ts';
import { defineTasks, dulyOf, loadProject, type Project } from '../project/load.ts';
import { tracingOf } from './tracing.ts';

/** A Duly with its tasks, and where they came from. */
export interface NodeDuly {
  duly: Duly;
  store: string;
  isDemo: boolean;
  /** Where the tasks are from, in words. */
  source: string;
}

/** What to do when the folder has no tasks. */
export interface NodeDulyOptions extends CommonOptions {
  /** `always`: the demo tasks whatever there is. `if-empty`: if there is neither a config nor `tasks/`. */
  demo: 'always' | 'if-empty' | 'never';
  /** Whether the modules of `tasks/` are loaded. Default true. */
  withTasks?: boolean;
  /** Whether a node without tasks is of use: it does not play the worker. */
  withoutTasks?: boolean;
  /** Whether jobs may run programs here without a server around it. */
  allowCommands?: boolean;
}

/** Creates the Duly that a node runs: the user's own, one of the user's tasks, or one of the demo tasks. */
export async function createNodeDuly(context: CommandContext, options: NodeDulyOptions): Promise<NodeDuly> {
  const node = await createOwnDuly(context, options);
  defineShadowTask(node.duly);
  if (options.allowCommands) {
    const { defineCommandTask } = await import('@duly/server/commands');
    defineCommandTask(node.duly, { clock: systemClock });
  }
  return node;
}

async function createOwnDuly(context: CommandContext, options: NodeDulyOptions): Promise<NodeDuly> {
  const given = givenStore(options.store);
  const project =
    options.demo === 'always'
      ? null
      : await loadProject({ config: options.config, withTasks: options.withTasks !== false });
  // A folder tasks/ without a module is somebody's beginning: a demo in its store would be in the way.
  const isEmpty = project !== null && project.config === null && !project.hasTasksFolder;
  if (project === null || (isEmpty && options.demo === 'if-empty'))
    return demoDuly(context, given ?? defaultStore, await tracingOf());

  if (project.duly !== null && given !== undefined && !isSameStore(given, project.duly.store)) {
    throw new DulyError('config_invalid', {
      message: `The config exports a Duly with a store of its own, and --store or DULY_STORE names another.`,
      hint: 'Leave the other out, or write in the config: new Duly({ store: process.env.DULY_STORE ?? … }).',
    });
  }
  for (const warning of project.warnings) context.warn(warning);
  const store = project.duly?.store ?? given ?? project.options.store ?? defaultStore;
  refuseUnmakable(store);
  const duly = dulyOf(project, { store, logger: loggerOf(context), ...(await tracingOf()) });
  if (options.withTasks !== false) defineTasks(duly, project.tasks);
  if (duly.tasks.size === 0 && !options.withoutTasks) throw noTasks(project, options.demo !== 'never');
  return { duly, store, isDemo: false, source: sourceOf(project) };
}

function demoDuly(context: CommandContext, store: string, tracing: Pick<DulyOptions, 'tracing'>): NodeDuly {
  refuseUnmakable(store);
  const duly = new Duly({ store, app: demoApp, logger: loggerOf(context), ...tracing });
  for (const task of demoTasks) duly.task(task);
  return { duly, store, isDemo: true, source: 'the demo set' };
}

function sourceOf({ config, hasTaskFiles }: Project): string {
  return [config === null ? '' : (config.split(/[\\/]/).at(-1) as string), hasTaskFiles ? 'tasks/' : '']
    .filter(Boolean)
    .join(' and ');
}

function noTasks({ config, hasTasksFolder, hasTaskFiles }: Project, hasDemo: boolean): DulyError {
  const where = [
    config === null ? '' : `"${config}"`,
    hasTaskFiles ? 'the modules of tasks/' : hasTasksFolder ? 'the folder tasks/, which holds no module' : '',
  ].filter(Boolean);
  return new DulyError('config_invalid', {
    message:
      where.length === 0
        ? 'There are no tasks here: neither duly.config.ts nor a folder tasks/.'
        : `No task is defined in ${where.join(' or ')}.`,
    hint: `A module of tasks/ exports its tasks: export default { name: 'hello', run: async ({ input }) => … }.${hasDemo ? ` To see the demo: ${invocation()} up --demo` : ''}`,
  });
}

function loggerOf({ err, json }: CommandContext): Logger {
  const say = (fields: object, message: string): void => {
    const { error } = fields as { error?: unknown };
    printWarning(err, error instanceof Error ? `${message} ${sentenceOf(error.message)}` : message, json);
  };
  return { debug() {}, info() {}, warn: say, error: say };
}
