import type { Clock } from '../base/clock.ts';
import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError, fromPlainError, toPlainError } from '../base/errors.ts';
import { type Ids, jobIdAt } from '../base/ids.ts';
import { parseInstant } from '../base/instant.ts';
import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  refuseOption,
  shown,
} from '../base/option-reader.ts';
import type {
  ChangedItem,
  CountsReply,
  Due,
  EnqueuedItem,
  GroupReply,
  JobRecord,
  JobSpec,
  JobTarget,
  LogLine,
} from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';
import { nodeSilentMs } from '../contract/timings.ts';
import { rankOffsetMs } from '../lifecycle/rank.ts';
import { groupItems, type StoreSession } from '../store/session.ts';
import { type Job, toJob } from './job-view.ts';
import { explainJob, type Why } from './job-why.ts';
import type { Blocker } from './job-why-facts.ts';
import { createPauses } from './pauses.ts';
import { createFinishWatch, type FinishWatch } from './wait.ts';

/** Names a job: by its id, or by its type and dedupe key. */
export type JobReference = { id: string } | { type: string; key: string; tenant?: string };

/** When to move a job to: an instant, or so long from the store's now. */
export type NewDue = { at: Date | number | string } | { in: Duration };

/** What became of a job that was asked to change. */
export interface JobChange {
  id: string;
  /** `asked`: it runs, and will be told. `unchanged`: it was so already. */
  result: 'changed' | 'asked' | 'unchanged';
  status: JobStatus;
  dueAt: Date | null;
}

/** A line that a handler logged. */
export interface JobLogLine {
  n: number;
  attempt: number;
  at: Date;
  level: LogLine['level'];
  message: string;
}

