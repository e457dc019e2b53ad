import type { Clock } from '../../base/clock.ts';
import { type Duration, parseDuration } from '../../base/duration.ts';
import type { Ids } from '../../base/ids.ts';
import { fromJson } from '../../base/json.ts';
import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  refuseOption,
} from '../../base/option-reader.ts';
import type { Random } from '../../base/random.ts';
import { replyElapsed } from '../../base/reply-elapsed.ts';
import type {
  ClaimedJob,
  ClaimRequest,
  Engine,
  JobRecord,
  LogLine,
  NodeInfo,
  Origin,
  ReportBody,
  Settlement,
} from '../../contract/engine.ts';
import type { JobStatus } from '../../contract/job-status.ts';
import { nodeHeartbeatMs, nodeSilentMs } from '../../contract/timings.ts';
import { builtInPrefix } from '../../jobs/built-in-tasks.ts';
import { settlementOf } from '../../lifecycle/settle.ts';
import { needsBeginning } from '../attempt.ts';
import { timeoutError } from '../attempt-errors.ts';
import { checkedProgress } from '../context.ts';
import { logLinesMax } from '../reporter.ts';
import { claimedOf, type RemoteOutcome, readOutcome } from './remote-outcome.ts';

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

/** The lease protocol for workers that are not this library: what a node does, one step at a time. */
export interface RemoteWorkers {
  /** Takes work, and waits for it if told to. Whoever claims is listed among the nodes until it is silent for 40 s. */
  claim(claim: RemoteClaim): Promise<RemoteClaimed>;
  /** Renews leases; to be called every `heartbeatMs`. */
  heartbeat(
    leases: readonly RemoteLease[],
    options?: { worker?: string; running?: number },
  ): Promise<RemoteHeartbeat[]>;
  /** Shows progress and log lines. */
  report(reports: readonly RemoteReport[]): Promise<('kept' | 'lost')[]>;
  /** Hands outcomes in. A repeat of one that was recorded answers `done` again. */
  settle(settlements: readonly RemoteSettlement[]): Promise<RemoteSettled[]>;
  /** Takes a worker off the list, at its end. */
  leave(worker: string): Promise<void>;
  /**
   * The same calls for one client, named by the server and never by the client: they act only on leases that
   * this owner claimed. Every other lease is `lost`.
   */
  ownedBy(owner: string): RemoteWorkers;
}

/** What they are made of. */
export interface RemoteDeps {
  engine(): Promise<Engine>;
  clock: Clock;
  random: Random;
  ids: Ids;
  leaseMs: number;
  heartbeatMs: number;
  /** How long to sleep at most when only a notification could tell more. */
  maxSleepMs(): number;
  /** Aborted when no more calls are taken. */
  closed: AbortSignal;
}

const claimNames: OptionNames<RemoteClaim> = {
  worker: true,
  limit: true,
  token: true,
  wait: true,
  signal: true,
};
const workerNames: OptionNames<RemoteWorker> = {
  id: true,
  tasks: true,
  queues: true,
  concurrency: true,
  running: true,
  host: true,
  pid: true,
};
const unprovenSleepMs = 1_000;
// A worker that was not heard of here for long is announced anew when it comes back.
const knownMax = 10_000;

