// Import direction: who may know whom. See docs/internals/layout.md.

import { posix } from 'node:path';
import { type Import, importsOf, type Problem, type SourceFile } from './source-text.ts';

const enginesFolder = 'packages/core/src/engines/';
const door = `${enginesFolder}open.ts`;

/**
 * Finds imports that break the layout:
 * an engine's inside used from outside `engines/` (the way in is `engines/open.ts`),
 * an engine that knows a sibling or the door, a relative path into another package,
 * a package imported statically by core, a target that does not exist, and cycles.
 */
export function findImportProblems(files: SourceFile[]): Problem[] {
  const known = new Set(files.map((file) => file.path));
  const graph = new Map<string, { to: string; line: number }[]>();
  const problems: Problem[] = [];

  for (const file of files) {
    const edges: { to: string; line: number }[] = [];
    graph.set(file.path, edges);
    for (const one of importsOf(file.text)) {
      const add = (message: string): void => {
        problems.push({ path: file.path, line: one.line, message });
      };
      if (!one.specifier.startsWith('.')) {
        const message = one.kind === 'url' ? null : barePackageProblem(file.path, one);
        if (message !== null) add(message);
        continue;
      }
      const target = posix.join(posix.dirname(file.path), one.specifier);
      const message = directionProblem(file.path, target);
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

function barePackageProblem(path: string, one: Import): string | null {
  if (!path.startsWith('packages/core/') || one.specifier.startsWith('node:')) return null;
  if (one.kind === 'dynamic') return null;
  return `core has no dependencies: import "${one.specifier}" lazily with import(), and describe the slice of it that is used.`;
}

function directionProblem(from: string, to: string): string | null {
  const packageOf = (path: string): string => path.split('/').slice(0, 2).join('/');
  if (packageOf(from) !== packageOf(to))
    return `"${to}" is in another package: import it by that package's name.`;

  const fromEngine = engineOf(from);
  const toEngine = engineOf(to);
  if (fromEngine !== null && to === door)
    return 'an engine must not know engines/open.ts, which knows every engine.';
  if (toEngine === null) return null;
  if (fromEngine === null && !from.startsWith(enginesFolder)) {
    return `"${to}" is inside an engine: go through engines/open.ts.`;
  }
  if (fromEngine !== null && fromEngine !== toEngine) {
    return `the ${fromEngine} engine must not import from its sibling, the ${toEngine} engine.`;
  }
  return null;
}

function engineOf(path: string): string | null {
  if (!path.startsWith(enginesFolder)) return null;
  const [engine, rest] = path.slice(enginesFolder.length).split('/', 2);
  return rest === undefined ? null : (engine as string);
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
