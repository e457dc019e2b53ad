import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DulyError, isDulyError } from '@duly/core';

const configNames = ['duly.config.ts', 'duly.config.js', 'duly.config.mjs'];
const tasksFolder = 'tasks';

/** What of a project was found on the disk. */
export interface ProjectFiles {
  config: string | null;
  /** Modules of the `tasks/` folder, in order. */
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
  return { config, tasks: existsSync(folder) && statSync(folder).isDirectory() ? modulesOf(folder) : [] };
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

/** Imports a module of the user's. Throws `config_invalid` with where it failed. */
export async function importModule(path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    const error =
      cause instanceof Error ? cause : new DulyError('config_invalid', { message: String(cause) });
    throw new DulyError('config_invalid', {
      message: `"${shown(path)}" could not be loaded: ${error.name}: ${error.message.split('\n', 1)[0]}`,
      hint: isDulyError(cause) && cause.hint !== undefined ? cause.hint : placeOf(error),
      details: { path },
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
function placeOf({ stack = '' }: Error): string {
  const line = stack
    .split('\n')
    .find((one) => /(file:\/\/|\/|[A-Z]:\\).*:\d+/.test(one) && !one.includes('node:internal'));
  return line === undefined ? 'Look at the cause.' : `Look at ${line.trim().replace(/^at /, '')}.`;
}
