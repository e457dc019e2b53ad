// Import direction: which folder may import which. See docs/internals/architecture.md.

import { posix } from 'node:path';
import { type Import, importsOf, type Problem, type SourceFile } from './source-text.ts';

const core = 'packages/core/src/';
const low = ['base', 'contract', 'lifecycle', 'schedules/calendar'] as const;
const schedules = ['schedules/definition', 'schedules/planner', 'schedules'] as const;
const engine = ['base', 'contract', 'lifecycle', 'engines/shared'] as const;

/**
 * The layers of core, lowest first: the folders that a folder may import besides itself, all of which are above it in this
 * table. Type imports count. The longest folder that a path is in decides.
 */
export const layers: Readonly<Record<string, readonly string[]>> = {
  base: [],
  contract: ['base'],
  lifecycle: ['base', 'contract'],
  'schedules/calendar': ['base'],
  'engines/shared': ['base', 'contract', 'lifecycle'],
  'engines/sqlite': engine,
  'engines/postgres': engine,
  store: [...low, 'engines/shared'],
  'store/thread': [...low, 'engines/shared', 'store'],
  jobs: [...low, 'store'],
  operations: [...low, 'store', 'jobs'],
  'schedules/definition': [...low, 'jobs'],
  'schedules/planner': [...low, 'schedules/definition'],
  schedules: [...low, 'store', 'jobs', 'operations', 'schedules/definition', 'schedules/planner'],
  forecast: [...low, 'jobs', 'operations', ...schedules],
  tasks: [...low, 'store', 'jobs', 'operations', ...schedules],
  worker: [...low, 'store', 'jobs'],
  'worker/remote': [...low, 'store', 'jobs', 'worker'],
  maintenance: low,
  coordination: ['base', 'contract', 'store', 'jobs', 'tasks'],
};

// The two layers above the table, and what they must not import: the files at the top ('') and src/testing, which only tests import.
const engines = ['engines/sqlite', 'engines/postgres'];
const above: Readonly<Record<string, readonly string[]>> = { '': [...engines, 'testing'], testing: engines };

// The top is the façade. A file that is not part of it belongs into a folder.
const topFilesMax = 8;

// These load the engine of a store with import().
const engineLoaders = ['store/open-engine.ts', 'store/examine.ts', 'store/open-user-transaction.ts'];

const entryPointsOfCore = [
  '@duly/core',
  '@duly/core/internal',
  '@duly/core/internal/browser',
  '@duly/core/sqlite',
  '@duly/core/postgres',
  '@duly/core/testing',
];

/** The entry points of other packages of this repository that a package may import. `type`: types only. */
export const packageImports: Readonly<Record<string, { any: readonly string[]; type?: readonly string[] }>> =
  {
    core: { any: [] },
    conformance: { any: ['@duly/core', '@duly/core/internal'] },
    server: { any: ['@duly/core', '@duly/core/internal', '@duly/core/internal/browser'] },
    dashboard: {
      any: ['@duly/core/internal/browser'],
      type: ['@duly/core', '@duly/core/internal', '@duly/server/client'],
    },
    duly: {
      any: [
        ...entryPointsOfCore,
        '@duly/server',
        '@duly/server/client',
        '@duly/server/keys',
        '@duly/server/commands',
      ],
    },
  };

/**
 * Finds imports that break the layout: one that the tables of packages and layers do not allow, a relative path into another
 * package, a package that core imports statically, a target that does not exist, and cycles.
 */
