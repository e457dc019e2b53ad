import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { ClaimRequest, ExchangeReply } from '../contract/engine.ts';
import { internalQueue } from '../jobs/built-in-tasks.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Capacity } from './capacity.ts';
import type { RunningAttempts } from './running-attempts.ts';

/** Creates the claims of one worker. */
export interface Claims {
  /** A claim for up to this many jobs; null: none may be taken. With a limit of 0 it takes nothing and only asks. */
  create(limit: number): ClaimRequest | null;
  /** A claim for internal work only, while there is no capacity for other jobs. */
  createInternal(): ClaimRequest | null;
  /** How many internal jobs may be taken while there is no capacity for others. */
  internalLimit(): number;
  /** How long until internal work may be asked for again; Infinity: not before an attempt ends. */
  internalWaitMs(): number;
  /** Learns from a reply whether a job waits that must run alone. */
  learn(reply: Pick<ExchangeReply, 'now' | 'soloSinceAt'>, arrivedElapsed: number): void;
}

/** What claims are made of. */
export interface ClaimsOptions {
  clock: Pick<Clock, 'elapsed'>;
  ids: Pick<Ids, 'newId'>;
  node: string;
  /** By name. Tasks may be added later. */
  tasks: ReadonlyMap<string, Pick<ResolvedTask, 'name' | 'version' | 'queue' | 'concurrency'>>;
  /** Only these queues; null: all. */
  queues: readonly string[] | null;
  leaseMs: number;
  attempts: Pick<RunningAttempts, 'count' | 'abandonedCount'>;
  capacity: Pick<Capacity, 'isReserved' | 'internalLimit'>;
  /** Jobs that wait for capacity. */
  waitingCount(): number;
  /** Jobs of a task that run or wait for capacity. */
  countOf(type: string): number;
}

// A job that must run alone has waited long enough for a moment when nothing runs.
const soloPatienceMs = 30_000;
// A full worker looks for internal work at most this often, however many jobs it hears of.
const internalEveryMs = 50;

/** Creates them. */
export function createClaims(options: ClaimsOptions): Claims {
  const { clock, node, tasks, leaseMs, attempts, capacity } = options;
  /** Since when a job waits that must run alone; null: none does. */
  let soloSinceElapsed: number | null = null;
  let internalElapsed = Number.NEGATIVE_INFINITY;
  const newToken = (): string => `${node}/${options.ids.newId('claim')}`;

  function internalLimit(): number {
    if (options.queues !== null && !options.queues.includes(internalQueue)) return 0;
    const limit = capacity.internalLimit();
    if (limit > 0) for (const { queue } of tasks.values()) if (queue === internalQueue) return limit;
    return 0;
  }

  return {
    create(limit) {
      if (limit <= 0) return null;
      const isSoloOverdue = soloSinceElapsed !== null && clock.elapsed() - soloSinceElapsed > soloPatienceMs;
      // Abandoned handlers may never end; a job that must run alone does not wait for them for ever.
      const runningCount = attempts.count() - (isSoloOverdue ? attempts.abandonedCount() : 0);
      const idle = runningCount === 0 && options.waitingCount() === 0 && !capacity.isReserved();
      const wanted: ClaimRequest['tasks'] = [];
      for (const { name, version, concurrency } of tasks.values()) {
        const left = concurrency === null ? limit : Math.min(limit, concurrency - options.countOf(name));
        if (left > 0) wanted.push({ type: name, version, limit: left });
      }
      if (wanted.length === 0) return null;
      return {
        token: newToken(),
        node,
        tasks: wanted,
        queues: options.queues === null ? null : [...options.queues],
        // An overdue job stops all others: nothing is taken until everything here has ended.
        limit: idle || !isSoloOverdue ? limit : 0,
        leaseMs,
        idle,
      };
    },
    createInternal() {
      const limit = internalLimit();
      if (limit <= 0 || clock.elapsed() - internalElapsed < internalEveryMs) return null;
      internalElapsed = clock.elapsed();
      const wanted = [...tasks.values()].filter(({ queue }) => queue === internalQueue);
      return {
        token: newToken(),
        node,
        tasks: wanted.map(({ name, version }) => ({ type: name, version, limit })),
        queues: [internalQueue],
        limit,
        leaseMs,
        idle: false,
      };
    },
    internalLimit,
    internalWaitMs() {
      const waitMs = internalElapsed + internalEveryMs - clock.elapsed();
      return waitMs > 0 && internalLimit() > 0 ? waitMs : Number.POSITIVE_INFINITY;
    },
    learn({ soloSinceAt, now }, arrivedElapsed) {
      soloSinceElapsed = soloSinceAt === null ? null : arrivedElapsed - (now - soloSinceAt);
    },
  };
}
