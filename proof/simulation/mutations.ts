/** Seeded defects: each breaks the engine or what passes between it and the planner, and the checker must catch it. */
import type { DatabaseSync } from 'node:sqlite';
import type {
  Beat,
  ClaimedJob,
  Engine,
  EnqueueReply,
  FireInput,
  FireReply,
  Hint,
  JobSpec,
  ScheduleChange,
  Settlement,
  Within,
} from '../../packages/core/src/engine.ts';
import { statements } from '../../packages/core/src/engines/sqlite/generated.ts';
import { dulyError } from '../../packages/core/src/errors.ts';

/** A defect. */
export interface Mutation {
  /** What is wrong, in a few words. */
  name: string;
  /** The invariants of which at least one must see it. */
  caughtBy: string[];
  /** The engine with the defect. */
  mutate?(engine: Engine): Engine;
  /** What a node sends and hears, with the defect: the history keeps what it sent. */
  mutateNode?(engine: Engine): Engine;
}

/** Every defect. */
export const mutations: readonly Mutation[] = [
  {
    name: 'every claim wakes everybody, for ever',
    caughtBy: ['comes-to-rest'],
    mutate: (engine) => {
      const listeners = new Set<(hint: Hint) => void>();
      return {
        ...engine,
        wakeups(listener) {
          listeners.add(listener);
          return engine.wakeups(listener);
        },
        async exchange(input) {
          const reply = await engine.exchange(input);
          for (const listener of listeners) listener('jobs');
          return reply;
        },
      };
    },
  },
  {
    name: 'an enqueue is acknowledged and lost',
    caughtBy: ['promises-kept', 'nothing-vanishes'],
    mutate: (engine) => {
      let count = 0;
      return {
        ...engine,
        async enqueue(input) {
          const job = input.groups[0]?.jobs[0];
          if (job === undefined || ++count % 5 !== 0) return engine.enqueue(input);
          const groups: EnqueueReply['groups'] = input.groups.map(({ jobs }) => ({
            ok: true,
            items: jobs.map(({ id }) => ({
              id,
              status: 'SCHEDULED',
              dueAt: (input.now ?? 0) + 1_000,
              deduped: false,
            })),
          }));
          return { now: input.now ?? 0, groups, claimed: [] };
        },
      };
    },
  },
  {
    name: 'an enqueue is refused although it took effect',
    caughtBy: ['refused-absent'],
    mutate: (engine) => {
      let count = 0;
      return {
        ...engine,
        async enqueue(input) {
          const reply = await engine.enqueue(input);
          if (++count % 5 !== 0 || reply.claimed.length > 0) return reply;
          throw dulyError('store_busy', { message: 'A seeded defect.' });
        },
      };
    },
  },
  {
    name: 'a deletion leaves no audit row',
    caughtBy: ['nothing-vanishes'],
    mutate: withSql(['audit', 'append'], (sql) =>
      sql.replace('VALUES (?, ?, ?, ?, ?, ?, ?)', "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE ?3 <> 'delete'"),
    ),
  },
  {
    name: 'finished jobs are pruned at once',
    caughtBy: ['nothing-vanishes'],
    mutate: (engine) => ({
      ...engine,
      prune: async (input) => ({
        ...(await engine.prune({ ...input, now: (input.now ?? 0) + 100 * 86_400_000 })),
        now: input.now ?? 0,
      }),
    }),
  },
  {
    name: 'the fence of an outcome is not compared',
    caughtBy: ['one-outcome', 'at-most-once'],
    mutate: (engine) => ({
      ...engine,
      async exchange(input) {
        const { jobs } = await engine.get({ ids: input.settle.map(({ id }) => id), now: input.now });
        const settle = input.settle.map((one, i) => {
          const job = jobs[i];
          return job?.status === 'RUNNING' ? { ...one, fence: job.fence } : one;
        });
        return engine.exchange({ ...input, settle });
      },
    }),
  },
  {
    name: 'the fence is not compared for outcomes that travel together',
    caughtBy: ['one-outcome'],
    mutate: withSql(['job', 'finishMany'], (sql) => sql.replace('fence = list.value ->> 1 AND', '')),
  },
  {
    name: 'an outcome that came too late is accepted',
    caughtBy: ['one-outcome'],
    mutate: (engine) => ({
      ...engine,
      async exchange(input) {
        const reply = await engine.exchange(input);
        return { ...reply, settled: reply.settled.map(() => 'done' as const) };
      },
    }),
  },
  {
    name: 'the counter of fences does not move',
    caughtBy: ['fences-grow'],
    mutate: withSql(
      ['meta', 'setLastFence'],
      () => "UPDATE meta SET value = value WHERE key = 'fence' AND ? IS NOT NULL",
    ),
  },
  {
    name: 'two jobs claimed together get one fence',
    caughtBy: ['fences-grow'],
    mutate: withSql(['claim', 'takeMany'], (sql) =>
      sql.replace(':fence + list.key', ':fence + list.key / 2'),
    ),
  },
  {
    name: 'jobs start two seconds early',
    caughtBy: ['never-early'],
    mutate: (engine) => ({
      ...engine,
      async exchange(input) {
        const reply = await engine.exchange({ ...input, now: (input.now ?? 0) + 2_000 });
        return { ...reply, now: input.now ?? 0 };
      },
    }),
  },
  {
    name: 'leases are reaped three seconds early',
    caughtBy: ['one-lease'],
    mutate: withSql(['lease', 'over'], (sql) => sql.replace('lease_until <= ?', 'lease_until - 3000 <= ?')),
  },
  {
    name: 'a heartbeat is answered and renews nothing',
    caughtBy: ['one-lease', 'no-false-reclaim'],
    mutate: withSql(['lease', 'beat'], (sql) =>
      sql.replace('lease_until = ?', 'lease_until = min(lease_until, ?)'),
    ),
  },
  {
    name: 'heartbeats do not get through',
    caughtBy: ['no-false-reclaim'],
    mutate: (engine) => ({
      ...engine,
      async heartbeat(input) {
        if (input.leases.some(({ begun }) => begun)) return engine.heartbeat(input);
        throw dulyError('store_unavailable', { message: 'A seeded defect.' });
      },
    }),
  },
  {
    name: 'a serial key is forgotten',
    caughtBy: ['limits-hold'],
    mutate: (engine) => ({
      ...engine,
      enqueue: (input) =>
        engine.enqueue({
          ...input,
          groups: input.groups.map(({ jobs }) => ({ jobs: jobs.map((job) => ({ ...job, serial: null })) })),
        }),
    }),
  },
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
    name: 'the written beginning is forgotten by the reaper',
    caughtBy: ['at-most-once'],
    mutate: (engine) => ({
      ...engine,
      async reap(input) {
        const reply = await engine.reap(input);
        return { ...reply, jobs: reply.jobs.map((job): ClaimedJob => ({ ...job, begun: false })) };
      },
    }),
  },
  {
    name: 'a gate is not opened when its job ends',
    caughtBy: ['promises-kept'],
    mutate: withSql(['job', 'isAwaited'], (sql) => sql.replace('WHERE', 'WHERE 0 AND')),
  },
  {
    name: 'a schedule does not hear of the end that it waits for',
    caughtBy: ['schedules-live', 'decisions-predicted'],
    mutate: withSql(['job', 'wakeSchedules'], (sql) => sql.replace('WHERE', 'WHERE 0 AND')),
  },
  {
    name: 'the cursor moves and the job is not made',
    caughtBy: ['ledger-agrees'],
    mutate: onFire((group) => ({ ...group, jobs: [] })),
  },
  {
    name: 'a slot fires twice',
    caughtBy: ['ledger-agrees', 'nothing-vanishes'],
    mutate: onFire((group) => ({
      ...group,
      jobs: group.jobs.flatMap((job): JobSpec[] => [job, { ...job, id: `${job.id.slice(0, -2)}zz` }]),
    })),
  },
  {
    name: 'a decision of a node that lost its claim is taken',
    caughtBy: ['one-decision', 'ledger-agrees', 'nothing-vanishes'],
    mutate: (engine) => ({
      ...engine,
      async fire(input) {
        const reply: FireReply = await engine.fire(input);
        return { ...reply, groups: reply.groups.map(() => 'fired' as const) };
      },
    }),
  },
  {
    name: 'an overlap decision is dropped',
    caughtBy: ['one-decision'],
    mutate: onFire((group) => ({
      ...group,
      slots: group.slots.filter(({ reason }) => reason !== 'overlap' && reason !== 'buffer full'),
    })),
  },
  {
    name: 'the planner is not told of unfinished runs',
    caughtBy: ['decisions-predicted'],
    mutate: (engine) => ({
      ...engine,
      async claimSchedules(input) {
        const reply = await engine.claimSchedules(input);
        return {
          ...reply,
          schedules: reply.schedules.map((one) => ({ ...one, active: [], activeCount: 0 })),
        };
      },
    }),
  },
  {
    name: 'a paused schedule is decided',
    caughtBy: ['decisions-predicted'],
    mutate: (engine) => ({
      ...engine,
      applySchedules: (input) =>
        engine.applySchedules({
          ...input,
          groups: input.groups.map(({ actor, changes }) => ({
            actor,
            changes: changes.map((change): ScheduleChange => {
              if (change.op !== 'put' || change.action !== 'pause') return change;
              const state = JSON.stringify({ ...JSON.parse(change.state), pause: null });
              return { ...change, state, dueAt: input.now ?? 0 };
            }),
          })),
        }),
    }),
  },
  {
    name: 'missed slots are decided by the wrong policy',
    caughtBy: ['decisions-predicted'],
    mutate: (engine) => ({
      ...engine,
      async claimSchedules(input) {
        const reply = await engine.claimSchedules(input);
        const swap = (spec: string): string =>
          spec
            .replaceAll('"missed":"latest"', '"missed":"x"')
            .replaceAll('"missed":"skip"', '"missed":"latest"')
            .replaceAll('"missed":"x"', '"missed":"skip"');
        return { ...reply, schedules: reply.schedules.map((one) => ({ ...one, spec: swap(one.spec) })) };
      },
    }),
  },
  {
    name: 'a slot is noticed late',
    caughtBy: ['decisions-predicted'],
    mutate: (engine) => ({
      ...engine,
      async claimSchedules(input) {
        const reply = await engine.claimSchedules({ ...input, now: (input.now ?? 0) - 8_000 });
        return {
          ...reply,
          now: input.now ?? 0,
          nextDueAt: reply.nextDueAt === null ? null : reply.nextDueAt + 8_000,
        };
      },
    }),
  },
  {
    name: 'an older release overrules a newer one',
    caughtBy: ['releases-rise'],
    mutate: (engine) => ({
      ...engine,
      // Every stored schedule seems to be of the lowest release.
      async schedules(input) {
        const reply = await engine.schedules(input);
        const lower = (spec: string): string => spec.replaceAll('"release":"2"', '"release":"0"');
        return { ...reply, schedules: reply.schedules.map((one) => ({ ...one, spec: lower(one.spec) })) };
      },
    }),
  },
  {
    name: 'a report under a dead fence is kept',
    caughtBy: ['reports-fenced'],
    mutate: withSql(['report', 'owner'], (sql) => sql.replace('fence = ?', '(fence = ? OR 1)')),
  },
  {
    name: 'spent attempts are not told',
    caughtBy: ['attempts-counted'],
    mutate: (engine) => ({
      ...engine,
      async exchange(input) {
        const reply = await engine.exchange(input);
        return { ...reply, claimed: reply.claimed.map((job): ClaimedJob => ({ ...job, spent: 0 })) };
      },
    }),
  },
  {
    name: 'a job is given up one attempt too early',
    caughtBy: ['attempts-counted'],
    mutate: (engine) => ({
      ...engine,
      async exchange(input) {
        const reply = await engine.exchange(input);
        const claimed = reply.claimed.map(
          (job): ClaimedJob => ({ ...job, maxAttempts: Math.max(1, job.maxAttempts - 1) }),
        );
        return { ...reply, claimed };
      },
    }),
  },
  {
    name: 'losses of a job that ends its process are not counted',
    caughtBy: ['attempts-counted', 'comes-to-rest', 'promises-kept'],
    mutate: (engine) => ({
      ...engine,
      async reap(input) {
        const reply = await engine.reap(input);
        return { ...reply, jobs: reply.jobs.map((job): ClaimedJob => ({ ...job, begunLosses: 0 })) };
      },
    }),
  },
  {
    name: 'a dedupe key is not held',
    caughtBy: ['one-holder'],
    mutate: withSql(['dedupe', 'hold'], (sql) =>
      sql.replace('VALUES (?, ?, ?, ?, ?, ?)', 'SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE 0'),
    ),
  },
  {
    name: 'a folded call is answered with a job of its own',
    caughtBy: ['one-holder'],
    mutate: (engine) => ({
      ...engine,
      async enqueue(input) {
        const reply = await engine.enqueue(input);
        const groups = reply.groups.map((group, i): EnqueueReply['groups'][number] => {
          if (!group.ok) return group;
          const items = group.items.map((item, j) => ({
            ...item,
            id: input.groups[i]?.jobs[j]?.id ?? item.id,
          }));
          return { ok: true, items };
        });
        return { ...reply, groups };
      },
    }),
  },
  {
    name: 'a worker is not told when the next job falls due',
    caughtBy: ['starts-in-time'],
    mutate: (engine) => ({
      ...engine,
      exchange: async (input) => ({ ...(await engine.exchange(input)), nextDueAt: null }),
    }),
  },
  {
    name: 'a paused queue is claimed from',
    caughtBy: ['pauses-hold'],
    mutate: withSql(['claim', 'pauses'], (sql) => sql.replace('WHERE', 'WHERE 0 AND')),
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
    name: 'the clean-up of a value is not made',
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
    name: 'a job made in a transaction appears although it was rolled back',
    caughtBy: ['transactions-whole'],
    mutate: (engine) => {
      const promised: JobSpec[] = [];
      return {
        ...engine,
        within: onWithin(engine, (within) => ({
          enqueue(input) {
            promised.push(...input.groups.flatMap(({ jobs }) => jobs));
            return within.enqueue(input);
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
    name: 'a job made in a transaction is lost when it is committed',
    caughtBy: ['transactions-whole'],
    mutate: (engine) => ({
      ...engine,
      within: onWithin(engine, (within, db) => ({
        async enqueue(input) {
          const reply = await within.enqueue(input);
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
      within: onWithin(engine, (within, db) => ({
        settle({ settlement, ...rest }) {
          const row = db.prepare('SELECT fence FROM jobs WHERE id = ?').get(settlement.id);
          const fence = (row?.fence as number | undefined) ?? settlement.fence;
          return within.settle({ ...rest, settlement: { ...settlement, fence } });
        },
      })),
    }),
  },
  {
    name: 'a completion that came too late leaves its transaction open',
    caughtBy: ['effects-once'],
    mutate: (engine) => ({
      ...engine,
      within: onWithin(engine, (within, db) => ({
        async settle(input) {
          const { id, fence } = input.settlement;
          const isHeld = db.prepare("SELECT 1 FROM jobs WHERE id = ? AND fence = ? AND status = 'RUNNING'");
          if (isHeld.get(id, fence) === undefined)
            throw dulyError('lease_lost', { message: 'A seeded defect.' });
          return within.settle(input);
        },
      })),
    }),
  },
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
    name: 'the result of a handler is not stored',
    caughtBy: ['outcome-follows'],
    mutate: onSettle((one) => ({ ...one, result: null })),
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
    mutateNode: onBeat('lost'),
  },
  {
    name: 'a handler is not told that its job was asked to cancel',
    caughtBy: ['signals-aborted'],
    mutateNode: onBeat('cancel'),
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
    name: 'the jobs of slots are due later than their slots',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) => ('at' in job.due ? { ...job, due: { at: job.due.at + 20_000 } } : job)),
    })),
  },
  {
    name: 'the jobs of slots are given another input',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) => ({ ...job, input: '{"call":null,"ms":0,"failures":0}' })),
    })),
  },
  {
    name: 'the start deadline of a schedule is not passed on',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) => ({ ...job, startDeadlineMs: null })),
    })),
  },
  {
    name: 'a job that is replaced keeps its input',
    caughtBy: ['jobs-as-asked'],
    mutate: withSql(['dedupe', 'replace'], (sql) =>
      sql.replace('input = :input', 'input = ifnull(input, :input)'),
    ),
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
    name: 'the last in line for a serial key comes first',
    caughtBy: ['limits-hold'],
    mutate: withSql(['job', 'nextInLine'], (sql) =>
      sql.replace('ORDER BY order_at, job', 'ORDER BY order_at DESC, job DESC'),
    ),
  },
  {
    name: 'a handler that runs again makes its child again',
    caughtBy: ['one-holder'],
    mutate: (engine) =>
      withSql(['job', 'child'], (sql) => sql.replace('WHERE', 'WHERE 0 AND'))(
        withSql(['job', 'addChild'], (sql) => sql.replace('INSERT INTO', 'INSERT OR REPLACE INTO'))(engine),
      ),
  },
  {
    name: 'a follow-up does not wait for the holder that runs',
    caughtBy: ['gates-hold'],
    mutate: withSql(
      ['dedupe', 'holder'],
      (sql) => `${sql} AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = job_id AND attempt > 0)`,
    ),
  },
  {
    name: 'a run does not wait for those before it',
    caughtBy: ['gates-hold'],
    mutate: onFire((group) => ({ ...group, jobs: group.jobs.map((job) => ({ ...job, gates: [] })) })),
  },
  {
    name: 'a call is folded into a holder that has started',
    caughtBy: ['gates-hold', 'jobs-as-asked'],
    mutate: (engine) => ({
      ...engine,
      enqueue: (input) =>
        engine.enqueue({
          ...input,
          groups: input.groups.map(({ jobs }) => ({ jobs: jobs.map(dropped) })),
        }),
    }),
  },
  {
    name: 'a call that replaces does not move the due instant',
    caughtBy: ['jobs-as-asked'],
    mutate: (engine) => ({
      ...engine,
      async enqueue(input) {
        const reply = await engine.enqueue(input);
        const groups = reply.groups.map((group): EnqueueReply['groups'][number] =>
          group.ok
            ? {
                ok: true,
                items: group.items.map((item) => (item.deduped ? { ...item, dueAt: item.dueAt - 1 } : item)),
              }
            : group,
        );
        return { ...reply, groups };
      },
    }),
  },
  {
    name: 'the input of a trigger is not passed on',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onApply(['trigger'], (change, { job }) => ({
      ...change,
      jobs: change.jobs.map((one) => ({ ...one, input: job.input })),
    })),
  },
  {
    name: 'the runs of a backfill are given another input',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onApply(['backfill'], (change) => ({
      ...change,
      jobs: change.jobs.map((one) => ({ ...one, input: '{"call":null,"ms":1,"failures":0}' })),
    })),
  },
  {
    name: 'a waiting run is not told what was merged into it',
    caughtBy: ['jobs-as-asked'],
    mutate: onFire((group) => ({ ...group, tell: [] })),
  },
  {
    name: 'a run is told nothing of the slots that it covers',
    caughtBy: ['decisions-predicted'],
    mutateNode: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) => {
        const { slot } = job;
        if (slot === null) return job;
        const details = JSON.stringify({ ...JSON.parse(slot.details ?? '{}'), covers: null });
        return { ...job, slot: { ...slot, details } };
      }),
    })),
  },
  {
    name: 'nobody is ended by an overlap policy',
    caughtBy: ['cancels-hold'],
    mutate: onFire((group) => ({ ...group, cancel: [] })),
  },
  {
    name: 'an overlap policy names nobody to be ended',
    caughtBy: ['decisions-predicted'],
    mutateNode: onFire((group) => ({ ...group, cancel: [] })),
  },
  {
    name: 'a run that is to be terminated is only asked',
    caughtBy: ['cancels-hold'],
    mutate: onFire((group) => ({
      ...group,
      cancel: group.cancel.map(({ id }) => ({ id, mode: 'ask' as const })),
    })),
  },
  {
    name: 'what waits when its schedule is deleted is left',
    caughtBy: ['cancels-hold'],
    mutate: withSql(['schedule', 'unstarted'], (sql) => `${sql} AND id = ''`),
  },
  {
    name: 'a job that was asked to cancel comes back',
    caughtBy: ['cancels-hold'],
    mutate: (engine) => ({
      ...engine,
      async exchange(input) {
        const { jobs } = await engine.get({ ids: input.settle.map(({ id }) => id), now: input.now });
        const settle = input.settle.map((one, i): Settlement => {
          const isAsked = jobs[i]?.cancelRequestedAt != null && one.to === 'CANCELLED';
          return isAsked ? { ...one, to: 'FAILED' } : one;
        });
        const reply = await engine.exchange({ ...input, settle });
        const ids = settle.filter((one, i) => one !== input.settle[i]).map(({ id }) => id);
        if (ids.length > 0) {
          const targets = ids.map((id) => ({ id }));
          await engine.replay({ groups: [{ actor: 'defect', targets }], now: input.now } as never);
        }
        return reply;
      },
    }),
  },
  {
    name: 'a start deadline does not hold',
    caughtBy: ['deadlines-hold'],
    mutate: withSql(['job', 'overdue'], (sql) => sql.replace('expire_at < ?', 'expire_at < ? - 3600000')),
  },
  {
    name: 'a job expires before its start deadline',
    caughtBy: ['deadlines-hold'],
    mutate: withSql(['job', 'overdue'], (sql) => sql.replace('expire_at < ?', 'expire_at - 2000 < ?')),
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
    name: 'a call that was folded makes a job when it is sent again',
    caughtBy: ['one-holder'],
    mutate: withSql(['value', 'remembered'], (sql) => `${sql} AND scope <> 'fold'`),
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
];

