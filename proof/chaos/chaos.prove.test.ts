import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { createSqliteGround } from './engines/sqlite/ground.ts';
import { reportText } from './report.ts';

// One minute, and every kind of fault; `npm run chaos` goes on for as long as one likes, with any seed.
test('real processes: killed, stopped, blocked, locked out and without space, they keep every promise', async (t) => {
  if (process.platform !== 'linux') return t.skip('stops processes by what /proc tells of their threads');
  const report = await runChaos({ minutes: 1, seed: 20_261_115, ground: createSqliteGround });
  const text = reportText(report);
  t.diagnostic(text);
  assert.equal(report.violations.length, 0, text);
  const missing = [...report.faults].filter(([, { struck }]) => struck === 0).map(([name]) => name);
  assert.deepEqual(missing, [], `Did not strike: ${missing.join(', ')}.\n${text}`);
  assert.ok(report.lists.count > 20, text);
  for (const end of ['committed', 'rolledBack', 'killed'])
    assert.ok((report.transactions[end] ?? 0) > 0, text);
  // One whose process was killed twice in a row between its answer and its note may not be told; the others are.
  const { predicted, noted } = report.decisions ?? { predicted: 0, noted: 0 };
  assert.ok(predicted > 0.7 * noted && noted > 0, text);
  assert.ok((report.jobs.COMPLETED ?? 0) > 100, text);
  assert.ok((report.slots.fired ?? 0) > 50, text);
  const met = [...report.failures.keys()];
  assert.ok(
    met.some((failure) => failure.endsWith('store_busy')),
    text,
  );
});
