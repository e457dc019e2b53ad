import type {
  AcquireInput,
  ClaimRequest,
  ClaimSchedulesInput,
  Dedupe,
  FireGroup,
  JobError,
  JobPolicy,
  JobSlot,
  JobSpec,
  NodeInfo,
  ScheduleChange,
  Settlement,
  SettleReason,
  SlotRow,
} from '@duly/core/internal';

/** The instant at which every test begins. Far from the machine's clock, so that a verb that reads it is caught. */
export const t0 = Date.UTC(2027, 0, 15, 10);

/** One second, minute, hour and day in milliseconds. */
export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

let created = 0;

/** An id that no other call of this process gave, in order of making. */
export function freshId(prefix = 'job'): string {
  created += 1;
  return `${prefix}_${String(created).padStart(26, '0')}`;
}

/** A policy as `task()` would resolve it, with room for what a test cares about. */
export function jobPolicy(fields: Partial<JobPolicy> = {}): JobPolicy {
  return {
    maxAttempts: 3,
    retry: { backoff: 'fixed', delayMs: second },
    timeoutMs: hour,
    graceMs: 30 * second,
    delivery: 'at-least-once',
    retentionMs: 7 * day,
    deadRetentionMs: 90 * day,
    ...fields,
  };
}

/** A plain job of type `work`, due at `t0`. */
export function jobSpec(fields: Partial<JobSpec> = {}): JobSpec {
  return {
    id: freshId(),
    type: 'work',
    version: 1,
    queue: 'default',
    tenant: null,
    priority: 0,
    rankOffsetMs: 0,
    due: { at: t0 },
    input: '{"n":1}',
    metadata: null,
    policy: jobPolicy(),
    startDeadlineMs: null,
    dedupe: null,
    serial: null,
    gates: [],
    parent: null,
    origin: 'event',
    slot: null,
    // {{job.passive | %field: null,}}
    copyOf: null,
    // {{/job}}
    ...fields,
  };
}

/** A dedupe rule that drops and holds its key until the job is terminal. */
export function dedupe(key: string, fields: Partial<Dedupe> = {}): Dedupe {
  return { key, forMs: null, mode: 'drop', maxWaitMs: null, ...fields };
}

/** A claim by an idle worker of `work` jobs, with a token of its own. */
export function claimRequest(fields: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    token: freshId('claim'),
    node: 'node-a',
    tasks: [{ type: 'work', version: 1, limit: 100 }],
    queues: null,
    limit: 100,
    leaseMs: 30 * second,
    idle: true,
    ...fields,
  };
}

/** An error as a handler throws it. */
export function jobError(message = 'It broke.'): JobError {
  return { name: 'Error', message };
}

const usualReason: Record<Settlement['to'], SettleReason> = {
  COMPLETED: 'returned',
  FAILED: 'threw',
  RETRYING: 'threw',
  SCHEDULED: 'snoozed',
  PENDING: 'released',
  CANCELLED: 'cancelled',
};

/**
 * The usual settlement to a status: COMPLETED returned, FAILED and RETRYING (in one second) threw, SCHEDULED
 * snoozed for a second, PENDING released before its handler was entered, CANCELLED obeyed the signal.
 */
export function settlement(
  lease: { id: string; fence: number },
  to: Settlement['to'],
  fields: Partial<Settlement> = {},
): Settlement {
  const failed = to === 'FAILED' || to === 'RETRYING';
  return {
    id: lease.id,
    fence: lease.fence,
    to,
    reason: usualReason[to],
    spends: failed || to === 'COMPLETED',
    started: to !== 'PENDING',
    loss: 'none',
    due: to === 'RETRYING' || to === 'SCHEDULED' ? { inMs: second } : null,
    result: to === 'COMPLETED' ? '{"ok":true}' : null,
    error: failed ? jobError() : null,
    report: null,
    ...fields,
  };
}

/** What a reaper hands in for a lost lease with attempts left: nothing spent, due at once. */
export function lostSettlement(
  lease: { id: string; fence: number },
  loss: 'unproven' | 'begun',
  fields: Partial<Settlement> = {},
): Settlement {
  return settlement(lease, 'RETRYING', {
    reason: 'lost',
    spends: false,
    started: loss === 'begun',
    loss,
    solo: 1,
    due: { inMs: 0 },
    error: null,
    ...fields,
  });
}

type SchedulePut = Extract<ScheduleChange, { op: 'put' }>;

/** A dynamic schedule that is to be made, due at `t0`. */
export function schedulePut(fields: Partial<SchedulePut> = {}): SchedulePut {
  const id = fields.id ?? freshId('sch');
  return {
    op: 'put',
    id,
    app: null,
    tenant: null,
    name: `every ${id}`,
    expectVersion: null,
    spec: '{"rule":"nightly"}',
    state: '{"cursor":0}',
    dueAt: t0,
    waitsFor: null,
    action: 'create',
    slots: [],
    jobs: [],
    ...fields,
  };
}

/** A claim of due schedules. */
export function scheduleClaim(fields: Partial<ClaimSchedulesInput> = {}): ClaimSchedulesInput {
  return {
    now: t0,
    node: 'node-a',
    token: freshId('claim'),
    limit: 100,
    leaseMs: 3 * second,
    ids: null,
    ...fields,
  };
}

/** A ledger row of one fired slot. */
export function slotRow(at: number, fields: Partial<SlotRow> = {}): SlotRow {
  return {
    fromAt: at,
    toAt: at,
    count: 1,
    decision: 'fired',
    reason: null,
    node: 'node-a',
    jobId: null,
    ...fields,
  };
}

/** The mark of a schedule on a job. */
export function jobSlot(scheduleId: string, slotAt: number | null, fields: Partial<JobSlot> = {}): JobSlot {
  return {
    scheduleId,
    scheduleName: `every ${scheduleId}`,
    generation: 1,
    slotAt,
    fireId: `${scheduleId}/1/${slotAt ?? 'trigger'}`,
    details: null,
    ...fields,
  };
}

/** A job that a schedule made for one slot. */
export function slotJob(scheduleId: string, slotAt: number, fields: Partial<JobSpec> = {}): JobSpec {
  return jobSpec({
    origin: 'schedule',
    slot: jobSlot(scheduleId, slotAt),
    due: { at: slotAt },
    ...fields,
  });
}

/** Decisions for a claimed schedule that fire nothing and put it off by an hour. */
export function fireGroup(
  claimed: { id: string; version: number; fence: number },
  fields: Partial<FireGroup> = {},
): FireGroup {
  return {
    scheduleId: claimed.id,
    version: claimed.version,
    fence: claimed.fence,
    state: '{"cursor":1}',
    dueAt: t0 + hour,
    waitsFor: null,
    slots: [],
    jobs: [],
    cancel: [],
    ...fields,
  };
}

/** A request for a lock by a holder with a token of its own. */
export function lockRequest(name: string, fields: Partial<AcquireInput> = {}): AcquireInput {
  return {
    now: t0,
    name,
    token: freshId('lock'),
    holder: { host: 'host-a', pid: 1, node: 'node-a' },
    ttlMs: minute,
    ...fields,
  };
}

/** What a node says of itself. */
export function nodeInfo(id: string, fields: Partial<NodeInfo> = {}): NodeInfo {
  return {
    id,
    app: 'studio',
    release: null,
    declares: [],
    host: 'host-a',
    pid: 1,
    roles: ['worker'],
    tasks: [{ type: 'work', version: 1 }],
    queues: null,
    concurrency: 10,
    running: 0,
    notReady: null,
    startedAt: t0,
    ...fields,
  };
}