export function findImportProblems(files: SourceFile[]): Problem[] {
  const known = new Set(files.map((file) => file.path));
  const graph = new Map<string, { to: string; line: number }[]>();
  const problems: Problem[] = [];

  const topFiles = files.filter(({ path }) => posix.dirname(path) === posix.dirname(`${core}x`));
  if (topFiles.length > topFilesMax) {
    const message = `${topFiles.length} files at the top of core, of at most ${topFilesMax}: move one into a folder.`;
    problems.push({ path: core, line: 1, message });
  }

  for (const file of files) {
    if (file.path.startsWith(core) && layerOf(file.path) === null) {
      const message = `is in no layer: add its folder to the table in scripts/check-imports.ts.`;
      problems.push({ path: file.path, line: 1, message });
    }
    const edges: { to: string; line: number }[] = [];
    graph.set(file.path, edges);
    for (const one of importsOf(file.text)) {
      const add = (message: string): void => {
        problems.push({ path: file.path, line: one.line, message });
      };
      if (!one.specifier.startsWith('.')) {
        const message =
          one.kind === 'url'
            ? null
            : (ownPackageProblem(file.path, one) ?? barePackageProblem(file.path, one));
        if (message !== null) add(message);
        continue;
      }
      if (one.kind !== 'url' && !/\.(tsx?|css)$/.test(one.specifier)) {
        add(`"${one.specifier}" is not a source file: end it in ".ts" or ".tsx".`);
        continue;
      }
      const target = posix.join(posix.dirname(file.path), one.specifier);
      const message = directionProblem(file.path, target, one);
      if (message !== null) add(message);
      // A folder or package.json named by `new URL` is not a module.
      if (!target.endsWith('.ts')) continue;
      if (!known.has(target)) add(`"${one.specifier}" does not exist.`);
      // A thread's entry is loaded apart, and a type import vanishes: neither can make a cycle at run time.
      else if (one.kind === 'static' || one.kind === 'dynamic') edges.push({ to: target, line: one.line });
    }
  }
  return [...problems, ...findCycles(graph)];
}

function ownPackageProblem(path: string, { specifier, kind }: Import): string | null {
  if (!/^(@duly\/|duly($|\/))/.test(specifier)) return null;
  const [, folder = ''] = path.split('/');
  const { any = [], type = [] } = packageImports[folder] ?? {};
  if (any.includes(specifier) || (kind === 'type' && type.includes(specifier))) return null;
  const types = type.length > 0 ? `, and types of ${type.join(', ')}` : '';
  return `packages/${folder} must not import "${specifier}". It may import ${any.join(', ') || 'no package of Duly'}${types}.`;
}

function barePackageProblem(path: string, one: Import): string | null {
  if (!path.startsWith('packages/core/') || one.specifier.startsWith('node:')) return null;
  if (one.kind === 'dynamic') return null;
  return `core has no dependencies: import "${one.specifier}" lazily with import(), and describe the slice of it that is used.`;
}

function directionProblem(from: string, to: string, { kind }: Import): string | null {
  const packageOf = (path: string): string => path.split('/').slice(0, 2).join('/');
  if (packageOf(from) !== packageOf(to))
    return `"${to}" is in another package: import it by that package's name.`;
  if (!from.startsWith(core) || !to.startsWith(core) || !to.endsWith('.ts')) return null;

  const [folder, target] = [layerOf(from), layerOf(to)];
  // A file without a layer is reported once, and not for each of its imports.
  if (folder === null || folder === target) return null;
  const hidden = above[folder];
  if (hidden !== undefined) {
    if (target === null || !hidden.includes(target)) return null;
    return target === 'testing'
      ? `the top of core must not import testing: "${to}".`
      : `"${to}" is inside an engine: go through store/open-engine.ts.`;
  }
  const allowed = layers[folder] ?? [];
  if (target !== null && allowed.includes(target)) return null;
  const isLoader = engineLoaders.includes(from.slice(core.length)) && kind === 'dynamic';
  if (isLoader && target !== null && engines.includes(target)) return null;
  return `${folder} must not import ${target === '' ? 'the top of core' : target}: "${to}". It may import ${allowed.join(', ') || 'nothing'}.`;
}

/** The longest folder of the layers that a file of core is in; '' for the files at the top; null: it is in none. */
function layerOf(path: string): string | null {
  const inner = posix.dirname(path.slice(core.length));
  if (inner === '.') return '';
  for (let folder = inner; folder !== '.'; folder = posix.dirname(folder))
    if (folder in layers || folder in above) return folder;
  return null;
}

function findCycles(graph: Map<string, { to: string; line: number }[]>): Problem[] {
  const problems: Problem[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: string[]): void => {
    for (const { to, line } of graph.get(path) ?? []) {
      const start = trail.indexOf(to);
      if (start !== -1) {
        problems.push({ path, line, message: `import cycle: ${[...trail.slice(start), to].join(' → ')}.` });
      } else if (!finished.has(to)) visit(to, [...trail, to]);
    }
    finished.add(path);
  };
  for (const path of graph.keys()) if (!finished.has(path)) visit(path, [path]);
  return problems;
}