/** Which lines of a job's log. */
export interface LogsOptions {
  /** Only lines after this number: `n` of the last one that is known. Left out: all that are kept. */
  after?: number;
  /** At most so many; left out: all. */
  limit?: number;
}

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
const logsNames: OptionNames<LogsOptions> = { after: true, limit: true };
const cancelNames: OptionNames<CancelOptions> = { note: true, terminate: true };
/** Counting stops here and says so; a dashboard needs no more, and the store does not count millions. */
export const countCap = 10_000;
const logPageSize = 1_000;

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

  async function record(id: string): Promise<{ job: JobRecord; now: number }> {
    const session = await options.session();
    const { job, now, prunedCreatedAt } = await session.get.push(readJobId(id));
    if (job === null) throw missing({ id }, prunedCreatedAt);
    return { job, now };
  }

  /** The job of this tenant. The store filters: another tenant's job costs as much as an unknown id. */
  async function recordOf(id: string, tenant: string | null): Promise<JobRecord> {
    const { engine } = await options.session();
    const filter = { ids: [readJobId(id)], tenant: tenant === null ? null : readName(tenant, 'tenant') };
    let cursor: string | null = null;
    do {
      const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
        filter,
        cursor,
        limit: 1,
      });
      const [job] = page.jobs;
      if (job !== undefined) return job;
      cursor = page.nextCursor;
    } while (cursor !== null);
    const { prunedCreatedAt } = await engine.get({ ids: [] });
    throw missing({ id }, prunedCreatedAt);
  }

  async function changed(
    group: GroupReply<ChangedItem>,
    target: JobTarget,
    action: string,
  ): Promise<JobChange> {
    const [item] = groupItems(group);
    if (item === undefined) throw dulyError('internal', { message: 'The store answered without an item.' });
    if (item.result === 'missing' || item.id === null) {
      // Asked once more by its id, for the store's instant: whether it is past its retention is not for our clock to say.
      if ('id' in target) await record(target.id);
      throw missing(target, null);
    }
    if (item.result === 'refused') {
      throw dulyError('job_not_changeable', {
        message: `Job "${item.id}" is ${item.status}, which cannot be ${action}.`,
        hint: hints[action],
        details: { id: item.id, status: item.status, action },
      });
    }
    return {
      id: item.id,
      result: item.result,
      status: item.status as JobStatus,
      dueAt: item.dueAt === null ? null : new Date(item.dueAt),
    };
  }

  const jobs: Jobs = {
    async get(id, given) {
      const { tenant } = readOptions(given, 'get()', getNames);
      return toJob(tenant === undefined ? (await record(id)).job : await recordOf(id, tenant));
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
      const late = new AbortController();
      const timer =
        timeoutMs === null
          ? null
          : clock.after(timeoutMs, () =>
              late.abort(
                dulyError('wait_timeout', {
                  message: `Job "${id}" was not over within ${timeoutMs} ms.`,
                  hint: 'The job goes on. Ask why(), or wait again.',
                  details: { id, timeoutMs },
                }),
              ),
            );
      try {
        const both = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
        const job = await watch.wait(readJobId(id), both);
        if (job === null) await record(id);
        return toJob(job as JobRecord);
      } finally {
        timer?.cancel();
      }
    },

    async result(id, given) {
      const job = await jobs.wait(id, given);
      if (job.status === 'COMPLETED') return job.result;
      const cause = job.error === null ? undefined : fromJobError(job.error);
      throw dulyError('job_failed', {
        message: `Job "${id}" (type "${job.type}") has no result: it is ${job.status}${job.error === null ? '' : ` with "${briefOf(job.error)}"`}.`,
        hint: 'Ask why() for the whole story.',
        details: { id, status: job.status, reason: job.reason },
        cause,
      });
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
      const change = await changed(group, target, 'cancelled');
      watch?.noticed(change.id);
      return change;
    },

    async reschedule(reference, due) {
      const target = readReference(reference);
      const session = await options.session();
      const group = await session.reschedule.push({ actor: actor(), targets: [target], due: readDue(due) });
      return changed(group, target, 'rescheduled');
    },

    async retry(id, note) {
      const session = await options.session();
      const group = await session.retry.push({ actor: actor(), note: readNote(note), ids: [readJobId(id)] });
      return changed(group, { id }, 'retried');
    },

    async runAgain(id) {
      const { job } = await record(id);
      const session = await options.session();
      const [item] = groupItems(await session.enqueue.push([copyOf(job, options.ids.jobId())]));
      return item as EnqueuedItem;
    },

    async logs(id, given) {
      const { after: from = 0, limit } = readOptions(given, 'logs()', logsNames);
      const wanted =
        limit === undefined ? Number.POSITIVE_INFINITY : readWholeNumber(limit, 'limit', 1, 1_000_000);
      let after = readWholeNumber(from, 'after', 0, Number.MAX_SAFE_INTEGER);
      const session = await options.session();
      const lines: JobLogLine[] = [];
      for (;;) {
        const size = Math.min(logPageSize, wanted - lines.length);
        const page = await session.engine.logs({ id: readJobId(id), after, limit: size });
        lines.push(
          ...page.lines.map(({ n, attempt, at, level, message }) => ({
            n,
            attempt,
            at: new Date(at),
            level,
            message,
          })),
        );
        const last = page.lines.at(-1);
        if (last === undefined || page.lines.length < size || lines.length >= wanted) break;
        after = last.n;
      }
      // No lines at all may mean no such job, and then the caller should hear so.
      if (lines.length === 0 && from === 0) await record(id);
      return lines;
    },

    async why(id) {
      const session = await options.session();
      const { job, now } = await record(id);
      const waits = job.status === 'PENDING' || job.status === 'RETRYING' || job.status === 'SCHEDULED';
      const [pauses, nodes, blockers, counts] = await Promise.all([
        waits || job.status === 'BLOCKED' ? createPauses(session.engine, actor()).list() : [],
        waits
          ? session.engine
              .nodes({ heartbeat: null, leave: null, drain: null, forgetAfterMs: nodeSilentMs })
              .then((reply) => reply.nodes)
          : [],
        job.status === 'BLOCKED' ? blockersOf(session, job) : [],
        waits ? session.engine.counts({ cap: countCap }) : null,
      ]);
      const ready = counts === null || job.status !== 'PENDING' ? null : readyCount(counts, job);
      const running = counts?.running ?? [];
      return explainJob({ now, job, pauses, nodes, nodeSilentMs, blockers, ready, running });
    },

    noticed: (id) => watch?.noticed(id),
    async pollWaiters() {
      await watch?.pollAll();
    },
    close: (error) => watch?.close(error),
  };
  return jobs;
}

const hints: Record<string, string> = {
  cancelled: 'Only a job that is not over can be cancelled.',
  rescheduled: 'Only a job that waits can be moved: SCHEDULED, PENDING, BLOCKED or RETRYING.',
  retried: 'Only a FAILED, CANCELLED or EXPIRED job can be retried.',
};

/** The same promise once more, as a job of its own, due now: it shares no key and no parent with the first. */
function copyOf(job: JobRecord, id: string): JobSpec {
  return {
    // {{job.caller | %field: job.%field, | id=id, | origin=origin: 'event', | copyOf=copyOf: job.id,
    //   | rankOffsetMs=rankOffsetMs: rankOffsetMs(job.priority),}}
    id,
    type: job.type,
    version: job.version,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    input: job.input,
    metadata: job.metadata,
    policy: job.policy,
    origin: 'event',
    rankOffsetMs: rankOffsetMs(job.priority),
    serial: job.serial,
    copyOf: job.id,
    // {{/job}}
    due: { inMs: 0 },
    startDeadlineMs: startDeadlineOf(job),
    dedupe: null,
    gates: [],
    parent: null,
    slot: null,
  };
}

/** How late the job was allowed to start. Retries move its due instant, but not the one from which its deadline was counted. */
function startDeadlineOf({ expireAt, startedAt, latenessMs, dueAt }: JobRecord): number | null {
  if (expireAt === null) return null;
  const firstDueAt = startedAt === null || latenessMs === null ? dueAt : startedAt - latenessMs;
  return Math.max(0, expireAt - firstDueAt);
}

