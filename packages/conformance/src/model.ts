// A slow and obvious model of a job's life, written from the semantics and not from any engine. It keeps everything in one list and
// looks at all of it for every question.
import type { JobStatus } from '@duly/core';

/** A job as the model sees it; the fields that are compared with the engine's record. */
export interface ModelJob {
  id: string;
  status: JobStatus;
  dueAt: number;
  rankOffsetMs: number;
  attempt: number;
  spent: number;
  losses: number;
  maxAttempts: number;
  cancelAsked: boolean;
  /** How late after its due instant it may start for the first time. */
  startDeadlineMs: number | null;
  serial: string | null;
  key: string | null;
  /** The lease under which it runs; null otherwise. */
  lease: number | null;
  leaseUntilAt: number;
  retried: boolean;
}

/** How an attempt ends, as far as the model knows. */
export interface ModelEnd {
  to: 'COMPLETED' | 'FAILED' | 'RETRYING' | 'SCHEDULED' | 'PENDING' | 'CANCELLED';
  dueAt: number | null;
  spends: boolean;
  started: boolean;
  lost: boolean;
}

const policyAttempts = 3;
const ended: readonly JobStatus[] = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'];

/** The model: jobs in the order they were made, and what may be done to them. */
export class JobModel {
  readonly jobs: ModelJob[] = [];
  #leases = 0;

  find(id: string): ModelJob {
    return this.jobs.find((job) => job.id === id) as ModelJob;
  }

  /** Makes a job; answers the id of the job that keeps the promise. */
  create(
    spec: Pick<ModelJob, 'id' | 'dueAt' | 'rankOffsetMs' | 'startDeadlineMs' | 'serial' | 'key'>,
    now: number,
  ): string {
    const holder = this.jobs.find((job) => job.key !== null && job.key === spec.key && !isOver(job));
    if (holder !== undefined) return holder.id;
    const job: ModelJob = {
      ...spec,
      status: 'SCHEDULED',
      attempt: 0,
      spent: 0,
      losses: 0,
      maxAttempts: policyAttempts,
      cancelAsked: false,
      lease: null,
      leaseUntilAt: 0,
      retried: false,
    };
    this.jobs.push(job);
    if (job.dueAt <= now) this.#becomeReady(job);
    return job.id;
  }

  /** What a sweep does at an instant; answers the jobs whose leases were taken over, under new leases. */
  sweep(now: number, leaseMs: number): ModelJob[] {
    for (const job of this.jobs) {
      if (job.startDeadlineMs === null || job.attempt > 0 || isOver(job)) continue;
      if (now > job.dueAt + job.startDeadlineMs) this.#end(job, 'EXPIRED', now);
    }
    for (const job of this.#byDue()) {
      if (job.status === 'SCHEDULED' && job.dueAt <= now) this.#becomeReady(job);
    }
    const lost = this.jobs.filter((job) => job.status === 'RUNNING' && job.leaseUntilAt <= now);
    for (const job of lost) this.#lease(job, now + leaseMs);
    return lost;
  }

  /** The jobs a claim could take, in the order in which it takes them. */
  ready(now: number): ModelJob[] {
    const rank = (job: ModelJob) => job.dueAt + job.rankOffsetMs;
    return this.jobs
      .filter((job) => job.status === 'PENDING' || (job.status === 'RETRYING' && job.dueAt <= now))
      .sort((a, b) => rank(a) - rank(b));
  }

  claim(limit: number, now: number, leaseMs: number): ModelJob[] {
    const taken = this.ready(now).slice(0, limit);
    for (const job of taken) {
      job.status = 'RUNNING';
      job.attempt += 1;
      this.#lease(job, now + leaseMs);
    }
    return taken;
  }

  holds(id: string, lease: number): boolean {
    return this.find(id).lease === lease;
  }

  heartbeat(id: string, leaseUntilAt: number): void {
    this.find(id).leaseUntilAt = leaseUntilAt;
  }