/** Changes what is done in transactions of the user's own, on whose connection a defect may do as it likes. */
function onWithin(
  engine: Engine,
  change: (within: Within, db: DatabaseSync) => Partial<Within>,
): NonNullable<Engine['within']> {
  return async (tx) => {
    const within = (await engine.within?.(tx)) as Within;
    return { ...within, ...change(within, tx as DatabaseSync) };
  };
}

/** A call under a key that is dropped while the key is held, whatever it wanted. */
function dropped(job: JobSpec): JobSpec {
  return job.dedupe === null ? job : { ...job, dedupe: { ...job.dedupe, mode: 'drop' } };
}

type Put = Extract<ScheduleChange, { op: 'put' }>;

/** Changes what somebody does to a schedule, on its way; told what the schedule says. */
function onApply(actions: string[], alter: (change: Put, spec: { job: { input: string } }) => Put): Mutate {
  return (engine) => ({
    ...engine,
    applySchedules: (input) =>
      engine.applySchedules({
        ...input,
        groups: input.groups.map(({ actor, changes }) => ({
          actor,
          changes: changes.map((change) =>
            change.op === 'put' && actions.includes(change.action)
              ? alter(change, JSON.parse(change.spec) as { job: { input: string } })
              : change,
          ),
        })),
      }),
  });
}

