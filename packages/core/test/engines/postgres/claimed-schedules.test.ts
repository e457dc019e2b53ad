import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  fireGroup,
  minute,
  scheduleClaim,
  schedulePut,
  second,
  slotJob,
  slotRow,
  t0,
} from '@duly/conformance/builders';
import { ask, openEngine } from './setup.ts';

it('claimed schedules come in due order, each with its own runs, also once their tables were analyzed', async () => {
  const engine = await openEngine();
  try {
    const changes = [
      schedulePut({ id: 'sch_2', dueAt: t0, expectVersion: null, action: 'create' }),
      schedulePut({ id: 'sch_1', dueAt: t0 + minute, expectVersion: null, action: 'create' }),
    ];
    await engine.applySchedules({ now: t0, groups: [{ actor: 'key:anna', changes }] });
    const { schedules } = await engine.claimSchedules(scheduleClaim());
    const [first] = schedules;
    assert.ok(first?.id === 'sch_2' && schedules.length === 1);
    const job = slotJob('sch_2', t0);
    const slots = [slotRow(t0, { jobId: job.id })];
    const group = fireGroup(first, { dueAt: t0 + second, slots, jobs: [job] });
    const { groups } = await engine.fire({ now: t0, node: 'node-a', groups: [group] });
    assert.deepEqual(groups, ['fired']);

    // Of two rows the planner knows then that it is cheaper to begin with them than with the ids that were claimed.
    await ask('ANALYZE');
    const claimed = await engine.claimSchedules(scheduleClaim({ now: t0 + 2 * minute }));
    assert.deepEqual(
      claimed.schedules.map(({ id, active }) => [id, active.map((run) => run.id)]),
      [
        ['sch_2', [job.id]],
        ['sch_1', []],
      ],
    );
  } finally {
    await engine.close();
  }
});
