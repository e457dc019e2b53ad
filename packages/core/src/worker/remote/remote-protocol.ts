// What a worker that is not this library sends, and what it gets.

import type { Duration } from '../../base/duration.ts';
import type { LogLine, Origin } from '../../contract/engine.ts';
import type { JobStatus } from '../../contract/job-status.ts';
import type { RemoteOutcome } from './remote-outcome.ts';

/** Who works: a program in any language that runs jobs by itself. */
export interface RemoteWorker {
  /** A name of its own; two programs at work at the same time must not share it. */
  id: string;
  /** The tasks it handles, and the highest version of each; a version that is left out is 1. */
  tasks: readonly { type: string; version?: number }[];
  /** Only these queues; left out: all. */
  queues?: readonly string[];
  /** How many jobs it runs at the same time, for those who look. Default 1. */
  concurrency?: number;
  /** How many run now. Default 0. A job that must run alone is given only when none does. */
  running?: number;
  /** Where it runs, for those who look. */
  host?: string;
  pid?: number;
}

/** Asks for work. */
export interface RemoteClaim {
  worker: RemoteWorker;
  /** At most so many, 1 to 1,000. Default 1. */
  limit?: number;
  /** Made by the worker for this claim: after an answer that was lost, the same token is given the same jobs. Left out: none. */
  token?: string;
  /** How long to wait for work. Default: not at all. */
  wait?: Duration;
  /** Ends the waiting; what was taken at that moment goes back. */
  signal?: AbortSignal;
}

/** A job under lease, with all that is needed to run it. */
export interface RemoteJob {
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  input: unknown;
  metadata: Record<string, unknown>;
  /** To be given with everything that is said about this attempt. Greater than every fence before for this job. */
  fence: number;
  /** Number of this attempt. */
  attempt: number;
  attempts: number;
  maxAttempts: number;
  createdAt: Date;
  dueAt: Date;
  claimedAt: Date;
  /** How long the attempt may run; null: without end. */
  timeoutMs: number | null;
  origin: Origin;
  schedule: string | null;
  slot: Date | null;
  fireId: string | null;
  parentId: string | null;
  // {{job.passive +claim +json | /** %doc */\n%field: %type;}}
  // {{/job}}
}

/** What a claim was given. */
export interface RemoteClaimed {
  jobs: RemoteJob[];
  /** Somebody asked this worker to take no more work. */
  drain: boolean;
  /** How long a lease lasts, and how often it should be renewed. */
  leaseMs: number;
  heartbeatMs: number;
}

/** Names a lease. */
export interface RemoteLease {
  id: string;
  fence: number;
}

/**
 * What a lease is told: `kept`; `cancel`: somebody asked to cancel the job; `timeout`: it has run too long, and is settled as failed if it
 * does not stop within its grace; `lost`: nothing that is said about this attempt counts any more.
 */
export type RemoteHeartbeat = 'kept' | 'cancel' | 'timeout' | 'lost';

/** What a running attempt shows. */
export interface RemoteReport extends RemoteLease {
  progress?: { percent: number; message?: string; step?: number; of?: number };
  /** `line` numbers the lines of this attempt from 1: one that is sent twice is kept once. */
  logs?: readonly { line: number; level?: LogLine['level']; message: string; at?: Date | number }[];
}

/** How an attempt ended. */
export interface RemoteSettlement extends RemoteReport {
  outcome: RemoteOutcome;
}

/** What became of an outcome: recorded, or the lease was no longer this attempt's and nothing was written. */
export interface RemoteSettled {
  id: string;
  result: 'done' | 'lost';
  /** The status that the job was given; null: lost. */
  status: JobStatus | null;
}
