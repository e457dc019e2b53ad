// Lists every name that the entry points of the packages export. `npm run generate` writes the list; a test
// compares it, so that a change of the public API is a change of test/repo/public-api.txt.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { maskSource, root } from './source-text.ts';

/** One exported name. A class is both a value and a type. */
export interface ExportedName {
  name: string;
  kind: 'value' | 'class' | 'type';
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

const name = String.raw`(?:[\p{ID_Continue}$]+|'[^']*')`;
const forms = {
  list: /\bexport\s+(type\s+)?\{([^}]*)\}/gu,
  item: new RegExp(String.raw`^\s*(type\s+)?(?:${name}\s+as\s+)?(${name})\s*$`, 'u'),
  declared: new RegExp(
    String.raw`\bexport\s+(?:declare\s+)?(?:async\s+)?(const|let|function\*?|(?:abstract\s+)?class|interface|type)\s+(${name})`,
    'gu',
  ),
  star: new RegExp(String.raw`\bexport\s+(type\s+)?\*\s*(?:as\s+(${name})\s*)?from\s*'`, 'gu'),
};
const kinds: Readonly<Record<string, ExportedName['kind']>> = {
  interface: 'type',
  type: 'type',
  class: 'class',
};

/**
 * The names that a module exports, sorted; `namesFrom` returns those behind an `export * from`. An export that
 * is written in another way throws, so that none is left out silently.
 */
export function exportedNames(
  text: string,
  namesFrom: (specifier: string) => readonly ExportedName[],
): ExportedName[] {
  const masked = maskSource(text);
  const names = new Map<string, ExportedName['kind']>();
  const read = new Set<number>();
  for (const { index, 0: all, 1: type, 2: list = '' } of masked.matchAll(forms.list)) {
    read.add(index);
    // Names that are strings are masked, so that the list is split by the commas between names only.
    let at = index + all.length - 1 - list.length;
    for (const part of list.split(',')) {
      const [, own, exported] = forms.item.exec(text.slice(at, at + part.length)) ?? [];
      at += part.length + 1;
      if (exported !== undefined) names.set(exported, (type ?? own) === undefined ? 'value' : 'type');
      else if (part.trim() !== '') throw unread(part);
    }
  }
  for (const { index, 1: keyword = '', 2: exported = '' } of masked.matchAll(forms.declared)) {
    read.add(index);
    names.set(exported, kinds[keyword.replace(/^abstract\s+/, '')] ?? 'value');
  }
  for (const match of masked.matchAll(forms.star)) {
    read.add(match.index);
    const isType = match[1] !== undefined;
    if (match[2] !== undefined) {
      const start = match.index + match[0].indexOf(match[2]);
      names.set(text.slice(start, start + match[2].length), isType ? 'type' : 'value');
      continue;
    }
    const start = match.index + match[0].length;
    for (const { name: exported, kind } of namesFrom(text.slice(start, masked.indexOf("'", start)))) {
      // A name that the module exports itself hides it, and a value behind `export type *` cannot be used.
      if (names.has(exported) || (isType && kind === 'value')) continue;
      names.set(exported, isType ? 'type' : kind);
    }
  }
  for (const { index } of masked.matchAll(/(?<![\p{ID_Continue}$.])export(?=\s)/gu))
    if (!read.has(index)) throw unread(text.slice(index, index + 60));
  return [...names]
    .map(([exported, kind]) => ({ name: exported, kind }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function unread(text: string): Error {
  return new Error(
    `"${text.trim().split('\n')[0]}" is a form of export that scripts/public-api.ts does not read.`,
  );
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
    const lines = namesOf(entry).map(({ name, kind }) => `  ${kind === 'type' ? 'type ' : ''}${name}\n`);
    return `\n${entry.specifier}\n${lines.join('')}`;
  });
  return head + sections.join('');
}

if (import.meta.main) writeFileSync(listPath, publicApi());
