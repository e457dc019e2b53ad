// Import direction: which folder may import which. See docs/internals/architecture.md.

import { posix } from 'node:path';
import { type Import, importsOf, type Problem, type SourceFile } from './source-text.ts';

const core = 'packages/core/src/';
/** The layers that most others may import. */
export const lowLayers = ['base', 'contract', 'lifecycle', 'schedules/calendar'] as const;
const schedules = ['schedules/definition', 'schedules/planner', 'schedules'] as const;
const engine = ['base', 'contract', 'lifecycle', 'engines/shared'] as const;

/**
 * The layers of core, lowest first: the folders that a folder may import besides itself, all of which are
 * above it in this table. Type imports count, and the longest folder that a path is in decides.
 */
export const layers: Readonly<Record<string, readonly string[]>> = {
  base: [],
  contract: ['base'],
  lifecycle: ['base', 'contract'],
  'schedules/calendar': ['base'],
  'engines/shared': ['base', 'contract', 'lifecycle'],
  'engines/sqlite': engine,
  'engines/postgres': engine,
  store: [...lowLayers, 'engines/shared'],
  'store/thread': [...lowLayers, 'engines/shared', 'store'],
  jobs: [...lowLayers, 'store'],
  operations: [...lowLayers, 'store', 'jobs'],
  'schedules/definition': [...lowLayers, 'jobs'],
  'schedules/planner': [...lowLayers, 'schedules/definition'],
  schedules: [...lowLayers, 'store', 'jobs', 'operations', 'schedules/definition', 'schedules/planner'],
  forecast: [...lowLayers, 'jobs', 'operations', ...schedules],
  tasks: [...lowLayers, 'store', 'jobs', 'operations', ...schedules],
  worker: [...lowLayers, 'store', 'jobs'],
  'worker/remote': [...lowLayers, 'store', 'jobs', 'worker'],
  maintenance: lowLayers,
  coordination: ['base', 'contract', 'store', 'jobs', 'tasks'],
};

const engines = ['engines/sqlite', 'engines/postgres'];

/**
 * Folders that count as one with all that is below them, because they import each other. An engine's `verbs/`
 * use the connection and the rows beside them, and `verbImporters` put the verbs together.
 */
const units: readonly string[] = engines;
const verbImporters = ['engine.ts', 'user-transaction.ts'];

/** The two layers above the table, and what they must not import. Only tests import src/testing. */
export const above: Readonly<Record<string, readonly string[]>> = {
  '': [...engines, 'testing'],
  testing: engines,
};

// The top is the façade. A file that is not part of it belongs into a folder.
const topFilesMax = 8;

// These import what is known at run time only: the user's own module, and packages that may be missing.
const computedImports = [
  'engines/postgres/driver.ts',
  'schedules/calendar/rrule.ts',
  'worker/isolate-thread.ts',
];

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

/** A reference from a file, or from a file of a folder, to another one. */
interface Edge {
  to: string;
  path: string;
  line: number;
}

/**
 * Finds imports that break the layout: what the tables do not allow, a relative path into another package, a
 * package that core imports statically, a module that core computes, a missing target, and cycles.
 */
export function findImportProblems(files: SourceFile[]): Problem[] {
  const known = new Set(files.map((file) => file.path));
  const graph = new Map<string, Edge[]>();
  const folders = new Map<string, Edge[]>();
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
    const edges: Edge[] = [];
    graph.set(file.path, edges);
    for (const one of importsOf(file.text)) {
      const add = (message: string): void => {
        problems.push({ path: file.path, line: one.line, message });
      };
      if (one.kind === 'computed') {
        if (file.path.startsWith(core) && !computedImports.includes(file.path.slice(core.length)))
          add(`"${one.specifier}" hides which module it names: import a literal path or package.`);
        continue;
      }
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
      if (!known.has(target)) {
        add(`"${one.specifier}" does not exist.`);
        continue;
      }
      const edge = { path: file.path, line: one.line };
      // A thread's entry is loaded apart, and a type import vanishes: neither can make a cycle at run time.
      if (one.kind === 'static' || one.kind === 'dynamic') edges.push({ to: target, ...edge });
      const [from, to] = [unitOf(file.path), unitOf(target)];
      const others = folders.get(from) ?? [];
      const isKnown = message !== null || others.some((other) => other.to === to);
      if (from === to || !file.path.startsWith(core) || isKnown) continue;
      folders.set(from, [...others, { to, ...edge }]);
    }
  }
  return [...problems, ...findCycles(graph, 'import cycle'), ...findCycles(folders, 'cycle of folders')];
}

/** The folder of a file, or the unit that holds it. */
function unitOf(path: string): string {
  const folder = posix.dirname(path);
  const unit = units.map((one) => `${core}${one}`).find((one) => `${folder}/`.startsWith(`${one}/`));
  return unit ?? folder;
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
  const [, verbs] = /^(.*\/engines\/\w+\/verbs\/)/.exec(to) ?? [];
  if (verbs !== undefined && folder === target && !from.startsWith(verbs)) {
    if (!verbImporters.includes(posix.basename(from)))
      return `only ${verbImporters.join(' and ')} of an engine import its verbs: "${to}".`;
  }
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

/** The longest folder of the layers that holds a file of core; '': it is at the top; null: it is in none. */
function layerOf(path: string): string | null {
  const inner = posix.dirname(path.slice(core.length));
  if (inner === '.') return '';
  for (let folder = inner; folder !== '.'; folder = posix.dirname(folder))
    if (folder in layers || folder in above) return folder;
  return null;
}

function findCycles(graph: Map<string, Edge[]>, what: string): Problem[] {
  const problems: Problem[] = [];
  const finished = new Set<string>();
  const visit = (from: string, trail: string[]): void => {
    for (const { to, path, line } of graph.get(from) ?? []) {
      const start = trail.indexOf(to);
      if (start !== -1) {
        problems.push({ path, line, message: `${what}: ${[...trail.slice(start), to].join(' → ')}.` });
      } else if (!finished.has(to)) visit(to, [...trail, to]);
    }
    finished.add(from);
  };
  for (const from of graph.keys()) if (!finished.has(from)) visit(from, [from]);
  return problems;
}
