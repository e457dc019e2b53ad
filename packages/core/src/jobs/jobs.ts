import type { Clock } from '../base/clock.ts';
import { type Duration, parseDuration } from '../base/duration.ts';
import type { Ids } from '../base/ids.ts';
import { type OptionNames, readOptions } from '../base/option-reader.ts';
import type { EnqueuedItem, JobRecord } from '../contract/engine.ts';
import { allowsAction } from '../contract/job-status.ts';
import { groupItems, type StoreSession } from '../store/session.ts';
import { type JobChange, readChange } from './job-change.ts';
import { type JobLogLine, type LogsOptions, readLog } from './job-log.ts';
import { readRecord, readRecordOf } from './job-records.ts';
import {
  type JobReference,
  missing,
  type NewDue,
  readDue,
  readJobId,
  readNote,
  readReference,
} from './job-reference.ts';
import { type Job, toJob } from './job-view.ts';
import { explainJob, type Why } from './job-why.ts';
import { readWhyFacts } from './read-why.ts';
import { copyOf } from './run-again.ts';
import { resultOf } from './stored-error.ts';
import { createFinishWatch, type FinishWatch, waitWithin } from './wait.ts';

/** How to wait for the end of a job. */
export interface WaitOptions {
  /** Gives up after this long with `wait_timeout`; left out, it waits for as long as it takes. */
  timeout?: Duration;
  /** Gives up when aborted, with the signal's reason. */
  signal?: AbortSignal;
}

/** How to cancel. */
export interface CancelOptions {
  /** Why; kept in the audit. */
  note?: string;
  /** Ends a running job at once instead of asking it: it is CANCELLED and its fence is dead, while its handler may still run. */
  terminate?: boolean;
}

const getNames: OptionNames<GetOptions> = { tenant: true };
const waitNames: OptionNames<WaitOptions> = { timeout: true, signal: true };
const cancelNames: OptionNames<CancelOptions> = { note: true, terminate: true };

/** Options of `get()`. */
export interface GetOptions {
  /** Only a job of this tenant; null: only one without a tenant. */
  tenant?: string | null;
}

/** What can be asked of, and done to, single jobs of one store. */
export interface Jobs {
  /** With `tenant`, a job of another tenant is `job_not_found`, and nothing of it is read. */
  get(id: string, options?: GetOptions): Promise<Job>;
  /** The job that holds a key; `job_not_found` if none does. */
  find(reference: JobReference): Promise<Job>;
  wait(id: string, options?: WaitOptions): Promise<Job>;
  result(id: string, options?: WaitOptions): Promise<unknown>;
  cancel(reference: JobReference, options?: CancelOptions): Promise<JobChange>;
  reschedule(reference: JobReference, due: NewDue): Promise<JobChange>;
  retry(id: string, note?: string): Promise<JobChange>;
  /** Creates a new job like this one, due now. */
  runAgain(id: string): Promise<EnqueuedItem>;
  logs(id: string, options?: LogsOptions): Promise<JobLogLine[]>;
  why(id: string): Promise<Why>;
  /** A job was settled here. */
  noticed(id: string): void;
  /** Polls every job that a caller waits for; on virtual time nothing else does. */
  pollWaiters(): Promise<void>;
  close(error: unknown): void;
}

/** Makes them over the session, which open the store when first asked. */
export function createJobs(options: {
  session(): Promise<StoreSession>;
  clock: Clock;
  /** Who asks, at the moment of the call. */
  actor(): string;
  ids: Ids;
  virtual: boolean;
}): Jobs {
  const { clock, actor } = options;
  let watch: FinishWatch | null = null;

  const record = async (id: string) => readRecord(await options.session(), id);

  const jobs: Jobs = {
    async get(id, given) {
      const { tenant } = readOptions(given, 'get()', getNames);
      return toJob(
        tenant === undefined
          ? (await record(id)).job
          : await readRecordOf(await options.session(), id, tenant),
      );
    },

    async find(reference) {
      const target = readReference(reference);
      if ('id' in target) return jobs.get(target.id);
      const session = await options.session();
      const { jobs: found } = await session.engine.holder(target);
      const [job] = found;
      if (job === null || job === undefined) throw missing(target, null);
      return toJob(job);
    },

    async wait(id, given) {
      const { timeout, signal } = readOptions(given, 'wait()', waitNames);
      const timeoutMs = timeout === undefined ? null : parseDuration(timeout, 'timeout');
      const session = await options.session();
      watch ??= createFinishWatch(session, clock, { follows: !options.virtual });
      const job = await waitWithin(clock, { id: readJobId(id), timeoutMs, signal }, watch);
      if (job === null) await record(id);
      return toJob(job as JobRecord);
    },

    async result(id, given) {
      const job = await jobs.wait(id, given);
      return resultOf(job);
    },

    async cancel(reference, given) {
      const target = readReference(reference);
      const { note, terminate = false } = readOptions(given, 'cancel()', cancelNames);
      const session = await options.session();
      const group = await session.cancel.push({
        actor: actor(),
        note: readNote(note),
        targets: [target],
        mode: terminate ? 'terminate' : 'ask',
      });
      const change = await readChange(session, group, target, 'cancelled');
      watch?.noticed(change.id);
      return change;
    },

    async reschedule(reference, due) {
      const target = readReference(reference);
      const session = await options.session();
      const group = await session.reschedule.push({ actor: actor(), targets: [target], due: readDue(due) });
      return readChange(session, group, target, 'rescheduled');
    },

    async retry(id, note) {
      const session = await options.session();
      const { job } = await record(readJobId(id));
      // A repeat after an unknown outcome must not retry it a second time.
      const expected = allowsAction('retry', job) ? { expectFence: job.fence } : {};
      const targets = [{ id, ...expected }];
      const group = await session.retry.push({ actor: actor(), note: readNote(note), targets });
      return readChange(session, group, { id }, 'retried');
    },

    async runAgain(id) {
      const { job } = await record(id);
      const session = await options.session();
      const [item] = groupItems(await session.enqueue.push([copyOf(job, options.ids.jobId())]));
      return item as EnqueuedItem;
    },

    async logs(id, given) {
      const lines = await readLog(options.session, id, given);
      // No lines at all may mean no such job, and then the caller should hear so.
      if (lines.length === 0 && !(given?.after ?? 0)) await record(id);
      return lines;
    },

    async why(id) {
      const session = await options.session();
      const { job, now } = await record(id);
      return explainJob(await readWhyFacts(session, { job, now }, actor()));
    },

    noticed: (id) => watch?.noticed(id),
    async pollWaiters() {
      await watch?.pollAll();
    },
    close: (error) => watch?.close(error),
  };
  return jobs;
}
