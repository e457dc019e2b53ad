// test/repo/public-api.txt lists every exported name. A commit that changes the public API changes that file.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { entryPoints, exportedNames, listPath, namesOf, publicApi } from '../../scripts/public-api.ts';

test('the list of exported names is that of the sources', () => {
  assert.equal(
    readFileSync(listPath, 'utf8'),
    publicApi(),
    'The public API changed. Run `npm run generate` and check the diff of test/repo/public-api.txt.',
  );
});

test('the values in the list are the values that each entry point exports', async () => {
  for (const entry of entryPoints()) {
    const listed = namesOf(entry).filter(({ kind }) => kind !== 'type');
    const exported = Object.keys(await import(pathToFileURL(entry.path).href)).sort();
    assert.deepEqual(
      listed.map(({ name }) => name),
      exported,
      entry.specifier,
    );
  }
});

test('every form of an export is read', () => {
  const text = `
    export { a, type B, c as d } from './x.ts';
    export type { E, F as G } from './y.ts';
    export const h = 1; export async function i() {} export class J {} export interface K {} export type L = 'export const no';
    export * from 'other'; export type * from 'types'; // export const no = 1;
    export * as m from 'other'; export type * as n from './z.ts'; export { o as 'p, q' } from './x.ts'; export const größe = 1;
  `;
  const names = exportedNames(text, (specifier) => [
    { name: `from_${specifier}`, kind: 'class' },
    { name: `value_${specifier}`, kind: 'value' },
  ]);
  const values = ["'p, q'", 'a', 'd', 'größe', 'h', 'i', 'm', 'value_other'];
  const classes = ['J', 'from_other'];
  const types = ['B', 'E', 'G', 'K', 'L', 'from_types', 'n'];
  assert.deepEqual(
    names.map(({ name, kind }) => `${kind} ${name}`).sort(),
    [
      ...values.map((name) => `value ${name}`),
      ...classes.map((name) => `class ${name}`),
      ...types.map((name) => `type ${name}`),
    ].sort(),
  );
});

test('a form of an export that is not known is refused', () => {
  for (const text of ['export default 1;', 'export enum A {}', 'export const { a } = b;', 'export = c;'])
    assert.throws(() => exportedNames(text, () => []), /does not read/, text);
});
