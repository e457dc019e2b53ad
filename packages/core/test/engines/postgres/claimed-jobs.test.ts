import assert from 'node:assert/strict';
import { it } from 'node:test';
import { claimRequest, jobSpec, t0 } from '@duly/conformance/builders';
import { ask, openEngine } from './setup.ts';

// So that the planner has to read the rows that were chosen in the order of their table, as it may whenever it thinks that cheaper.
process.env['PGOPTIONS'] = '-c enable_tidscan=off';

it('jobs are given by rank, whichever way their rows are read', async () => {
  const engine = await openEngine();
  try {
    const laterFirst = [1, 3, 2].map((n) => jobSpec({ due: { at: t0 - n } }));
    await engine.enqueue({ now: t0, groups: [{ jobs: laterFirst }] });
    await ask('ANALYZE');
    const { claimed } = await engine.exchange({ now: t0, settle: [], claim: claimRequest() });
    assert.deepEqual(
      claimed.map(({ dueAt }) => dueAt),
      [t0 - 3, t0 - 2, t0 - 1],
    );
  } finally {
    await engine.close();
  }
});