/** Makes them. */
export function createRemoteWorkers(deps: RemoteDeps): RemoteWorkers {
  const { clock, random, ids, leaseMs, heartbeatMs, closed } = deps;
  const known = new Map<string, { info: NodeInfo; heartbeatElapsed: number; drain: boolean }>();
  let offset: { storeNow: number; elapsed: number } | null = null;

  function received({ now }: { now: number }): void {
    offset = { storeNow: now, elapsed: clock.elapsed() };
  }

  /** The store's instant, as far as it is known here: for log lines that tell none. */
  async function storeNow(engine: Engine): Promise<number> {
    if (offset === null) received(await engine.getExpiring({ keys: [] }));
    const { storeNow: at, elapsed } = offset as NonNullable<typeof offset>;
    return Math.round(at + clock.elapsed() - elapsed);
  }

  /** Lists a worker among the nodes, and hears whether it is asked to drain. */
  async function heartbeat(engine: Engine, info: NodeInfo): Promise<boolean> {
    const before = known.get(info.id);
    const isFresh = before !== undefined && clock.elapsed() - before.heartbeatElapsed < nodeHeartbeatMs / 2;
    if (isFresh && before.info.running === info.running) return before.drain;
    const startedAt = before?.info.startedAt ?? (await storeNow(engine));
    const shown = { ...info, startedAt };
    const reply = await engine.nodes({
      heartbeat: shown,
      leave: null,
      drain: null,
      forgetAfterMs: nodeSilentMs,
    });
    received(reply);
    const drain = (reply.nodes.find(({ id }) => id === info.id)?.drainRequestedAt ?? null) !== null;
    known.delete(info.id);
    if (known.size >= knownMax) known.delete(known.keys().next().value as string);
    known.set(info.id, { info: shown, heartbeatElapsed: clock.elapsed(), drain });
    return drain;
  }

  /** Writes the beginnings that must be written before a handler runs, and ends what was cancelled before it began. */
  async function begin(engine: Engine, node: string, claimed: ClaimedJob[]): Promise<ClaimedJob[]> {
    const cancelled = claimed.filter((job) => job.cancelRequestedAt !== null);
    const careful = claimed.filter((job) => job.cancelRequestedAt === null && needsBeginning(job));
    const dropped = new Set<ClaimedJob>(cancelled);
    if (careful.length > 0) {
      const { leases } = await engine.heartbeat({
        node,
        leaseMs,
        leases: careful.map(({ id, fence }) => ({ id, fence, begun: true })),
      });
      for (const [i, job] of careful.entries()) {
        if (leases[i]?.state === 'kept') continue;
        dropped.add(job);
        if (leases[i]?.state === 'cancel') cancelled.push(job);
      }
    }
    const outcome = { kind: 'cancelled', started: false, error: null } as const;
    await settleAll(
      engine,
      cancelled.map((job) => settlementOf({ job, outcome, report: null, random, backoff: null })),
    );
    return claimed.filter((job) => !dropped.has(job));
  }

  async function giveBack(engine: Engine, claimed: readonly ClaimedJob[]): Promise<void> {
    const outcome = { kind: 'released', started: false, stopped: true } as const;
    await settleAll(
      engine,
      claimed.map((job) => settlementOf({ job, outcome, report: null, random, backoff: null })),
    );
  }

  async function settleAll(engine: Engine, settle: Settlement[]): Promise<('done' | 'lost')[]> {
    if (settle.length === 0) return [];
    const reply = await engine.exchange({ settle, claim: null, repeat: true });
    received(reply);
    return reply.settled;
  }

  async function bodyOf(engine: Engine, { progress, logs = [] }: RemoteReport): Promise<ReportBody | null> {
    if (progress === undefined && logs.length === 0) return null;
    const now = await storeNow(engine);
    return {
      progress:
        progress === undefined
          ? null
          : checkedProgress(progress.percent, progress.message, {
              ...(progress.step === undefined ? {} : { step: progress.step }),
              ...(progress.of === undefined ? {} : { of: progress.of }),
            }),
      logs: logs.map(({ line, level = 'info', message, at }) => ({
        line: readWholeNumber(line, 'line', 1, 1_000_000_000),
        level,
        message: String(message),
        at: at === undefined ? now : Number(at),
      })),
    };
  }

  /** Per lease the job, or null if this owner did not claim it: fences are easy to guess, so they prove nothing. */
  async function readHeld(
    engine: Engine,
    owner: string | null,
    leases: readonly RemoteLease[],
  ): Promise<{ now: number; held: (JobRecord | null)[] }> {
    const reply = await engine.get({ ids: leases.map(({ id }) => id) });
    received(reply);
    const held = leases.map(({ fence }, i) => {
      const record = reply.jobs[i] ?? null;
      return record !== null && isHeldBy(owner, record, fence) ? record : null;
    });
    return { now: reply.now, held };
  }

  /** Settles attempts that ran beyond their timeout and grace, and tells which others are beyond their timeout. */
  async function lateOnes(
    engine: Engine,
    leases: readonly RemoteLease[],
    { now, held }: { now: number; held: readonly (JobRecord | null)[] },
  ): Promise<Map<number, 'timeout' | 'over'>> {
    const late = new Map<number, 'timeout' | 'over'>();
    const over: Settlement[] = [];
    for (const [i, { fence }] of leases.entries()) {
      const record = held[i] ?? null;
      if (record === null || record.fence !== fence || record.policy.timeoutMs === null) continue;
      const startedAt = record.attempts.at(-1)?.startedAt ?? now;
      const lateMs = now - startedAt - record.policy.timeoutMs;
      if (lateMs < 0) continue;
      late.set(i, lateMs < record.policy.graceMs ? 'timeout' : 'over');
      if (lateMs < record.policy.graceMs) continue;
      const job = claimedOf(record, fence);
      const outcome = { kind: 'timeout', error: timeoutError(job, null), stopped: false } as const;
      over.push(settlementOf({ job, outcome, report: null, random, backoff: null }));
    }
    await settleAll(engine, over);
    return late;
  }

  const callsOf = (owner: string | null): RemoteWorkers => ({
    async claim(given) {
      const { worker, limit = 1, token, wait = 0, signal } = readOptions(given, 'claim()', claimNames);
      const info = readWorker(worker, owner);
      const waitMs = parseDuration(wait, 'wait');
      const claim: ClaimRequest = {
        token: token === undefined ? ids.newId('claim') : nodeOf(readName(token, 'token'), owner),
        node: info.id,
        tasks: info.tasks.map(({ type, version }) => ({ type, version, limit: 1_000 })),
        queues: info.queues,
        limit: readWholeNumber(limit, 'limit', 1, 1_000),
        leaseMs,
        idle: info.running === 0,
      };
      const engine = await deps.engine();
      const none = { jobs: [], leaseMs, heartbeatMs };
      const endElapsed = clock.elapsed() + waitMs;
      const isGone = (): boolean => signal?.aborted ?? false;
      let news = new AbortController();
      const off = engine.subscribe((notification) => {
        if (notification === 'jobs' || notification === 'disconnected') news.abort();
      });
      try {
        for (let repeat = token !== undefined; ; repeat = false) {
          if (isGone()) return { ...none, drain: false };
          if (await heartbeat(engine, info)) return { ...none, drain: true };
          // Before the question: a notification that comes while it is asked must not be missed.
          if (news.signal.aborted) news = new AbortController();
          const askedElapsed = clock.elapsed();
          const reply = await engine.exchange({ settle: [], claim, repeat });
          const repliedElapsed = replyElapsed(askedElapsed, clock.elapsed());
          received(reply);
          const jobs = await begin(engine, info.id, reply.claimed);
          // This process may have stood still since the claim: a job whose lease has ended is not handed out.
          const isLate = clock.elapsed() - askedElapsed >= leaseMs;
          if (isGone() || isLate) await giveBack(engine, jobs);
          else if (jobs.length > 0) return { ...none, jobs: jobs.map(toRemoteJob), drain: false };
          const leftMs = endElapsed - clock.elapsed();
          if (leftMs <= 0 || isGone()) return { ...none, drain: false };
          const passedMs = clock.elapsed() - repliedElapsed;
          const dueMs =
            reply.nextDueAt === null ? Number.POSITIVE_INFINITY : reply.nextDueAt - reply.now - passedMs;
          const sleepMs = Math.min(
            leftMs,
            Math.max(dueMs, 1),
            Math.max(deps.maxSleepMs(), unprovenSleepMs),
            nodeHeartbeatMs,
          );
          const cuts = [news.signal, closed, ...(signal === undefined ? [] : [signal])];
          await clock.sleep(sleepMs, AbortSignal.any(cuts));
          closed.throwIfAborted();
        }
      } finally {
        off();
      }
    },

    async heartbeat(leases, { worker, running } = {}) {
      const engine = await deps.engine();
      const node = worker === undefined ? 'remote' : nodeOf(worker, owner);
      const about = known.get(node);
      if (about !== undefined) await heartbeat(engine, { ...about.info, running: running ?? leases.length });
      if (leases.length === 0) return [];
      const read = await readHeld(engine, owner, leases);
      const isHeld = (_: unknown, i: number): boolean => read.held[i] !== null;
      const late = await lateOnes(engine, leases, read);
      const reply = await engine.heartbeat({
        node,
        leaseMs,
        // Beginnings are written before a job is given out; a long run has surely begun.
        leases: leases.filter(isHeld).map(({ id, fence }) => ({ id, fence, begun: true })),
      });
      received(reply);
      const heartbeats = reply.leases.values();
      return leases.map((lease, i): RemoteHeartbeat => {
        const state = isHeld(lease, i) ? (heartbeats.next().value?.state ?? 'lost') : 'lost';
        if (state === 'lost' || late.get(i) === 'over') return 'lost';
        return state === 'cancel' ? 'cancel' : ((late.get(i) as 'timeout' | undefined) ?? 'kept');
      });
    },

    async report(given) {
      const engine = await deps.engine();
      const bodies = await Promise.all(given.map((one) => bodyOf(engine, one)));
      const reports = given.map(({ id, fence }, i) => ({
        id,
        fence,
        ...(bodies[i] ?? { progress: null, logs: [] }),
      }));
      const { held } = await readHeld(engine, owner, given);
      const isHeld = (_: unknown, i: number): boolean => held[i] !== null;
      const reply = await engine.report({ reports: reports.filter(isHeld), logLimit: logLinesMax });
      received(reply);
      const results = reply.reports.values();
      return given.map((one, i) => (isHeld(one, i) ? (results.next().value ?? 'lost') : 'lost'));
    },

    async settle(given) {
      const engine = await deps.engine();
      const { held } = await readHeld(engine, owner, given);
      const settlements = await Promise.all(
        given.map(async (one, i): Promise<Settlement | null> => {
          const record = held[i] ?? null;
          if (record === null) return null;
          const report = await bodyOf(engine, one);
          return settlementFor(record, one, report);
        }),
      );
      const settled = await settleAll(
        engine,
        settlements.filter((settlement) => settlement !== null),
      );
      const answers = settled.values();
      return given.map(({ id }, i) => {
        const settlement = settlements[i] ?? null;
        const result = settlement === null ? 'lost' : (answers.next().value ?? 'lost');
        return { id, result, status: result === 'done' && settlement !== null ? settlement.to : null };
      });
    },

    async leave(worker) {
      const engine = await deps.engine();
      const node = nodeOf(worker, owner);
      known.delete(node);
      await engine.nodes({ heartbeat: null, leave: node, drain: null, forgetAfterMs: nodeSilentMs });
    },

    ownedBy: (name) => callsOf(readName(name, 'owner')),
  });
  return callsOf(null);

  function settlementFor(record: JobRecord, { fence, outcome }: RemoteSettlement, report: ReportBody | null) {
    const job = claimedOf(record, fence);
    return settlementOf({ job, outcome: readOutcome(outcome, job), report, random, backoff: null });
  }
}

