/** Why a job is where it is. Pure: facts in, answer out; `duly.why` gathers the facts. */

import type { GateKind, JobError } from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';
import type { Answer, WhyFacts } from './job-why-facts.ts';
import { cancelled, completed, expired, failed, running } from './job-why-started.ts';
import { blocked, pending, retrying, scheduled } from './job-why-waiting.ts';
import { lastAttempt } from './job-why-words.ts';
import type { Pause } from './pauses.ts';

/** Why no worker has taken a job that is due. */
export type WorkerProblem =
  | 'no-node'
  | 'unhandled-type'
  | 'older-version'
  | 'other-queues'
  | 'not-ready'
  | 'busy'
  | 'must-run-alone'
  | 'none';

/** What a job waits for, in a form for programs. */
export type WaitingFor =
  | { kind: 'time'; until: Date }
  | { kind: 'retry'; until: Date }
  | {
      kind: 'pause';
      scope: Pause['scope'];
      name: string | null;
      by: string;
      note: string | null;
      since: Date;
      until: Date | null;
    }
  | { kind: 'gate'; gate: GateKind; ref: string; jobId: string | null }
  | { kind: 'worker'; problem: WorkerProblem; nodes: string[] };

/** The answer to "why": a sentence for people, the rest for programs. */
export interface Why {
  id: string;
  type: string;
  status: JobStatus;
  /** What became of the job, or what it waits for and when it should start; one or more full sentences. */
  sentence: string;
  /** The first thing in its way; null when it runs or is over. */
  waitingFor: WaitingFor | null;
  /** Everything in its way, the first one first. */
  waitingForAll: WaitingFor[];
  /** When it should start by what is known now; null when that cannot be said, when it runs or is over. */
  expectedStartAt: Date | null;
  /** Attempts spent, and the one that runs. */
  attempts: number;
  maxAttempts: number;
  /** Where it runs or ran last. */
  node: string | null;
  leaseUntilAt: Date | null;
  timeoutMs: number | null;
  error: JobError | null;
  /** The store's instant of this answer. */
  asOf: Date;
}

/** Says why a job is where it is. Every status and every reason has its sentence. */
export function explainJob(facts: WhyFacts): Why {
  const { job, now } = facts;
  const answer = answerFor(facts);
  return {
    id: job.id,
    type: job.type,
    status: job.status,
    sentence: answer.sentences.join(' '),
    waitingFor: answer.waitingFor[0] ?? null,
    waitingForAll: answer.waitingFor,
    expectedStartAt: answer.expectedStartAt === null ? null : new Date(answer.expectedStartAt),
    attempts: job.status === 'RUNNING' ? job.spent + 1 : job.spent,
    maxAttempts: job.maxAttempts,
    node: job.node ?? lastAttempt(job)?.node ?? null,
    leaseUntilAt: job.leaseUntilAt === null ? null : new Date(job.leaseUntilAt),
    timeoutMs: job.policy.timeoutMs,
    error: job.error,
    asOf: new Date(now),
  };
}

function answerFor(facts: WhyFacts): Answer {
  switch (facts.job.status) {
    case 'SCHEDULED':
      return scheduled(facts);
    case 'PENDING':
      return pending(facts);
    case 'BLOCKED':
      return blocked(facts);
    case 'RETRYING':
      return retrying(facts);
    case 'RUNNING':
      return over(running(facts));
    case 'COMPLETED':
      return over(completed(facts));
    case 'FAILED':
      return over(failed(facts));
    case 'CANCELLED':
      return over(cancelled(facts));
    case 'EXPIRED':
      return over(expired(facts));
  }
}

function over(sentences: string[]): Answer {
  return { sentences, waitingFor: [], expectedStartAt: null };
}
