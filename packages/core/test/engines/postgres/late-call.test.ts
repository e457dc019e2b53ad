// A call whose bytes the network delivers after its own repeat: it must not create its jobs again.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { claimRequest, dedupe, jobSpec, t0 } from '@duly/conformance/builders';
import { claimOne, deleteJobs, finish } from '@duly/conformance/steps';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import type { JobSpec } from '../../../src/contract/engine.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { url } from './setup.ts';

const kinds: [string, Partial<JobSpec>[]][] = [
  ['one job', [{}]],
  ['jobs that differ in their input only', [{ input: '1' }, { input: '2' }]],
  ['plain jobs that differ', [{ priority: 1 }, { queue: 'side' }]],
  ['a job with a dedupe key', [{ dedupe: dedupe('k') }]],
  ['a job in a line', [{ serial: 's' }, {}]],
];

for (const [kind, fields] of kinds) {
  for (const [end, hasClaim] of [
    ['deleted', false],
    ['deleted', true],
    ['completed', true],
  ] as const) {
    it(`${kind}, ${end} after the repeat: a first send ${hasClaim ? 'with a claim ' : ''}that arrives later does nothing`, async (t) => {
      const engine = await openEngine(inSchema(url, freshSchema()));
      t.after(() => engine.close());
      const jobs = fields.map((one) => jobSpec({ due: { inMs: 0 }, ...one }));
      const ids = jobs.map(({ id }) => id);
      await engine.enqueue({ now: t0, groups: [{ jobs }], repeat: true });
      if (end === 'deleted') await deleteJobs(engine, ids);
      else for (const _ of jobs) await finish(engine, await claimOne(engine, { limit: 1 }), 'COMPLETED');
      const before = await engine.get({ now: t0, ids });
      assert.ok(before.jobs.every((job) => (end === 'deleted' ? job === null : job?.status === 'COMPLETED')));
      const claim = hasClaim ? { claim: claimRequest({ limit: 5 }) } : {};
      await assert.rejects(engine.enqueue({ now: t0, groups: [{ jobs }], ...claim }), (error: Error) =>
        /A repeat of this call arrived first/.test(`${(error.cause as Error).message}`),
      );
      assert.deepEqual((await engine.get({ now: t0, ids })).jobs, before.jobs);
      const { claimed } = await engine.exchange({ now: t0, settle: [], claim: claimRequest({ limit: 5 }) });
      assert.deepEqual(claimed, []);
      // Other jobs are created as before.
      const { groups } = await engine.enqueue({
        now: t0,
        groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }],
      });
      assert.equal(groups[0]?.ok, true);
    });
  }
}
