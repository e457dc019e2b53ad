/** Defects in what a node sends and hears: the history keeps what it sent. */

import { type DulyError, dulyError } from '../../../packages/core/src/base/errors.ts';
import type { ClaimedJob, Engine } from '../../../packages/core/src/contract/engine.ts';
import { isUnknownOutcome } from '../../../packages/core/src/store/batcher.ts';
import { type Mutation, onHeartbeat, onSettle, withSql } from './mutation.ts';

/** Every one of them. */
export const workerMutations: readonly Mutation[] = [
  {
    name: 'a handler that threw completes its job',
    caughtBy: ['outcome-follows'],
    mutateNode: onSettle((one) =>
      one.reason === 'threw' ? { ...one, to: 'COMPLETED', reason: 'returned', due: null, error: null } : one,
    ),
  },
  {
    name: 'a handler that ignored its timeout completes its job',
    caughtBy: ['outcome-follows'],
    mutateNode: onSettle((one) =>
      one.reason === 'timeout'
        ? { ...one, to: 'COMPLETED', reason: 'returned', due: null, error: null }
        : one,
    ),
  },
  {
    name: 'the result of a handler is not sent',
    caughtBy: ['outcome-follows'],
    mutateNode: onSettle((one) => ({ ...one, result: null })),
  },
  {
    name: 'an at-most-once job that began is given back when its worker stops',
    caughtBy: ['at-most-once'],
    mutateNode: onSettle((one) =>
      one.reason === 'released' && one.to === 'FAILED'
        ? { ...one, to: 'PENDING', spends: false, error: null }
        : one,
    ),
  },
  {
    name: 'a handler is not told that its lease is lost',
    caughtBy: ['signals-aborted'],
    mutateNode: onHeartbeat('lost'),
  },
  {
    name: 'a handler is not told that its job was asked to cancel',
    caughtBy: ['signals-aborted'],
    mutateNode: onHeartbeat('cancel'),
  },
  {
    name: 'leases are renewed by the wall clock',
    caughtBy: ['no-false-reclaim', 'signals-aborted', 'comes-to-rest'],
    mutateHeartbeats: (create) => (options) => {
      const { clock } = options;
      return create({ ...options, clock: { ...clock, elapsed: () => clock.now() } });
    },
  },
  {
    name: 'a repeated claim is not given what it was given before',
    caughtBy: ['no-false-reclaim'],
    mutate: withSql(['claim', 'byToken'], (sql) => sql.replace('token = ?', "token = ? || '!'")),
  },
  {
    name: 'what came with decisions whose answer was lost is not asked for again',
    caughtBy: ['no-false-reclaim'],
    mutateNode: (engine) => ({
      ...engine,
      async fire(input) {
        try {
          return await engine.fire(input);
        } catch (error) {
          if (!isUnknownOutcome(error)) throw error;
          const { message, hint } = error as DulyError;
          throw dulyError('store_busy', { message, hint });
        }
      },
    }),
  },
  {
    name: 'a worker that hears nothing from the store does not see that its leases have ended',
    caughtBy: ['signals-aborted'],
    mutateHeartbeats: (create) => (options) => {
      const { engine, leaseMs } = options;
      const heartbeat: Engine['heartbeat'] = (input) => engine.heartbeat({ ...input, leaseMs });
      return create({ ...options, engine: { heartbeat }, leaseMs: Number.MAX_SAFE_INTEGER });
    },
  },
  {
    name: 'a timeout comes at a quarter of its time',
    caughtBy: ['signals-aborted'],
    mutateNode: (engine) => ({
      ...engine,
      async exchange(input) {
        const reply = await engine.exchange(input);
        const claimed = reply.claimed.map((job) => {
          const { timeoutMs } = job.policy;
          return { ...job, policy: { ...job.policy, timeoutMs: timeoutMs && timeoutMs / 4 } };
        });
        return { ...reply, claimed };
      },
    }),
  },
  {
    name: 'a handler that returned after it was told of a cancel is CANCELLED',
    caughtBy: ['outcome-follows'],
    mutateNode(engine) {
      const reported = new Set<number>();
      const unheard = onSettle((one) =>
        one.reason === 'returned' && reported.has(one.fence)
          ? { ...one, to: 'CANCELLED', reason: 'cancelled', spends: false, result: null }
          : one,
      )(engine);
      return {
        ...unheard,
        async heartbeat(input) {
          const reply = await engine.heartbeat(input);
          for (const [i, { fence }] of input.leases.entries())
            if (reply.leases[i]?.state === 'cancel') reported.add(fence);
          return reply;
        },
      };
    },
  },
  {
    name: 'a timeout is forgotten',
    caughtBy: ['signals-aborted'],
    mutateNode: (engine) => ({
      ...engine,
      async exchange(input) {
        const reply = await engine.exchange(input);
        const claimed = reply.claimed.map((job) => ({ ...job, policy: { ...job.policy, timeoutMs: null } }));
        return { ...reply, claimed };
      },
    }),
  },
  {
    name: 'a delay is not kept',
    caughtBy: ['jobs-as-asked'],
    mutateNode: (engine) => ({
      ...engine,
      enqueue: (input) =>
        engine.enqueue({
          ...input,
          groups: input.groups.map(({ jobs }) => ({
            jobs: jobs.map((job) => ({ ...job, due: { inMs: 0 } })),
          })),
        }),
    }),
  },
  {
    name: 'a snooze is cut short',
    caughtBy: ['comes-again'],
    mutateNode: onSettle((one) => (one.reason === 'snoozed' ? { ...one, due: { inMs: 1_000 } } : one)),
  },
  {
    name: 'a retry comes when it likes, not when it was asked for',
    caughtBy: ['comes-again'],
    mutateNode: onSettle((one) => (one.reason === 'retry-asked' ? { ...one, due: { inMs: 0 } } : one)),
  },
  {
    name: 'the backoff does not grow',
    caughtBy: ['comes-again'],
    mutateNode: onSettle((one) =>
      one.reason === 'threw' && one.to === 'RETRYING' ? { ...one, due: { inMs: 1_000 } } : one,
    ),
  },
  {
    name: 'a lost job waits before it is tried again',
    caughtBy: ['comes-again'],
    mutateNode: onSettle((one) =>
      one.reason === 'lost' && one.to === 'RETRYING' ? { ...one, due: { inMs: 3_000 } } : one,
    ),
  },
  {
    name: 'a snooze spends an attempt',
    caughtBy: ['outcome-follows'],
    mutateNode: onSettle((one) => (one.reason === 'snoozed' ? { ...one, spends: true } : one)),
  },
  {
    name: 'a cancelled job is FAILED',
    caughtBy: ['outcome-follows'],
    mutateNode: onSettle((one) => (one.reason === 'cancelled' ? { ...one, to: 'FAILED' } : one)),
  },
  {
    name: 'a job that was to be cancelled comes again when it is lost without a written beginning',
    caughtBy: ['cancels-hold', 'outcome-follows'],
    mutateNode: (engine) => ({
      ...engine,
      async reap(input) {
        const reply = await engine.reap(input);
        const jobs = reply.jobs.map((job) => (job.begun ? job : { ...job, cancelRequestedAt: null }));
        return { ...reply, jobs };
      },
    }),
  },
  {
    name: 'a job that may start once and has not begun is given up when it is lost',
    caughtBy: ['at-most-once', 'outcome-follows'],
    mutateNode: (engine) => ({
      ...engine,
      async reap(input) {
        const reply = await engine.reap(input);
        const isOnce = (job: ClaimedJob): boolean => job.policy.delivery === 'at-most-once';
        return { ...reply, jobs: reply.jobs.map((job) => (isOnce(job) ? { ...job, begun: true } : job)) };
      },
    }),
  },
  {
    name: 'the answers of calls that travel together are mixed up',
    caughtBy: ['jobs-as-asked'],
    mutateNode: (engine) => ({
      ...engine,
      async enqueue(input) {
        const reply = await engine.enqueue(input);
        return { ...reply, groups: [...reply.groups.slice(1), ...reply.groups.slice(0, 1)] };
      },
    }),
  },
  {
    name: 'a priority is turned upside down',
    caughtBy: ['jobs-as-asked'],
    mutateNode: (engine) => ({
      ...engine,
      enqueue: (input) =>
        engine.enqueue({
          ...input,
          groups: input.groups.map(({ jobs }) => ({
            jobs: jobs.map((job) => ({ ...job, rankOffsetMs: -job.rankOffsetMs })),
          })),
        }),
    }),
  },
  {
    name: 'a handler that throws because its worker stops has failed',
    caughtBy: ['outcome-follows'],
    mutateNode: onSettle((one) => {
      if (one.reason !== 'released' || one.to !== 'PENDING' || !one.started) return one;
      const error = { name: 'Error', message: 'It was told to stop.' };
      return { ...one, to: 'RETRYING', reason: 'threw', spends: true, due: { inMs: 2_000 }, error };
    }),
  },
  {
    name: 'a job that is given back has spent an attempt',
    caughtBy: ['attempts-counted'],
    mutateNode: onSettle((one) => (one.reason === 'released' ? { ...one, spends: true } : one)),
  },
  {
    name: 'no beginning is written',
    caughtBy: ['suspects-alone', 'at-most-once'],
    mutateNode: (engine) => ({
      ...engine,
      heartbeat: (input) =>
        engine.heartbeat({ ...input, leases: input.leases.map((lease) => ({ ...lease, begun: false })) }),
    }),
  },
];
