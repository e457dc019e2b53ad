// One-item forms of the verbs, so that a test says what it means in one line.
import assert from 'node:assert/strict';
import type {
  ActInput,
  ActTarget,
  AppliedSchedule,
  AuditRow,
  Change,
  ChangedItem,
  ClaimedJob,
  ClaimedSchedule,
  ClaimRequest,
  Due,
  Engine,
  EnqueuedItem,
  ExchangeReply,
  GroupReply,
  HeartbeatState,
  JobRecord,
  JobSpec,
  JobTarget,
  PauseValue,
  RetryTarget,
  ScheduleChange,
  ScheduleRecord,
  Settlement,
} from '@duly/core/internal';
import { claimRequest, jobSpec, scheduleClaim, second, settlement, t0 } from './builders.ts';

/** The items of a group that must have been accepted. */
export function accepted<Item>(reply: GroupReply<Item> | undefined): Item[] {
  assert.ok(reply, 'there is an answer for every group');
  assert.ok(reply.ok, `the group is accepted: ${JSON.stringify(reply)}`);
  return reply.items;
}

/** The only item of a list. */
export function only<Item>(items: readonly Item[]): Item {
  assert.equal(items.length, 1, `exactly one item: ${JSON.stringify(items)}`);
  return items[0] as Item;
}

/** The item at an index that must be there. */
export function itemAt<Item>(items: readonly Item[], index: number): Item {
  assert.ok(index < items.length, `an item at ${index}: ${JSON.stringify(items)}`);
  return items[index] as Item;
}

/** Makes jobs as one group. */
export async function createAll(engine: Engine, jobs: JobSpec[], now = t0): Promise<EnqueuedItem[]> {
  const reply = await engine.enqueue({ now, groups: [{ jobs }] });
  return accepted(only(reply.groups));
}

/** Makes one job. */
export async function create(engine: Engine, fields: Partial<JobSpec> = {}, now = t0): Promise<EnqueuedItem> {
  return only(await createAll(engine, [jobSpec(fields)], now));
}

/** Reads a job that must be there. */
export async function read(engine: Engine, id: string, now = t0): Promise<JobRecord> {
  const record = only((await engine.get({ now, ids: [id] })).jobs);
  assert.ok(record, `job "${id}" is there`);
  return record;
}

/** The shut gates of a job, as "kind ref". */
export function gatesOf(job: JobRecord): string[] {
  return job.gates.map(({ kind, ref }) => `${kind} ${ref}`);
}

/** Reads the status of a job that must be there. */
export async function statusOf(engine: Engine, id: string, now = t0): Promise<JobRecord['status']> {
  return (await read(engine, id, now)).status;
}

/** Claims, settling nothing. */
export async function claim(
  engine: Engine,
  fields: Partial<ClaimRequest> = {},
  now = t0,
): Promise<ClaimedJob[]> {
  return (await claimReply(engine, fields, now)).claimed;
}

/** Claims, settling nothing, and answers with the whole reply. */
export function claimReply(
  engine: Engine,
  fields: Partial<ClaimRequest> = {},
  now = t0,
): Promise<ExchangeReply> {
  return engine.exchange({ now, settle: [], claim: claimRequest(fields) });
}

/** Claims the one job that is ready. */
export async function claimOne(
  engine: Engine,
  fields: Partial<ClaimRequest> = {},
  now = t0,
): Promise<ClaimedJob> {
  return only(await claim(engine, fields, now));
}

/** Makes a job and claims it; nothing else may be ready. */
export async function createRunning(
  engine: Engine,
  fields: Partial<JobSpec> = {},
  now = t0,
  claimFields: Partial<ClaimRequest> = {},
): Promise<ClaimedJob> {
  const { id } = await create(engine, { due: { at: now }, ...fields }, now);
  const lease = await claimOne(
    engine,
    { tasks: [{ type: fields.type ?? 'work', version: fields.version ?? 1, limit: 1 }], ...claimFields },
    now,
  );
  assert.equal(lease.id, id, 'the job just created is the one claimed');
  return lease;
}

/** Hands in one settlement. */
export async function settle(engine: Engine, one: Settlement, now = t0): Promise<'done' | 'lost'> {
  return only((await engine.exchange({ now, settle: [one], claim: null })).settled);
}

/** Settles a lease that must still hold. */
export async function finish(
  engine: Engine,
  lease: { id: string; fence: number },
  to: Settlement['to'],
  fields: Partial<Settlement> = {},
  now = t0,
): Promise<void> {
  assert.equal(await settle(engine, settlement(lease, to, fields), now), 'done');
}

/** Makes a job and brings it to FAILED. */
export async function createFailed(
  engine: Engine,
  fields: Partial<JobSpec> = {},
  now = t0,
): Promise<ClaimedJob> {
  const lease = await createRunning(engine, fields, now);
  await finish(engine, lease, 'FAILED', {}, now);
  return lease;
}

/** Sends a heartbeat for one lease. */
export async function heartbeat(
  engine: Engine,
  lease: { id: string; fence: number },
  now = t0,
  { begun = false, leaseMs = 30 * second }: { begun?: boolean; leaseMs?: number } = {},
): Promise<HeartbeatState> {
  const leases = [{ id: lease.id, fence: lease.fence, begun }];
  return only((await engine.heartbeat({ now, node: 'node-a', leaseMs, leases })).leases);
}

