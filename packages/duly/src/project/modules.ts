import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { DulyError, isDulyError } from '@duly/core';
import { sentenceOf, thrownText } from '../output/errors.ts';
import { redirectStdout } from '../output/redirect.ts';
import { moduleAddress, withoutGeneration } from './followed-modules.ts';

const configNames = ['duly.config.ts', 'duly.config.mts', 'duly.config.js', 'duly.config.mjs'];
const tasksFolder = 'tasks';

/** What of a project was found on the disk. */
export interface ProjectFiles {
  config: string | null;
  /** Whether there is a folder `tasks/`. */
  hasTasksFolder: boolean;
  /** Modules of it, in order. */
  tasks: string[];
}

/** Looks for a config (or takes the one named) and for `tasks/` beside it. */
export function findProject(configOption: string | undefined): ProjectFiles {
  const config =
    configOption === undefined
      ? (configNames.map((name) => resolve(name)).find((path) => existsSync(path)) ?? null)
      : resolve(configOption);
  if (configOption !== undefined && !existsSync(config as string)) {
    throw new DulyError('config_not_found', {
      message: `There is no config at "${configOption}".`,
      hint: 'Name a file whose default export is a config or a Duly, or leave --config out.',
    });
  }
  const folder = join(config === null ? process.cwd() : dirname(config), tasksFolder);
  const hasTasksFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  return { config, hasTasksFolder, tasks: hasTasksFolder ? modulesOf(folder) : [] };
}

function modulesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isModule(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (path) =>
        !relative(folder, path)
          .split(/[\\/]/)
          .some((part) => /^[._]/.test(part) || part === 'node_modules'),
    )
    .sort();
}

function isModule(name: string): boolean {
  return /\.(ts|mts|js|mjs)$/.test(name) && !/\.(d\.m?ts|(test|spec)\.m?[tj]s)$/.test(name);
}

/**
 * Imports a module of the user's. What it prints goes to stderr: stdout belongs to what the command answers. Throws
 * `config_invalid` with where it failed.
 */
export async function importModule(path: string): Promise<Record<string, unknown>> {
  const restore = redirectStdout();
  try {
    return (await import(moduleAddress(path))) as Record<string, unknown>;
  } catch (cause) {
    const [reason = ''] = thrownText(cause).split('\n', 1);
    throw new DulyError('config_invalid', {
      message: sentenceOf(`"${shown(path)}" could not be loaded: ${reason}`),
      hint: isDulyError(cause) && cause.hint !== undefined ? cause.hint : placeOf(cause),
      details: { path },
      cause,
    });
  } finally {
    restore();
  }
}

/** Names the user's file in what Duly refuses about something that is written there. */
export function inFile<Value>(path: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!isDulyError(error)) throw error;
    const { code, message, hint, details, cause } = error;
    throw new DulyError(code, {
      message: `In "${shown(path)}": ${message}`,
      ...(hint === undefined ? {} : { hint }),
      details: { ...details, path },
      cause,
    });
  }
}

/** A path as people type it. */
export function shown(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? path : near;
}

/** Where in the user's own files an error came from, as far as its stack tells. */
function placeOf(thrown: unknown): string {
  // As npm init writes it: then Node takes what is named .ts or .js for CommonJS.
  if (thrown instanceof SyntaxError && /'(?:export|import)'|import statement/.test(thrown.message)) {
    return 'Its package.json says "type": "commonjs". Write "module" there, or let the name end in .mts or .mjs.';
  }
  const line = (thrown instanceof Error ? (thrown.stack ?? '') : '')
    .split('\n')
    .find((one) => /(file:\/\/|\/|[A-Z]:\\).*:\d+/.test(one) && !one.includes('node:internal'));
  return line === undefined
    ? 'It throws while it is loaded; look at what stands at its top level.'
    : `Look at ${withoutGeneration(line.trim().replace(/^at /, ''))}.`;
}
