// Writes the cells "may import" of docs/internals/architecture.md from the tables in check-imports.ts.
// Run by `npm run generate`; `npm run check` compares.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { above, layers, lowLayers, packageImports } from './check-imports.ts';
import { type Problem, root } from './source-text.ts';

const page = 'docs/internals/architecture.md';

/** The page with what each row of its two tables may import. */
export function rewriteLayerTables(text: string): string {
  return text.replace(/^\| (`.*?) \|.* \|$/gm, (row: string, names: string) => {
    const cells = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => cellOf(name));
    const [cell] = cells;
    if (cell === undefined || cell === null) return row;
    if (cells.some((other) => other !== cell)) throw new Error(`${names} may not import the same.`);
    return row.replace(/[^|]*\|$/, ` ${cell} |`);
  });
}

function cellOf(name: string): string | null {
  const folder = name.replace(/\/$/, '');
  const ofPackage = packageImports[folder.replace('packages/', '')];
  if (folder.startsWith('packages/') && ofPackage !== undefined) {
    const types = ofPackage.type === undefined ? '' : `; types of ${listed(ofPackage.type)}`;
    return `${listed(ofPackage.any)}${types}`;
  }
  const hidden = above[name.endsWith('.ts') ? '' : folder];
  if (hidden !== undefined) return `all but ${listed(hidden)}`;
  const allowed = layers[folder];
  if (allowed === undefined) return null;
  const isAboveLow = lowLayers.every((low) => allowed.includes(low));
  const rest = allowed.filter((one) => !isAboveLow || !(lowLayers as readonly string[]).includes(one));
  const shown = rest.length === 0 ? [] : [rest.join(', ')];
  return [...(isAboveLow ? ['the rows up to calendar'] : []), ...shown].join(', ') || 'nothing';
}

function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ') || 'nothing';
}

/** The page, if it differs from the tables. */
export function findStaleLayerTables(): Problem[] {
  const text = readFileSync(join(root, page), 'utf8');
  const message = 'lists other imports than scripts/check-imports.ts. Run: npm run generate';
  return rewriteLayerTables(text) === text ? [] : [{ path: page, line: 1, message }];
}

if (import.meta.main) {
  const path = join(root, page);
  const text = readFileSync(path, 'utf8');
  if (rewriteLayerTables(text) !== text) writeFileSync(path, rewriteLayerTables(text));
}