const remotePrefix = 'remote:';

/**
 * The node of a worker, `remote:<worker>@<owner>`. The last `@` always precedes the owner, so no choice of names
 * reads as another owner, and ids of nodes of this library (`node_…`) never have this form.
 */
function nodeOf(id: string, owner: string | null): string {
  const worker = readName(id, 'id');
  return owner === null ? `${remotePrefix}${escaped(worker)}` : `${remotePrefix}${worker}@${escaped(owner)}`;
}

function escaped(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('@', '%40');
}

/** Whether this owner claimed the attempt with this fence. A fence belongs to one claim, so this never changes. */
function isHeldBy(owner: string | null, record: JobRecord, fence: number): boolean {
  if (record.type.startsWith(builtInPrefix)) return false;
  const attempt = record.attempts.find((one) => one.fence === fence);
  const node = (record.fence === fence ? record.node : attempt?.node) ?? '';
  if (!node.startsWith(remotePrefix)) return false;
  const at = node.lastIndexOf('@');
  return owner === null ? at < 0 : at >= 0 && node.slice(at + 1) === escaped(owner);
}

function readWorker(
  given: RemoteWorker,
  owner: string | null,
): NodeInfo & { tasks: { type: string; version: number }[] } {
  const worker = readOptions(given, 'worker', workerNames);
  const { id, tasks, queues, concurrency = 1, running = 0, host = '', pid = 0 } = worker;
  if (!Array.isArray(tasks) || tasks.length === 0 || tasks.length > 1_000) {
    return refuseOption('tasks', tasks, 'to be a list of 1 to 1000 tasks');
  }
  return {
    id: nodeOf(id as string, owner),
    app: 'remote',
    release: null,
    declares: [],
    host: host === '' ? '' : readName(host, 'host'),
    pid: readWholeNumber(pid, 'pid', 0, Number.MAX_SAFE_INTEGER),
    roles: ['worker'],
    tasks: tasks.map(({ type, version = 1 }: { type: string; version?: number }) => ({
      type: readType(type),
      version: readWholeNumber(version, 'version', 1, 1_000_000_000),
    })),
    queues: queues === undefined ? null : queues.map((queue) => readName(queue, 'queues')),
    concurrency: readWholeNumber(concurrency, 'concurrency', 1, 1_000_000),
    running: readWholeNumber(running, 'running', 0, 1_000_000),
    notReady: null,
    startedAt: 0,
  };
}

function readType(given: string): string {
  const type = readName(given, 'type');
  return type.startsWith(builtInPrefix)
    ? refuseOption('type', type, `not to begin with "${builtInPrefix}"`)
    : type;
}

function toRemoteJob(job: ClaimedJob): RemoteJob {
  return {
    id: job.id,
    type: job.type,
    version: job.version,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    input: fromJson(job.input),
    metadata: job.metadata === null ? {} : (fromJson(job.metadata, 'metadata') as Record<string, unknown>),
    fence: job.fence,
    attempt: job.attempt,
    attempts: job.spent + 1,
    maxAttempts: job.maxAttempts,
    createdAt: new Date(job.createdAt),
    dueAt: new Date(job.dueAt),
    claimedAt: new Date(job.claimedAt),
    timeoutMs: job.policy.timeoutMs,
    origin: job.origin,
    schedule: job.slot?.scheduleName ?? null,
    slot: job.slot === null || job.slot.slotAt === null ? null : new Date(job.slot.slotAt),
    fireId: job.slot?.fireId ?? null,
    parentId: job.parent?.id ?? null,
  };
}
