import type { Gate, JobSpec, JsonText, ScheduleRecord } from '../../contract/engine.ts';
import { rankOffsetMs } from '../../lifecycle/rank.ts';
import type { ScheduleJob } from '../definition/spec.ts';
import type { PlannedRun } from './plan-types.ts';

// One list for all: many jobs in one message carry it once.
const noGates: Gate[] = [];

/**
 * The job spec of a planned run. Everything about the task is stored with the schedule, so a node without the task's code can fire it.
 * `input` replaces the schedule's own.
 */
export function runSpecOf(
  schedule: Pick<ScheduleRecord, 'id' | 'name' | 'generation'>,
  job: ScheduleJob,
  run: PlannedRun,
  input: JsonText = job.input,
): JobSpec {
  return {
    id: run.id,
    type: job.type,
    version: job.version,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    rankOffsetMs: rankOffsetMs(job.priority) + run.rankDelayMs,
    due: { at: run.dueAt },
    input,
    metadata: job.metadata,
    policy: job.policy,
    startDeadlineMs: run.startDeadlineMs,
    dedupe: null,
    serial: job.serial ?? run.line,
    gates: run.gates.length === 0 ? noGates : run.gates.map((ref) => ({ kind: 'overlap', ref })),
    parent: null,
    origin: run.origin,
    slot: {
      scheduleId: schedule.id,
      scheduleName: schedule.name,
      generation: schedule.generation,
      slotAt: run.slotAt,
      fireId: run.fireId,
      details: JSON.stringify(run.details),
      ...(run.allow ? { allow: true } : {}),
    },
    // {{job.passive | %field: job.%field ?? null, | copyOf=copyOf: null,}}
    copyOf: null,
    // {{/job}}
  };
}
