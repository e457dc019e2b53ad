import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openEngine } from '../../src/store/open-engine.ts';

const page = readFileSync(new URL('../../../../docs/internals/engine-contract.md', import.meta.url), 'utf8');

test('every function of an engine is drawn on the page, once, and no other is', async () => {
  const part = /\n## The verbs\n(.*?)\n## /s.exec(page)?.[1];
  assert.ok(part, 'docs/internals/engine-contract.md has lost its section "The verbs".');
  const drawn = [...part.matchAll(/^### (.+)$/gm)].flatMap(([, names]) => (names as string).split(', '));
  const engine = await openEngine('sqlite::memory:');
  assert.deepEqual(drawn.toSorted(), Object.keys(engine).toSorted());
  await engine.close();
});
