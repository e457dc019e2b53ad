// Lists every name that the entry points of the packages export. `npm run generate` writes the list; a test
// compares it, so that a change of the public API is a change of test/repo/public-api.txt.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { maskSource, root } from './source-text.ts';

/** One exported name. A class is a value. */
export interface ExportedName {
  name: string;
  isType: boolean;
}

/** One subpath of a package that users can import, and its source file. */
export interface EntryPoint {
  specifier: string;
  path: string;
}

/** The file that holds the list. */
export const listPath = join(root, 'test/repo/public-api.txt');

const packages = ['core', 'conformance', 'server', 'duly'];
const head = '# Every name that users can import. Written by `npm run generate`.\n';

/** The entry points of all published packages, in the order of their `exports`. */
export function entryPoints(): EntryPoint[] {
  return packages.flatMap((folder) => {
    const path = join(root, 'packages', folder, 'package.json');
    const { name, exports } = JSON.parse(readFileSync(path, 'utf8')) as {
      name: string;
      exports: Record<string, string>;
    };
    return Object.entries(exports)
      .filter(([, target]) => target.endsWith('.ts'))
      .map(([subpath, target]) => ({
        specifier: `${name}${subpath.slice(1)}`,
        path: join(root, 'packages', folder, target),
      }));
  });
}

/** The names that a module exports, sorted. `namesFrom` returns the names behind an `export * from`. */
export function exportedNames(
  text: string,
  namesFrom: (specifier: string) => readonly ExportedName[],
): ExportedName[] {
  const masked = maskSource(text);
  const names = new Map<string, boolean>();
  for (const [, type, list] of masked.matchAll(/\bexport\s+(type\s+)?\{([^}]*)\}/g)) {
    for (const part of (list as string).split(',')) {
      const [, own, name] = /^\s*(type\s+)?(?:[\w$]+\s+as\s+)?([\w$]+)\s*$/.exec(part) ?? [];
      if (name !== undefined) names.set(name, type !== undefined || own !== undefined);
    }
  }
  const declared =
    /\bexport\s+(?:declare\s+)?(?:async\s+)?(const|let|function\*?|class|abstract\s+class|interface|type)\s+([\w$]+)/g;
  for (const [, kind, name] of masked.matchAll(declared))
    names.set(name as string, kind === 'interface' || kind === 'type');
  for (const match of masked.matchAll(/\bexport\s+(type\s+)?\*\s*from\s*'/g)) {
    const start = match.index + match[0].length;
    const specifier = text.slice(start, masked.indexOf("'", start));
    // A name that the module exports itself hides one of the same name behind a star.
    for (const { name, isType } of namesFrom(specifier))
      if (!names.has(name)) names.set(name, isType || match[1] !== undefined);
  }
  return [...names]
    .map(([name, isType]) => ({ name, isType }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The names of an entry point. */
export function namesOf({ path }: Pick<EntryPoint, 'path'>): ExportedName[] {
  return exportedNames(readFileSync(path, 'utf8'), (specifier) => {
    if (specifier.startsWith('.')) return namesOf({ path: join(dirname(path), specifier) });
    const entry = entryPoints().find((one) => one.specifier === specifier);
    if (entry === undefined)
      throw new Error(`"${path}" exports everything of "${specifier}", which is no entry point of Duly.`);
    return namesOf(entry);
  });
}

/** The list as text. */
export function publicApi(): string {
  const sections = entryPoints().map((entry) => {
    const lines = namesOf(entry).map(({ name, isType }) => `  ${isType ? 'type ' : ''}${name}\n`);
    return `\n${entry.specifier}\n${lines.join('')}`;
  });
  return head + sections.join('');
}

if (import.meta.main) writeFileSync(listPath, publicApi());
