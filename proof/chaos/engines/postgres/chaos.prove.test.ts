import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from '../../chaos.ts';
import { reportText } from '../../report.ts';
import { createPostgresGround } from './ground.ts';

// Two minutes, and every kind of fault; `npm run chaos -- --engine postgres` goes on for as long as one likes, with any seed.
test('real processes on a real PostgreSQL: killed, stopped, cut off, led to a new primary and lied to about the time, they keep every promise', async (t) => {
  if (process.platform !== 'linux') return t.skip('stops processes by what /proc tells of their threads');
  const report = await runChaos({ minutes: 2, seed: 20_261_115, ground: createPostgresGround });
  const text = reportText(report);
  t.diagnostic(text);
  assert.equal(report.violations.length, 0, text);
  const missing = [...report.faults].filter(([, { struck }]) => struck === 0).map(([name]) => name);
  assert.deepEqual(missing, [], `Did not strike: ${missing.join(', ')}.\n${text}`);
  assert.ok((report.jobs.COMPLETED ?? 0) > 500, text);
  assert.ok((report.slots.fired ?? 0) > 100, text);
  // A call whose answer was lost: some were told so, and some went through by themselves.
  assert.ok([...report.failures.keys()].includes('enqueue: store_unavailable'), text);
  assert.ok(report.recoveries.length > 2, text);
  // They were asked while nothing could be kept, and did not say that all is well.
  assert.ok(
    (report.healthDuringOutages.health ?? 0) > 0 && (report.healthDuringOutages.readyz ?? 0) > 0,
    text,
  );
});
