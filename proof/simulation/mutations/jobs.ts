/** Defects in how the store makes, gives and keeps jobs. */

import { dulyError } from '../../../packages/core/src/base/errors.ts';
import type {
  ClaimedJob,
  EnqueueReply,
  JobSpec,
  JobTarget,
  Notification,
  PauseValue,
  Settlement,
} from '../../../packages/core/src/contract/engine.ts';
import { dropped, type Mutation, onClaim, onSettle, withoutAuditOf, withSql } from './mutation.ts';

/** Every one of them. */
export const jobMutations: readonly Mutation[] = [
  {
    name: 'every claim wakes everybody, for ever',
    caughtBy: ['comes-to-rest'],
    mutate: (engine) => {
      const listeners = new Set<(notification: Notification) => void>();
      return {
        ...engine,
        subscribe(listener) {
          listeners.add(listener);
          return engine.subscribe(listener);
        },
        async exchange(input) {
          const reply = await engine.exchange(input);
          for (const listener of listeners) listener({ kind: 'jobs' });
          return reply;
        },
      };
    },
  },
  {
    name: 'now and then a claim takes jobs of a newer version than the worker has',
    caughtBy: ['only-handled'],
    mutate: (engine) => {
      let claimCount = 0;
      return onClaim((claim) =>
        // The worker gives them back: with each claim so, this would go on for ever.
        ++claimCount % 10 > 0
          ? claim
          : {
              ...claim,
              tasks: claim.tasks.map((task) => ({ ...task, version: Number.MAX_SAFE_INTEGER })),
            },
      )(engine);
    },
  },
  {
    name: 'a claim takes from every queue',
    caughtBy: ['only-handled'],
    mutate: onClaim((claim) => ({ ...claim, queues: null })),
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
    caughtBy: ['nothing-vanishes', 'acts-audited'],
    mutate: withoutAuditOf('delete'),
  },
  {
    name: 'a deleted job is created again when it is asked for again',
    caughtBy: ['nothing-vanishes', 'feed-reports'],
    mutate: withSql(['value', 'remembered'], (sql) => `${sql} AND scope <> 'deleted'`),
  },
  {
    name: 'to cancel leaves no audit row',
    caughtBy: ['acts-audited'],
    mutate: withoutAuditOf('cancel'),
  },
  {
    name: 'a retry leaves no audit row',
    caughtBy: ['acts-audited'],
    mutate: withoutAuditOf('retry'),
  },
  {
    name: 'to move a job leaves no audit row',
    caughtBy: ['acts-audited'],
    mutate: withoutAuditOf('reschedule'),
  },
  {
    name: 'an outcome that is sent again is called lost',
    caughtBy: ['one-outcome'],
    mutate: (engine) => ({
      ...engine,
      exchange: ({ repeat: _repeat, ...input }) => engine.exchange(input),
    }),
  },
  {
    name: 'the errors of attempts are not kept',
    caughtBy: ['stored-as-reported'],
    mutate: onSettle((settlement) => ({ ...settlement, error: null })),
  },
  {
    name: 'the error of an attempt that is tried again is not kept',
    caughtBy: ['stored-as-reported'],
    mutate: onSettle((settlement) =>
      settlement.to === 'RETRYING' ? { ...settlement, error: null } : settlement,
    ),
  },
  {
    name: 'a job that is tried again keeps the error of an earlier attempt, or none',
    caughtBy: ['stored-as-reported'],
    mutate: withSql(['settle', 'again'], (sql) =>
      sql.replace('coalesce(:error, error)', 'coalesce(error, iif(:error IS NULL, error, error))'),
    ),
  },
  {
    name: 'the last log lines of an attempt are lost',
    caughtBy: ['stored-as-reported'],
    mutate: onSettle((settlement) => ({
      ...settlement,
      report: settlement.report === null ? null : { ...settlement.report, logs: [] },
    })),
  },
  {
    name: 'the actor of a cancel is not stored',
    caughtBy: ['stored-as-reported'],
    mutate: (engine) => ({
      ...engine,
      cancel: (input) =>
        engine.cancel({ ...input, groups: input.groups.map((group) => ({ ...group, actor: 'nobody' })) }),
    }),
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
    mutate: withSql(['lease', 'heartbeat'], (sql) =>
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
    name: 'a gate is not opened when its job ends in a list',
    caughtBy: ['promises-kept'],
    mutate: withSql(['job', 'followed'], (sql) => sql.replace("kind <> 'serial'", '0')),
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
    name: 'a job that is deleted before it has ended keeps its dedupe key',
    caughtBy: ['one-holder'],
    // The job of a deletion is not in the history either.
    mutate: withSql(
      ['dedupe', 'release'],
      (sql) => `${sql} AND EXISTS (SELECT 1 FROM finished WHERE id = job_id)`,
    ),
  },
  {
    name: 'a retried job does not hold its dedupe key again',
    caughtBy: ['one-holder'],
    mutate: withSql(['dedupe', 'hold'], (sql) =>
      sql.replace(
        'VALUES (?, ?, ?, ?, ?, ?)',
        `SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = ?4 AND reason = 'retried')`,
      ),
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
    name: 'the result of a handler is not stored',
    caughtBy: ['outcome-follows'],
    mutate: onSettle((one) => ({ ...one, result: null })),
  },
  {
    name: 'a job that is replaced keeps its input',
    caughtBy: ['jobs-as-asked'],
    mutate: withSql(['dedupe', 'replace'], (sql) =>
      sql.replace('input = :input', 'input = ifnull(input, :input)'),
    ),
  },
  {
    name: 'a job that is replaced keeps its version',
    caughtBy: ['jobs-as-asked'],
    mutate: withSql(['dedupe', 'replace'], (sql) =>
      sql.replace('version = :version', 'version = iif(:version, version, version)'),
    ),
  },
  {
    name: 'a job that is replaced keeps its queue',
    caughtBy: ['jobs-as-asked'],
    mutate: withSql(['dedupe', 'replace'], (sql) =>
      sql.replace('queue = :queue', 'queue = ifnull(queue, :queue)'),
    ),
  },
  {
    name: 'a job that is replaced keeps its policy',
    caughtBy: ['jobs-as-asked'],
    mutate: withSql(['dedupe', 'replace'], (sql) =>
      sql.replace('policy = :policy', 'policy = ifnull(policy, :policy)'),
    ),
  },
  {
    name: 'a job that is replaced keeps its rank',
    caughtBy: ['taken-by-rank'],
    mutate: (engine) => {
      const first = new Map<string, number>();
      const ranked = (job: JobSpec): JobSpec => {
        if (job.dedupe === null) return job;
        const key = JSON.stringify([job.type, job.tenant, job.dedupe.key]);
        const rankOffsetMs = first.get(key) ?? job.rankOffsetMs;
        first.set(key, rankOffsetMs);
        return { ...job, rankOffsetMs };
      };
      return {
        ...engine,
        enqueue: (input) =>
          engine.enqueue({ ...input, groups: input.groups.map(({ jobs }) => ({ jobs: jobs.map(ranked) })) }),
      };
    },
  },
  {
    name: 'a cancel by key leaves the follow-up alone',
    caughtBy: ['cancels-hold'],
    mutate: (engine) => {
      const byId = async (target: JobTarget, now: number | undefined): Promise<JobTarget> => {
        if (!('key' in target)) return target;
        const [holder] = (await engine.holder({ ...target, now })).jobs;
        return holder == null ? target : { id: holder.id };
      };
      return {
        ...engine,
        async cancel(input) {
          const groups = input.groups.map(async (group) => {
            const targets = await Promise.all(group.targets.map((target) => byId(target, input.now)));
            return { ...group, targets };
          });
          return engine.cancel({ ...input, groups: await Promise.all(groups) });
        },
      };
    },
  },
  {
    name: 'two tenants share a serial key',
    caughtBy: ['starts-in-time'],
    mutate: (engine) => {
      const shared = (sql: string): string => sql.replace('ref = ?', "ref = json_set(?, '$[0]', NULL)");
      const gate = "iif(?1 = 'serial', json_set(?2, '$[0]', NULL), ?2)";
      const statements: [string, (sql: string) => string][] = [
        ...['serialHolder', 'releaseSerial', 'nextInLine', 'removeSerialGate'].map(
          (name): [string, (sql: string) => string] => [name, shared],
        ),
        ['holdSerial', (sql) => sql.replace('?, ?', "json_set(?, '$[0]', NULL), ?")],
        ['addGate', (sql) => sql.replace('?, ?, ?, ?', `?1, ${gate}, ?3, ?4`)],
      ];
      return statements.reduce((one, [name, change]) => withSql(['job', name], change)(one), engine);
    },
  },
  {
    name: 'a worker is not told when a pause ends by itself',
    caughtBy: ['starts-in-time'],
    mutate: (engine) => {
      const ends = new Set<number>();
      return {
        ...engine,
        records(input) {
          for (const op of input.groups.flatMap(({ ops }) => ops)) {
            if (op.kind !== 'pause' || op.op !== 'put') continue;
            const { untilAt } = JSON.parse(op.value) as PauseValue;
            if (untilAt !== null) ends.add(untilAt);
          }
          return engine.records(input);
        },
        async exchange(input) {
          const reply = await engine.exchange(input);
          return ends.has(reply.nextDueAt ?? 0) ? { ...reply, nextDueAt: null } : reply;
        },
      };
    },
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
        const targets = settle.filter((one, i) => one !== input.settle[i]).map(({ id }) => ({ id }));
        if (targets.length > 0)
          await engine.retry({ groups: [{ actor: 'defect', note: null, targets }], now: input.now });
        return reply;
      },
    }),
  },
  {
    name: 'a job that began is asked to cancel by nobody',
    caughtBy: ['cancels-hold'],
    mutate: withSql(['lease', 'heartbeat'], (sql) =>
      sql.replace('RETURNING cancel_requested_at', 'RETURNING begun_at AS cancel_requested_at'),
    ),
  },
  {
    name: 'a job that returned while a cancel was asked is kept as CANCELLED',
    caughtBy: ['outcome-follows'],
    mutate: (engine) => ({
      ...engine,
      async exchange(input) {
        const ids = input.settle.filter(({ to }) => to === 'COMPLETED').map(({ id }) => id);
        const { jobs } = await engine.get({ ids, now: input.now });
        const asked = new Set(jobs.filter((job) => job?.cancelRequestedAt != null).map((job) => job?.id));
        const settle = input.settle.map((one) =>
          one.to === 'COMPLETED' && asked.has(one.id)
            ? ({ ...one, to: 'CANCELLED', reason: 'cancelled', result: null } as const)
            : one,
        );
        return engine.exchange({ ...input, settle });
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
    name: 'a call that was folded creates a job when it is sent again',
    caughtBy: ['one-holder'],
    mutate: withSql(['value', 'remembered'], (sql) => `${sql} AND scope <> 'fold'`),
  },
  {
    name: 'two tenants share a dedupe key',
    caughtBy: ['one-holder'],
    mutate: withSql(['dedupe', 'holder'], (sql) => sql.replace('tenant = ?', '(tenant = ? OR 1)')),
  },
  {
    name: 'a key is held until its job is over, however long was asked for',
    caughtBy: ['one-holder'],
    mutate: withSql(['dedupe', 'hold'], (sql) =>
      sql
        .replace('until_at = excluded.until_at', 'until_at = NULL')
        .replace('VALUES (?, ?, ?, ?, ?, ?)', 'VALUES (?, ?, ?, ?, iif(?, NULL, NULL), ?)'),
    ),
  },
  {
    name: 'a job that is moved keeps its place in line',
    caughtBy: ['limits-hold'],
    mutate: withSql(['job', 'reorderGate'], (sql) => sql.replace('WHERE', 'WHERE 0 AND')),
  },
  {
    name: 'a job that puts itself off keeps its serial place',
    caughtBy: ['limits-hold'],
    mutate: withSql(
      ['job', 'releaseSerial'],
      (sql) => `${sql} AND NOT EXISTS (SELECT 1 FROM jobs WHERE seq = job AND status = 'SCHEDULED')`,
    ),
  },
  {
    name: 'the beginning of an earlier attempt is taken for that of a later one',
    caughtBy: ['outcome-follows'],
    mutate: (engine) => {
      const forget = (sql: string): string => sql.replace('begun_at = NULL, ', '');
      return withSql(['claim', 'take'], forget)(withSql(['claim', 'takeMany'], forget)(engine));
    },
  },
  {
    name: 'a job that was lost is given out together with others',
    caughtBy: ['suspects-alone'],
    mutate: withSql(['settle', 'again'], (sql) =>
      sql.replace('coalesce(:solo, solo)', '0 * coalesce(:solo, 0)'),
    ),
  },
  {
    name: 'an attempt that was given back unused counts',
    caughtBy: ['attempts-counted'],
    mutate: withSql(['settle', 'again'], (sql) =>
      sql.replace('attempt = :attempt', 'attempt = max(attempt, :attempt)'),
    ),
  },
  {
    name: 'the first start of a job is that of its last attempt',
    caughtBy: ['attempts-counted'],
    mutate: withSql(['claim', 'take'], (sql) =>
      sql.replace('started_at = coalesce(started_at, ?)', 'started_at = ?'),
    ),
  },
  {
    name: 'how late a job started is that of its last attempt',
    caughtBy: ['attempts-counted'],
    mutate: withSql(['claim', 'take'], (sql) =>
      sql.replace('coalesce(lateness_ms, max(0, ? - due_at))', 'max(0, ? - due_at)'),
    ),
  },
  {
    name: 'progress goes back',
    caughtBy: ['attempts-counted'],
    mutate: withSql(['report', 'progress'], (sql) => sql.replace('max(percent, :percent)', ':percent / 2')),
  },
  {
    name: 'a start deadline does not move with its job',
    caughtBy: ['deadlines-hold'],
    mutate: withSql(['job', 'place'], (sql) => sql.replace('(? - due_at)', '0 * (? - due_at)')),
  },
  {
    name: 'jobs are taken in the order in which they were created',
    caughtBy: ['taken-by-rank'],
    mutate: withSql(['claim', 'heads'], (sql) => sql.replace('ORDER BY rank, seq', 'ORDER BY seq')),
  },
  {
    name: 'a job is moved to another instant than was asked for',
    caughtBy: ['jobs-as-asked'],
    mutate: (engine) => ({
      ...engine,
      reschedule: (input) =>
        engine.reschedule({
          ...input,
          groups: input.groups.map((group) => ({ ...group, due: { inMs: 0 } })),
        }),
    }),
  },
  {
    name: 'a heartbeat under a dead fence renews the lease of another',
    caughtBy: ['one-lease'],
    mutate: withSql(['lease', 'heartbeat'], (sql) => sql.replace('fence = ?', '(fence = ? OR 1)')),
  },
  {
    name: 'a lease is taken over with the fence that it had',
    caughtBy: ['fences-grow'],
    mutate: withSql(['lease', 'takeOver'], (sql) => sql.replace('fence = ?', 'fence = max(fence, 0 * ?)')),
  },
  {
    name: 'the feed leaves out what returned',
    caughtBy: ['feed-reports'],
    mutate: withSql(['changes', 'append'], (sql) =>
      sql.replace('VALUES (?, ?)', "SELECT ?1, ?2 WHERE ?2 NOT LIKE '%returned%'"),
    ),
  },
  {
    name: 'jobs with a dedupe key are taken only when nothing else runs',
    caughtBy: ['starts-in-time'],
    mutate: withSql(['claim', 'heads'], (sql) =>
      sql.replace(
        'ORDER BY',
        "AND (dedupe_key IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.status = 'RUNNING')) ORDER BY",
      ),
    ),
  },
  {
    name: 'nobody is told of new jobs',
    caughtBy: ['starts-in-time'],
    mutate: (engine) => ({
      ...engine,
      subscribe: (listener) =>
        engine.subscribe((notification) => {
          if (notification.kind !== 'jobs') listener(notification);
        }),
    }),
  },
  {
    name: 'calls that extend put a job off for ever',
    caughtBy: ['jobs-as-asked'],
    mutate: (engine) => ({
      ...engine,
      enqueue: (input) =>
        engine.enqueue({
          ...input,
          groups: input.groups.map(({ jobs }) => ({
            jobs: jobs.map((job) =>
              job.dedupe === null ? job : { ...job, dedupe: { ...job.dedupe, maxWaitMs: null } },
            ),
          })),
        }),
    }),
  },
];
