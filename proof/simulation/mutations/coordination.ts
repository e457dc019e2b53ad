/** Defects in locks, values that expire, `once`, and transactions of the user's own. */

import { dulyError } from '../../../packages/core/src/base/errors.ts';
import type { JobSpec } from '../../../packages/core/src/contract/engine.ts';
import { type Mutation, onUserTransaction, withSql } from './mutation.ts';

/** Every one of them. */
export const coordinationMutations: readonly Mutation[] = [
  {
    name: 'a lock is given while another holds it',
    caughtBy: ['limits-hold'],
    mutate: (engine) => ({
      ...engine,
      async acquire(input) {
        const reply = await engine.acquire(input);
        if (reply.acquired) return reply;
        return { now: reply.now, acquired: true, fence: reply.fence + 1, untilAt: reply.now + input.ttlMs };
      },
    }),
  },
  {
    name: 'a lock that is asked for again is refused to its own holder',
    caughtBy: ['limits-hold'],
    mutate: (engine) => {
      let count = 0;
      return {
        ...engine,
        acquire: (input) => engine.acquire({ ...input, token: `${input.token}-${++count}` }),
      };
    },
  },
  {
    name: 'a deleted value is still there',
    caughtBy: ['values-expire'],
    mutate: withSql(['value', 'delete'], (sql) => sql.replace('WHERE', 'WHERE 0 AND')),
  },
  {
    name: 'the end of a value is not moved',
    caughtBy: ['values-expire'],
    mutate: withSql(['value', 'extend'], (sql) => sql.replace('WHERE', 'WHERE 0 AND')),
  },
  {
    name: 'the clean-up of a value is not created',
    caughtBy: ['values-expire'],
    mutate: (engine) => ({
      ...engine,
      putExpiring: (input) =>
        engine.putExpiring({
          ...input,
          groups: input.groups.map(({ actor, changes }) => ({
            actor,
            changes: changes.map((one) => (one.op === 'put' ? { ...one, cleanup: null } : one)),
          })),
        }),
    }),
  },
  {
    name: 'what `once` recorded is forgotten',
    caughtBy: ['once-recorded'],
    mutate: withSql(['value', 'remember'], (sql) =>
      sql.replace('VALUES (?, ?, ?, ?)', 'SELECT ?1, ?2, ?3, ?4 WHERE 0'),
    ),
  },
  {
    name: 'a job created in a transaction appears although it was rolled back',
    caughtBy: ['transactions-whole'],
    mutate: (engine) => {
      const promised: JobSpec[] = [];
      return {
        ...engine,
        userTransaction: onUserTransaction(engine, (userTransaction) => ({
          enqueue(input) {
            promised.push(...input.groups.flatMap(({ jobs }) => jobs));
            return userTransaction.enqueue(input);
          },
        })),
        // Sent outside of it too, by whoever comes next.
        async exchange(input) {
          const jobs = promised.splice(0);
          if (jobs.length > 0) await engine.enqueue({ groups: [{ jobs }], now: input.now });
          return engine.exchange(input);
        },
      };
    },
  },
  {
    name: 'a job created in a transaction is lost when it is committed',
    caughtBy: ['transactions-whole'],
    mutate: (engine) => ({
      ...engine,
      userTransaction: onUserTransaction(engine, (userTransaction, db) => ({
        async enqueue(input) {
          const reply = await userTransaction.enqueue(input);
          for (const { id } of input.groups.flatMap(({ jobs }) => jobs))
            db.prepare('DELETE FROM jobs WHERE id = ?').run(id);
          return reply;
        },
      })),
    }),
  },
  {
    name: 'the fence of a completion in a transaction is not compared',
    caughtBy: ['effects-once', 'one-outcome'],
    mutate: (engine) => ({
      ...engine,
      userTransaction: onUserTransaction(engine, (userTransaction, db) => ({
        settle({ settlement, ...rest }) {
          const row = db.prepare('SELECT fence FROM jobs WHERE id = ?').get(settlement.id);
          const fence = (row?.fence as number | undefined) ?? settlement.fence;
          return userTransaction.settle({ ...rest, settlement: { ...settlement, fence } });
        },
      })),
    }),
  },
  {
    name: 'a completion that came too late leaves its transaction open',
    caughtBy: ['effects-once'],
    mutate: (engine) => ({
      ...engine,
      userTransaction: onUserTransaction(engine, (userTransaction, db) => ({
        async settle(input) {
          const { id, fence } = input.settlement;
          const isHeld = db.prepare("SELECT 1 FROM jobs WHERE id = ? AND fence = ? AND status = 'RUNNING'");
          if (isHeld.get(id, fence) === undefined)
            throw dulyError('lease_lost', { message: 'A seeded defect.' });
          return userTransaction.settle(input);
        },
      })),
    }),
  },
  {
    name: 'a step of a job is done again though it was recorded',
    caughtBy: ['once-recorded'],
    mutateNode: (engine) => ({
      ...engine,
      async remember(input) {
        const reply = await engine.remember(input);
        if (input.put !== null || !input.scope.startsWith('job:')) return reply;
        return { ...reply, result: 'absent', value: null };
      },
    }),
  },
  {
    name: 'the clean-up of a value that is replaced is left',
    caughtBy: ['values-expire'],
    mutate: withSql(['value', 'read'], (sql) => sql.replace('cleanup_id', 'NULL AS cleanup_id')),
  },
  {
    name: 'a value is read after its end',
    caughtBy: ['values-expire'],
    mutate: (engine) => ({
      ...engine,
      async getExpiring(input) {
        const now = input.now ?? 0;
        return { ...(await engine.getExpiring({ ...input, now: now - 3_000 })), now };
      },
    }),
  },
  {
    name: 'a lock is renewed under a dead fence',
    caughtBy: ['limits-hold'],
    mutate: withSql(['lock', 'renew'], (sql) => sql.replace('fence = ?', '(fence = ? OR 1)')),
  },
  {
    name: 'a renewal of a lock does not extend it',
    caughtBy: ['no-false-reclaim'],
    mutate: withSql(['lock', 'renew'], (sql) => sql.replace('until = ?', 'until = until + 0 * ?')),
  },
  {
    name: 'a lock is given back by somebody who lost it',
    caughtBy: ['limits-hold'],
    mutate: withSql(['lock', 'release'], (sql) => sql.replace('fence = ?', '(fence = ? OR 1)')),
  },
  {
    name: 'a step is recorded under a dead fence',
    caughtBy: ['once-recorded'],
    mutate: (engine) => ({
      ...engine,
      async remember(input) {
        const { put } = input;
        if (put === null || !('job' in put.guard)) return engine.remember(input);
        const { jobs } = await engine.get({ ids: [put.guard.job], now: input.now });
        const guard = { job: put.guard.job, fence: jobs[0]?.fence ?? put.guard.fence };
        return engine.remember({ ...input, put: { ...put, guard } });
      },
    }),
  },
];