/** Changes outcomes on their way. */
function onSettle(change: (settlement: Settlement) => Settlement): Mutate {
  return (engine) => ({
    ...engine,
    exchange: (input) => engine.exchange({ ...input, settle: input.settle.map(change) }),
  });
}

/** Keeps a node from hearing of a lost lease, or of a cancel. */
function onBeat(state: 'lost' | 'cancel'): Mutate {
  return (engine) => ({
    ...engine,
    async heartbeat(input) {
      const reply = await engine.heartbeat(input);
      const leases = reply.leases.map((beat): Beat => (beat.state === state ? { state: 'kept' } : beat));
      return { ...reply, leases };
    },
  });
}

/** Changes what a fire says before it reaches the store; the history keeps what was asked. */
function onFire(change: (group: FireInput['groups'][number]) => FireInput['groups'][number]): Mutate {
  return (engine) => ({
    ...engine,
    fire: (input) => engine.fire({ ...input, groups: input.groups.map(change) }),
  });
}

type Mutate = (engine: Engine) => Engine;

type Statements = Record<string, Record<string, string>>;

/** Changes one statement of the engine while it is open. */
function withSql([file, name]: [string, string], change: (sql: string) => string): Mutate {
  return (engine) => {
    const group = (statements as unknown as Statements)[file] as Record<string, string>;
    const before = group[name] as string;
    const after = change(before);
    if (after === before) throw new Error(`The defect in ${file}.${name} changes nothing any more.`);
    group[name] = after;
    return {
      ...engine,
      async close() {
        group[name] = before;
        await engine.close();
      },
    };
  };
}
