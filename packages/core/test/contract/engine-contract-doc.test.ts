import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { engineVerbs } from '../../src/contract/engine.ts';

const page = readFileSync(new URL('../../../../docs/internals/engine-contract.md', import.meta.url), 'utf8');

test('every verb of the contract is drawn on the page, once, and no other is', () => {
  const part = /\n## The verbs\n(.*?)\n## /s.exec(page)?.[1];
  assert.ok(part, 'docs/internals/engine-contract.md has lost its section "The verbs".');
  const drawn = [...part.matchAll(/^### (.+)$/gm)].flatMap(([, names]) => (names as string).split(', '));
  const others = ['info', 'subscribe', 'probe', 'userTransaction', 'watchTransaction', 'close'];
  assert.deepEqual(drawn.toSorted(), [...engineVerbs, ...others].toSorted());
});
