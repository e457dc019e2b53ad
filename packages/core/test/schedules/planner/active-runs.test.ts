import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fireGroup, scheduleClaim, schedulePut, slotJob } from '@duly/conformance/builders';
import { activeRuns } from '../../../src/schedules/planner/active-runs.ts';
import { openTestStore } from '../../worker/setup.ts';

test('the order of unfinished runs is that of the store, whatever the clocks of the nodes that created them', async (t) => {
  const { engine, clock, close } = await openTestStore();
  t.after(close);
  const schedule = schedulePut({ dueAt: clock.now() });
  await engine.applySchedules({ groups: [{ actor: 'test', changes: [schedule] }] });
  const claim = async () => {
    const [claimed] = (await engine.claimSchedules(scheduleClaim({ ids: [schedule.id] }))).schedules;
    assert.ok(claimed);
    return claimed;
  };
  // The second maker's clock is behind, so its id sorts before the first.
  const names = ['job_01mccj6jc04r30ps802j3djag1', 'job_01mccervmak0mav400dw12a0g1'];
  for (const id of names) {
    const jobs = [slotJob(schedule.id, clock.now(), { id })];
    await engine.fire({ node: 'n', groups: [fireGroup(await claim(), { jobs })] });
    await clock.advance(1_000);
  }
  const ids = (runs: { id: string }[]) => runs.map(({ id }) => id);
  assert.deepEqual(ids(await activeRuns(engine, schedule.id)), names);
  assert.deepEqual(ids((await claim()).active), names);
});
