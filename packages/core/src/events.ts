import type { Events } from './base/emitter.ts';
import type { DulyError } from './base/errors.ts';
import type {
  ClaimedJob,
  ClaimedSchedule,
  EngineInfo,
  JobError,
  Progress,
  SettleReason,
} from './contract/engine.ts';
import type { JobStatus } from './contract/job-status.ts';
import type { EngineCall } from './store/instrumented-engine.ts';
import type { Worker } from './worker/worker.ts';

/** A job as events name it. */
export interface JobNotice {
  id: string;
  type: string;
  queue: string;
  tenant: string | null;
  /** Number of the attempt. */
  attempt: number;
}

/** A schedule as events name it. */
export interface ScheduleNotice {
  id: string;
  name: string;
  app: string | null;
  tenant: string | null;
}

/** What a Duly tells. Events about jobs go out after the store has recorded what they say. */
export interface DulyEvents {
  /** The store is open. */
  opened: EngineInfo;
  /** A node of this process runs. */
  started: { node: string };
  /** A handler is about to be entered. */
  'job.started': JobNotice;
  /** A handler showed progress. */
  'job.progress': JobNotice & { progress: Progress };
  /** An attempt's outcome is recorded; `status` is the job's new one. */
  'job.settled': JobNotice & {
    status: JobStatus;
    reason: SettleReason;
    error: JobError | null;
    /** What the handler returned; read from JSON only when it is asked for. */
    readonly result: unknown;
  };
  /** An attempt of this node no longer counts: its lease was lost. */
  'job.lost': JobNotice;
  /** A lost lease, of any node, was found and judged here. */
  'job.reaped': JobNotice & { status: JobStatus };
  /** This node decided slots of a schedule, and these jobs were created. */
  'schedule.fired': ScheduleNotice & { jobs: string[] };
  /** `pauseAfterFailures` paused a schedule. */
  'schedule.paused': ScheduleNotice;
  /** `flagAfterFailures` flagged a schedule. */
  'schedule.flagged': ScheduleNotice;
  /** A run of a flagged schedule completed, and the flag is gone. */
  'schedule.recovered': ScheduleNotice;
  /** The pause of a schedule ended by itself. */
  'schedule.resumed': ScheduleNotice;
  /** A schedule will fire no more: its rule, `endAt` or `maxRuns`. */
  'schedule.ended': ScheduleNotice;
  /** This node looked for work and found none, and nothing runs here. */
  idle: { nextDueAt: Date | null };
  /** Somebody asked this node to drain; it takes no more work. */
  draining: { node: string };
  /** Nothing runs here any more and nothing is taken. */
  drained: { node: string };
  /** A call to the store was answered. */
  call: EngineCall;
  /** Something failed that no caller is there to hear of; it is tried again. */
  error: { error: unknown; doing: string };
  /** The store was moved to another address while this node ran on it. The node stops: nothing is done here any more. */
  moved: { error: DulyError; to: string };
  /** The Duly is at its end. */
  stopped: Record<never, never>;
}

/** The notice of a claimed job. */
export function noticeOf({ id, type, queue, tenant, attempt }: ClaimedJob): JobNotice {
  return { id, type, queue, tenant, attempt };
}

/** The notice of a claimed schedule. */
export function scheduleNoticeOf({ id, name, app, tenant }: ClaimedSchedule): ScheduleNotice {
  return { id, name, app, tenant };
}

/** Passes what happens at a worker on to those who listen. */
export function forwardWorker(worker: Worker, events: Events<DulyEvents>): void {
  // An event that nobody hears is not put together: a busy worker has tens of thousands a second.
  worker.events.on('started', ({ job }) => {
    if (events.has('job.started')) events.emit('job.started', noticeOf(job));
  });
  worker.events.on('progress', ({ job, progress }) => {
    if (events.has('job.progress')) events.emit('job.progress', { ...noticeOf(job), progress });
  });
  worker.events.on('settled', ({ job, status, settlement }) => {
    if (!events.has('job.settled')) return;
    const { id, type, queue, tenant, attempt } = job;
    const { reason, error, result } = settlement;
    const notice = { id, type, queue, tenant, attempt, status, reason, error, result: null as unknown };
    if (result === null) events.emit('job.settled', notice);
    else {
      // Read only if somebody asks.
      Object.defineProperty(notice, 'result', { enumerable: true, get: () => JSON.parse(result) });
      events.emit('job.settled', notice);
    }
  });
  worker.events.on('lost', ({ job }) => events.emit('job.lost', noticeOf(job)));
  worker.events.on('idle', ({ nextDueAt }) =>
    events.emit('idle', { nextDueAt: nextDueAt === null ? null : new Date(nextDueAt) }),
  );
  worker.events.on('error', (failure) => events.emit('error', failure));
}