  settle(id: string, end: ModelEnd, now: number): void {
    const job = this.find(id);
    if (end.spends) job.spent += 1;
    if (end.lost) job.losses += 1;
    job.lease = null;
    if (job.cancelAsked && end.to !== 'COMPLETED' && end.to !== 'FAILED') {
      this.#end(job, 'CANCELLED', now);
      return;
    }
    if (end.dueAt !== null) job.dueAt = end.dueAt;
    if (end.to === 'PENDING') {
      job.status = 'PENDING';
      if (!end.started) job.attempt -= 1;
    } else if (end.to === 'RETRYING') {
      job.status = 'RETRYING';
    } else if (end.to === 'SCHEDULED') {
      job.status = 'SCHEDULED';
      this.#passPlaceOn(job, now);
    } else {
      this.#end(job, end.to, now);
    }
  }

  cancel(id: string, mode: 'ask' | 'terminate', now: number): string {
    const job = this.find(id);
    if (job.status === 'CANCELLED') return 'unchanged';
    if (isOver(job)) return 'refused';
    if (job.status === 'RUNNING' && mode === 'ask') {
      if (job.cancelAsked) return 'unchanged';
      job.cancelAsked = true;
      return 'asked';
    }
    this.#end(job, 'CANCELLED', now);
    return 'changed';
  }

  reschedule(id: string, dueAt: number, now: number): string {
    const job = this.find(id);
    if (isOver(job) || job.status === 'RUNNING') return 'refused';
    job.dueAt = dueAt;
    if (job.status === 'SCHEDULED' && dueAt <= now) this.#becomeReady(job);
    else if (job.status === 'PENDING' && dueAt > now) {
      job.status = 'SCHEDULED';
      this.#passPlaceOn(job, now);
    }
    return 'changed';
  }

  retry(id: string, now: number): string {
    const job = this.find(id);
    if (job.status === 'COMPLETED') return 'refused';
    if (!isOver(job)) return 'not ended';
    job.maxAttempts += policyAttempts;
    job.cancelAsked = false;
    job.startDeadlineMs = null;
    job.dueAt = now;
    job.retried = true;
    this.#becomeReady(job);
    return 'changed';
  }

  /** The next instant after `afterAt` at which something happens by itself; null: none up to `beforeAt`. */
  nextEventAt(afterAt: number, beforeAt: number): number | null {
    const instants = this.jobs.flatMap((job) => {
      if (isOver(job)) return [];
      if (job.status === 'RUNNING') return [job.leaseUntilAt];
      const deadline =
        job.startDeadlineMs !== null && job.attempt === 0 ? [job.dueAt + job.startDeadlineMs + 1] : [];
      return [job.dueAt, ...deadline];
    });
    const coming = instants.filter((at) => at > afterAt && at <= beforeAt);
    return coming.length === 0 ? null : Math.min(...coming);
  }

  #lease(job: ModelJob, untilAt: number): void {
    this.#leases += 1;
    job.lease = this.#leases;
    job.leaseUntilAt = untilAt;
  }

  #byDue(): ModelJob[] {
    return [...this.jobs].sort((a, b) => a.dueAt - b.dueAt);
  }

  /** Who has the one place of a serial key: the one that is ready, runs, or waits to run again. */
  #placeIsTaken(job: ModelJob): boolean {
    return this.jobs.some(
      (other) =>
        other !== job &&
        other.serial === job.serial &&
        (other.status === 'PENDING' || other.status === 'RUNNING' || other.status === 'RETRYING'),
    );
  }

  #becomeReady(job: ModelJob): void {
    job.status = job.serial !== null && this.#placeIsTaken(job) ? 'BLOCKED' : 'PENDING';
  }

  #end(job: ModelJob, status: JobStatus, now: number): void {
    job.status = status;
    job.lease = null;
    this.#passPlaceOn(job, now);
  }

  #passPlaceOn(job: ModelJob, now: number): void {
    if (job.serial === null || this.#placeIsTaken(job)) return;
    const waiting = this.#byDue().filter((one) => one.status === 'BLOCKED' && one.serial === job.serial);
    for (const one of waiting) {
      if (one.dueAt <= now) {
        one.status = 'PENDING';
        return;
      }
      // Moved to later while it waited: it does not compete for the place until then.
      one.status = 'SCHEDULED';
    }
  }
}

function isOver(job: ModelJob): boolean {
  return ended.includes(job.status);
}
