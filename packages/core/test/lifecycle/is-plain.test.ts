import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobSpec } from '@duly/conformance/builders';
import type { JobSpec } from '../../src/contract/engine.ts';
import { isPlain } from '../../src/lifecycle/is-plain.ts';

test('a job is plain if it has no dedupe key, parent, gate or serial key', () => {
  assert.equal(isPlain(jobSpec()), true);
  assert.equal(isPlain(jobSpec({ tenant: 't', startDeadlineMs: 1, due: { at: 1 } })), true);
  const others: Partial<JobSpec>[] = [
    { dedupe: { key: 'k', forMs: null, mode: 'drop', maxWaitMs: null } },
    { parent: { id: 'p', key: null } },
    { gates: [{ kind: 'overlap', ref: 'j' }] },
    { serial: '' },
  ];
  for (const other of others) assert.equal(isPlain(jobSpec(other)), false, JSON.stringify(other));
});
