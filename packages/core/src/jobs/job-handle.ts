import type { EnqueuedItem, JobSpec } from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';
import type { JobChange } from './job-change.ts';
import type { JobLogLine, LogsOptions } from './job-log.ts';
import type { NewDue } from './job-reference.ts';
import { createdRecord, type Job, toJob } from './job-view.ts';
import type { Why } from './job-why.ts';
import type { CancelOptions, GetOptions, Jobs, WaitOptions } from './jobs.ts';

/** What a call that created a job knows of it. */
interface Created {
  spec: JobSpec;
  item: EnqueuedItem;
  now: number;
}

/** A handle of one job: what `now`, `in` and `at` return, and `duly.job(id)`. */
export class JobHandle<Input = unknown, Result = unknown> {
  readonly #jobs: Jobs;
  /** The job that keeps the promise. */
  readonly id: string;
  /** The call created no new job: another job holds its key, and this is the handle of that job. */
  readonly deduped: boolean;
  readonly #created: Created | null;
  #status: JobStatus | null;
  #dueAt: Date | null;

  /** Created by Duly; use `task.now`, `task.in`, `task.at` or `duly.job(id)`. */
  constructor(
    jobs: Jobs,
    item: Pick<EnqueuedItem, 'id'> & Partial<EnqueuedItem>,
    created: Created | null = null,
  ) {
    this.#jobs = jobs;
    this.#created = created;
    this.id = item.id;
    this.deduped = item.deduped ?? false;
    this.#status = item.status ?? null;
    this.#dueAt = item.dueAt === undefined ? null : new Date(item.dueAt);
  }

  /** The status when it was created or last read through this handle; null: not read yet. */
  get status(): JobStatus | null {
    return this.#status;
  }

  /** When it was due, as of the same moment. */
  get dueAt(): Date | null {
    return this.#dueAt;
  }

  /**
   * The job as it was at the moment this call created it; reads it only where the call does not know all of it: behind a gate, or when another job
   * holds its key. A worker may have taken it since.
   */
  async created(): Promise<Job<Input, Result>> {
    const record =
      this.#created === null
        ? null
        : createdRecord(this.#created.spec, this.#created.item, this.#created.now);
    return record === null ? this.get() : toJob<Input, Result>(record);
  }

  /** Reads the job as it is now. With `tenant`, a job of another tenant is `job_not_found`, and is not read. */
  async get(options?: GetOptions): Promise<Job<Input, Result>> {
    const job = (await this.#jobs.get(this.id, options)) as Job<Input, Result>;
    this.#note(job);
    return job;
  }

  /** Looks again and returns this handle, with `status` and `dueAt` as they are now. */
  async refresh(): Promise<this> {
    await this.get();
    return this;
  }

  /** Waits until the job is over, whatever its end, and returns it. Throws `wait_timeout` after `timeout`. */
  async wait(options?: WaitOptions): Promise<Job<Input, Result>> {
    const job = (await this.#jobs.wait(this.id, options)) as Job<Input, Result>;
    this.#note(job);
    return job;
  }

  /** Waits for the job's result; throws `job_failed` (with the job's error as cause) when it ends without one. */
  async result(options?: WaitOptions): Promise<Result> {
    return (await this.#jobs.result(this.id, options)) as Result;
  }

  /** Cancels it. A running job is asked, and may still complete; see `CancelOptions`. */
  async cancel(options?: CancelOptions | string): Promise<JobChange> {
    return this.#changed(
      await this.#jobs.cancel({ id: this.id }, typeof options === 'string' ? { note: options } : options),
    );
  }

  /** Moves a job that waits to another instant. */
  async reschedule(due: NewDue): Promise<JobChange> {
    return this.#changed(await this.#jobs.reschedule({ id: this.id }, due));
  }

  /** Brings a FAILED, CANCELLED or EXPIRED job back: the same job, with as many attempts more as it had. */
  async retry(note?: string): Promise<JobChange> {
    return this.#changed(await this.#jobs.retry(this.id, note));
  }

  /** Creates a new job like this one, whatever became of it: same task, input and options, due now, `copyOf` this one. */
  async runAgain(): Promise<JobHandle<Input, Result>> {
    return new JobHandle<Input, Result>(this.#jobs, await this.#jobs.runAgain(this.id));
  }

  /** The lines its handler logged, oldest first. */
  logs(options?: LogsOptions): Promise<JobLogLine[]> {
    return this.#jobs.logs(this.id, options);
  }

  /** What became of it, or what it waits for and when it should start. */
  why(): Promise<Why> {
    return this.#jobs.why(this.id);
  }

  #note(job: Pick<Job, 'status' | 'dueAt'>): void {
    this.#status = job.status;
    this.#dueAt = job.dueAt;
  }

  #changed(change: JobChange): JobChange {
    this.#status = change.status;
    if (change.dueAt !== null) this.#dueAt = change.dueAt;
    return change;
  }
}
