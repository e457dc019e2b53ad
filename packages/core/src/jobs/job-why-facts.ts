// The facts behind an answer to "why" about a job.

import type { Count, CountsReply, Gate, JobRecord, NodesReply } from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';
import type { WaitingFor } from './job-why.ts';
import type { Pause } from './pauses.ts';

/** A node as the store lists it. */
export type ListedNode = NodesReply['nodes'][number];

/** What a shut gate waits for, as far as it could be found. */
export interface Blocker {
  gate: Gate;
  /** The job in the way; null when it could not be found. */
  job: { id: string; type: string; status: JobStatus; startedAt: number | null } | null;
}

/** Everything `explainJob` looks at. */
export interface WhyFacts {
  now: number;
  job: JobRecord;
  /** Pauses in force now, of any scope. */
  pauses: readonly Pause[];
  nodes: readonly ListedNode[];
  /** A node silent for longer than this counts as gone. */
  nodeSilentMs: number;
  blockers: readonly Blocker[];
  /** Ready jobs of its queue and type, itself included; null: not counted. */
  ready: Count | null;
  /** Jobs under lease by node and type, at this instant; what a node says of itself is as old as its last heartbeat. */
  running: CountsReply['running'];
}

/** What an answer says of a job in one status. */
export interface Answer {
  sentences: string[];
  waitingFor: WaitingFor[];
  expectedStartAt: number | null;
}