async function blockersOf(session: StoreSession, job: JobRecord): Promise<Blocker[]> {
  return Promise.all(
    job.gates.map(async (gate): Promise<Blocker> => {
      const found =
        gate.kind === 'serial' ? await serialHolder(session, job) : await gateJob(session, gate.ref);
      return { gate, job: found };
    }),
  );
}

async function gateJob(session: StoreSession, id: string): Promise<Blocker['job']> {
  return (await session.get.push(id)).job;
}

async function serialHolder(session: StoreSession, job: JobRecord): Promise<Blocker['job']> {
  if (job.serial === null) return null;
  const { jobs } = await session.engine.list({
    filter: { serial: job.serial, tenant: job.tenant, status: ['RUNNING', 'PENDING', 'RETRYING'] },
    cursor: null,
    limit: 10,
  });
  const others = jobs.filter((one) => one.id !== job.id);
  return others.find((one) => one.status === 'RUNNING') ?? others[0] ?? null;
}

function readyCount({ lanes }: CountsReply, job: JobRecord) {
  const matching = lanes.filter((lane) => lane.queue === job.queue && lane.type === job.type);
  if (matching.length === 0) return null;
  return {
    count: matching.reduce((sum, lane) => sum + lane.ready.count, 0),
    capped: matching.some((lane) => lane.ready.capped),
  };
}

/** Reads an id: any text, because only the store knows whether it exists. */
export function readJobId(id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw dulyError('invalid_option', {
      message: `Expected a job's id, got ${shown(id)}.`,
      hint: 'A job id is a text like "job_01k9…".',
    });
  }
  return id;
}

/** Reads when a job is to be due. */
export function readDue(due: NewDue): Due {
  const fields = typeof due === 'object' && due !== null ? Object.keys(due) : [];
  if (fields.length !== 1 || (fields[0] !== 'at' && fields[0] !== 'in')) {
    return refuseOption('due', due, 'to be { at: instant } or { in: duration }');
  }
  return 'at' in due ? { at: parseInstant(due.at, 'at') } : { inMs: parseDuration(due.in, 'in') };
}

function readReference(reference: JobReference): JobTarget {
  const fields =
    typeof reference === 'object' && reference !== null ? Object.keys(reference).sort().join() : '';
  if (fields === 'id') return { id: readJobId((reference as { id: string }).id) };
  if (fields === 'key,type' || fields === 'key,tenant,type') {
    const { type, key, tenant } = reference as { type: string; key: string; tenant?: string | null };
    return {
      type: readName(type, 'type'),
      key: readName(key, 'key'),
      tenant: tenant === undefined || tenant === null ? null : readName(tenant, 'tenant'),
    };
  }
  return refuseOption('job', reference, 'to be { id } or { type, key, tenant? }');
}

function keyText(target: JobTarget): string {
  if ('id' in target) return target.id;
  return `key "${target.key}" of type "${target.type}"${target.tenant === null ? '' : ` and tenant "${target.tenant}"`}`;
}

/** Reads the note of an action. */
export function readNote(note: unknown): string | null {
  if (note === undefined || note === null) return null;
  if (typeof note !== 'string' || note.length > 1_000) {
    refuseOption('note', note, 'to be a text of at most 1000 characters');
  }
  return note;
}

/** The error for an id that is not there: past its retention, as its time tells, or never seen. */
function missing(target: JobTarget, prunedCreatedAt: number | null) {
  const asked = keyText(target);
  const createdAt = jobIdAt(asked);
  // Made before a job that is gone by now, so it is gone as well, if it ever was: the id itself does not tell.
  if (createdAt !== null && prunedCreatedAt !== null && createdAt <= prunedCreatedAt) {
    return dulyError('job_pruned', {
      message: `Job "${asked}" was created at ${new Date(createdAt).toISOString()} and has been deleted after its retention.`,
      hint: 'Finished jobs are stored for their retention (7 days unless the task says otherwise).',
      details: { id: asked, createdAt },
    });
  }
  const isKey = 'key' in target;
  return dulyError('job_not_found', {
    message: isKey
      ? `No job holds the ${asked.slice(0, 1_000)}.`
      : `No job has the id "${asked.slice(0, 250)}".`,
    hint: isKey
      ? 'A key is held until its job is over, unless "for" was given. Check the key, the type, the tenant and the store.'
      : `Check the id and the store.${asked.startsWith('job_') ? '' : ' A job\'s id begins with "job_".'}`,
    details: { id: asked.slice(0, 250) },
  });
}

function fromJobError(error: NonNullable<JobRecord['error']>): Error {
  const cause = error.cause === undefined ? undefined : fromJobError(error.cause);
  const plain = toPlainError(new Error(error.message));
  return fromPlainError({
    ...plain,
    name: error.name,
    code: error.code ?? null,
    stack: error.stack ?? null,
    cause: cause === undefined ? null : toPlainError(cause),
  });
}

/** The first line of an error, for the message of another. */
function briefOf({ name, message }: NonNullable<JobRecord['error']>): string {
  return `${name}: ${message.split('\n', 1)[0]?.slice(0, 200)}`;
}