/** Takes over the leases that are over. */
export async function reap(engine: Engine, now: number, leaseMs = 30 * second): Promise<ClaimedJob[]> {
  return (await engine.reap({ now, node: 'reaper', leaseMs, limit: 100 })).jobs;
}

/** Cancels one job. */
export async function cancel(
  engine: Engine,
  target: JobTarget,
  now = t0,
  mode: 'ask' | 'terminate' = 'ask',
): Promise<ChangedItem> {
  const groups = [{ actor: 'key:anna', note: 'no longer wanted', targets: [target], mode }];
  return only(accepted(only((await engine.cancel({ now, groups })).groups)));
}

/** Moves one job. */
export async function reschedule(
  engine: Engine,
  target: JobTarget,
  due: Due,
  now = t0,
): Promise<ChangedItem> {
  const groups = [{ actor: 'key:anna', targets: [target], due }];
  return only(accepted(only((await engine.reschedule({ now, groups })).groups)));
}

/** Brings one job back. */
export async function retry(
  engine: Engine,
  id: string,
  now = t0,
  expectations: Omit<RetryTarget, 'id'> = {},
): Promise<ChangedItem> {
  const groups = [{ actor: 'key:anna', note: 'fixed upstream', targets: [{ id, ...expectations }] }];
  return only(accepted(only((await engine.retry({ now, groups })).groups)));
}

/** Does one action to jobs, as one group. */
export async function actOn(
  engine: Engine,
  action: ActInput['groups'][number]['action'],
  targets: ActTarget[],
  now = t0,
): Promise<ChangedItem[]> {
  const groups = [{ actor: 'key:anna', note: 'clearing up', action, targets }];
  return accepted(only((await engine.act({ now, groups })).groups));
}

/** Deletes jobs by id, wherever they are. */
export async function deleteJobs(engine: Engine, ids: string[], now = t0): Promise<void> {
  const targets = ids.map((id) => ({ id }));
  const items = await actOn(engine, 'delete', targets, now);
  assert.ok(
    items.every(({ result }) => result === 'changed'),
    'every job is deleted',
  );
}

/** Pauses `all`, `queue:<name>` or `type:<type>`. */
export async function pause(
  engine: Engine,
  key: string,
  untilAt: number | null = null,
  now = t0,
): Promise<void> {
  const value: PauseValue = { untilAt, by: 'key:anna', note: 'maintenance', at: now };
  const ops = [{ op: 'put' as const, kind: 'pause', key, value: JSON.stringify(value) }];
  accepted(only((await engine.records({ now, groups: [{ actor: 'key:anna', ops }] })).groups));
}

/** Ends a pause. */
export async function resume(engine: Engine, key: string, now = t0): Promise<void> {
  const ops = [{ op: 'delete' as const, kind: 'pause', key }];
  accepted(only((await engine.records({ now, groups: [{ actor: 'key:anna', ops }] })).groups));
}

/** The audit rows of one subject, newest first. */
export async function auditOf(engine: Engine, subject: string): Promise<AuditRow[]> {
  return (await engine.audit({ now: t0, subject, before: null, limit: 100 })).rows;
}

/** The position of the feed now. */
export async function feedPosition(engine: Engine, now = t0): Promise<number> {
  return (await engine.changes({ now, after: null, limit: 1 })).position;
}

/** Every change after a position, read in pages. */
export async function feedAfter(
  engine: Engine,
  after: number,
  { now = t0, page = 100 }: { now?: number; page?: number } = {},
): Promise<Change[]> {
  const all: Change[] = [];
  for (let position = after; ; ) {
    const reply = await engine.changes({ now, after: position, limit: page });
    assert.equal(reply.gap, false, 'nothing after this position was pruned');
    if (reply.changes.length === 0) return all;
    all.push(...reply.changes);
    assert.ok(reply.position > position, 'a page with changes moves the position');
    position = reply.position;
  }
}

/** Applies changes to schedules as one group that must be accepted. */
export async function applySchedules(
  engine: Engine,
  changes: ScheduleChange[],
  now = t0,
): Promise<AppliedSchedule[]> {
  const reply = await engine.applySchedules({ now, groups: [{ actor: 'key:anna', changes }] });
  return accepted(only(reply.groups));
}

/** Claims one schedule by id, due or not. */
export async function claimSchedule(engine: Engine, id: string, now = t0): Promise<ClaimedSchedule> {
  return only((await engine.claimSchedules(scheduleClaim({ now, ids: [id] }))).schedules);
}

/** Reads a schedule, or null. */
export async function readSchedule(engine: Engine, id: string, now = t0): Promise<ScheduleRecord | null> {
  const { schedules } = await engine.schedules({ now, filter: { ids: [id] }, cursor: null, limit: 2 });
  return schedules[0] ?? null;
}

/**
 * Waits for a notification by asking the engine again and again: no time is slept away, and the process stays alive although a notification alone
 * does not keep it so.
 */
export async function until(engine: Engine, condition: () => boolean): Promise<void> {
  for (let asked = 0; asked < 5_000 && !condition(); asked += 1) await engine.get({ now: t0, ids: [] });
  assert.ok(condition(), 'the notification arrives');
}
