// Steps that both chapters about `act` share.
import assert from 'node:assert/strict';
import { type JobStatus, jobStatuses } from '@duly/core';
import type { ActTarget, ChangedItem, Engine, JobFilter, JobState } from '@duly/core/internal';
import { hour, second, t0 } from './builders.ts';
import { actOn, cancel, create, createRunning, finish, only, reap, statusOf } from './steps.ts';

/** Every action. */
export const actions = ['cancel', 'terminate', 'retry', 'discard', 'delete'] as const;

/** An action. */
export type Action = (typeof actions)[number];

/** After every job of `createOfEachStatus` has its status. */
export const afterwards = t0 + 3 * second;

/** The states of the jobs that match. */
export async function listStates(engine: Engine, filter: JobFilter, now = t0): Promise<JobState[]> {
  const { states } = await engine.list({ now, filter, cursor: null, limit: 100, statesOnly: true });
  assert.ok(states, 'the states are listed');
  return states;
}

/** A job as it is listed now, with all expectations. */
export async function listedTarget(engine: Engine, id: string, now = t0): Promise<ActTarget> {
  return targetOf(only(await listStates(engine, { ids: [id] }, now)));
}

/** A listed job with all expectations. */
export function targetOf({ id, fence, status, updatedAt }: JobState): ActTarget {
  return { id, expectFence: fence, expectStatus: status, expectUpdatedAt: updatedAt };
}

/** Does one action to one job. */
export async function actOnOne(
  engine: Engine,
  action: Action,
  target: ActTarget,
  now = t0,
): Promise<ChangedItem> {
  return only(await actOn(engine, action, [target], now));
}

/** A job of each status; the ids. */
export async function createOfEachStatus(engine: Engine): Promise<Record<JobStatus, string>> {
  const inHistory = async (to: 'COMPLETED' | 'FAILED' | 'RETRYING') => {
    const lease = await createRunning(engine);
    await finish(engine, lease, to, to === 'RETRYING' ? { due: { at: t0 + hour } } : {});
    return lease.id;
  };
  const ended = { COMPLETED: await inHistory('COMPLETED'), FAILED: await inHistory('FAILED') };
  const RETRYING = await inHistory('RETRYING');
  const { id: RUNNING } = await createRunning(engine);
  const { id: CANCELLED } = await create(engine);
  await cancel(engine, { id: CANCELLED });
  const { id: EXPIRED } = await create(engine, { startDeadlineMs: second });
  await reap(engine, t0 + 2 * second);
  const { id: SCHEDULED } = await create(engine, { due: { at: t0 + hour } });
  const { id: BLOCKED } = await create(engine, { gates: [{ kind: 'parent', ref: SCHEDULED }] });
  const { id: PENDING } = await create(engine);
  const ids = { SCHEDULED, PENDING, BLOCKED, RUNNING, RETRYING, ...ended, CANCELLED, EXPIRED };
  for (const status of jobStatuses) assert.equal(await statusOf(engine, ids[status], afterwards), status);
  return ids;
}
