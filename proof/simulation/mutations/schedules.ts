/** Defects in what becomes of schedules: the planner, what passes between it and the store, and the verbs that write decisions. */
import type { FireReply, JobSpec, ScheduleChange } from '../../../packages/core/src/contract/engine.ts';
import type { Dst } from '../../../packages/core/src/schedules/calendar/zoned-times.ts';
import type { ResolvedPolicies } from '../../../packages/core/src/schedules/definition/policies.ts';
import type { ScheduleSpec } from '../../../packages/core/src/schedules/definition/spec.ts';
import {
  type Mutate,
  type Mutation,
  onApply,
  onFire,
  type Put,
  withoutAuditOf,
  withSql,
} from './mutation.ts';

const second = 1_000;

/** Every one of them. */
export const scheduleMutations: readonly Mutation[] = [
  {
    name: 'a schedule does not hear of the end that it waits for',
    caughtBy: ['schedules-live', 'decisions-predicted'],
    mutate: withSql(['job', 'wakeSchedules'], (sql) => sql.replace('WHERE', 'WHERE 0 AND')),
  },
  {
    name: 'a schedule does not hear of the end that it waits for, in a list',
    caughtBy: ['schedules-live', 'decisions-predicted'],
    mutate: withSql(['job', 'followed'], (sql) =>
      sql.replace('WHERE waits_for IN', 'WHERE 0 AND waits_for IN'),
    ),
  },
  {
    name: 'a schedule that is created again is taken for the one that was deleted',
    caughtBy: ['one-decision'],
    mutate: withSql(['schedule', 'generation'], (sql) =>
      sql.replace('SELECT generation', 'SELECT generation - 1 AS generation'),
    ),
  },
  {
    name: 'a change is applied to the schedule that was created again meanwhile',
    caughtBy: ['one-decision'],
    mutate: (engine) => ({
      ...engine,
      applySchedules: (input) =>
        engine.applySchedules({
          ...input,
          groups: input.groups.map(({ actor, changes }) => ({
            actor,
            changes: changes.map(({ expectGeneration: _expected, ...change }) => change),
          })),
        }),
    }),
  },
  {
    name: 'the cursor moves and the job is not created',
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
    name: 'the ledger keeps no reasons',
    caughtBy: ['one-decision'],
    mutate: onFire((group) => ({ ...group, slots: group.slots.map((slot) => ({ ...slot, reason: null })) })),
  },
  {
    name: 'the ledger names a node that decided nothing',
    caughtBy: ['stored-as-reported'],
    mutate: onFire((group) => ({
      ...group,
      slots: group.slots.map((slot) => ({ ...slot, node: 'nobody' })),
    })),
  },
  {
    name: 'the ledger counts every row of slots as one',
    caughtBy: ['one-decision'],
    mutate: onFire((group) => ({ ...group, slots: group.slots.map((slot) => ({ ...slot, count: 1 })) })),
  },
  {
    name: 'a scheduler gives no reasons',
    caughtBy: ['decisions-predicted'],
    mutateNode: onFire((group) => ({
      ...group,
      slots: group.slots.map((slot) => ({ ...slot, reason: null })),
    })),
  },
  {
    name: 'a scheduler counts every row of slots as one',
    caughtBy: ['decisions-predicted'],
    mutateNode: onFire((group) => ({ ...group, slots: group.slots.map((slot) => ({ ...slot, count: 1 })) })),
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
        const reply = await engine.claimSchedules({ ...input, now: (input.now ?? 0) - 12_000 });
        return {
          ...reply,
          now: input.now ?? 0,
          nextDueAt: reply.nextDueAt === null ? null : reply.nextDueAt + 12_000,
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
    name: 'a run does not wait for those before it',
    caughtBy: ['gates-hold'],
    mutate: onFire((group) => ({ ...group, jobs: group.jobs.map((job) => ({ ...job, gates: [] })) })),
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
    mutate: onFire((group) => ({ ...group, slotDetails: [] })),
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
    name: 'what runs when its schedule is deleted is asked to cancel',
    caughtBy: ['cancels-hold'],
    mutate: withSql(['schedule', 'unstarted'], (sql) => sql.replace('AND started_at IS NULL', '')),
  },
  {
    name: 'what waits when its schedule is deleted is left',
    caughtBy: ['cancels-hold'],
    mutate: withSql(['schedule', 'unstarted'], (sql) => `${sql} AND id = ''`),
  },
  {
    name: 'the runs of `bufferAll` stand in no line',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) =>
        job.serial === `schedule:${group.scheduleId}` ? { ...job, serial: null } : job,
      ),
    })),
  },
  {
    name: 'the places of a backfill have no line',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onApply(['backfill'], (change) => ({
      ...change,
      jobs: change.jobs.map((job) => ({ ...job, serial: null })),
    })),
  },
  {
    name: 'the serial key of a schedule is not passed on',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) => (job.serial?.startsWith('schedule:') ? job : { ...job, serial: null })),
    })),
  },
  {
    name: 'the serial key of a run is not stored',
    caughtBy: ['jobs-as-asked'],
    mutate: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) => ({ ...job, serial: null })),
    })),
  },
  {
    name: 'what is caught up on ranks with what is live',
    caughtBy: ['jobs-as-asked'],
    mutateNode: onFire((group) => ({
      ...group,
      jobs: group.jobs.map((job) => ({ ...job, rankOffsetMs: 0 - job.priority * 60_000 })),
    })),
  },
  {
    name: 'a run that has started is told what was merged into it',
    caughtBy: ['gates-hold'],
    mutate: withSql(['schedule', 'waits'], (sql) =>
      sql.replace("AND status IN ('SCHEDULED', 'PENDING', 'BLOCKED')", ''),
    ),
  },
  {
    name: 'a row of the ledger that grows keeps its count',
    caughtBy: ['one-decision'],
    mutate: withSql(['schedule', 'extendSlot'], (sql) => sql.replace('count = ?', 'count = min(count, ?)')),
  },
  {
    name: 'runs that stand beside the others count for overlap',
    caughtBy: ['decisions-predicted'],
    mutate: withSql(['schedule', 'active'], (sql) =>
      sql.replace("AND json_extract(slot, '$.allow') IS NOT 1", ''),
    ),
  },
  {
    name: 'nobody waits for the end of the lease of a node that died while it decided',
    caughtBy: ['decisions-predicted'],
    mutate: withSql(['schedule', 'nextDue'], (sql) =>
      sql.replace('AND token <> ?2', 'AND 0 AND token <> ?2'),
    ),
  },
  {
    name: 'the runs of schedules are taken only when nothing else runs',
    caughtBy: ['starts-in-time'],
    mutate: withSql(['claim', 'heads'], (sql) =>
      sql.replace(
        'ORDER BY',
        "AND (schedule_id IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.status = 'RUNNING')) ORDER BY",
      ),
    ),
  },
  {
    name: 'nobody is told of changed schedules',
    caughtBy: ['decisions-predicted'],
    mutate: (engine) => ({
      ...engine,
      subscribe: (listener) =>
        engine.subscribe((notification) => {
          if (notification.kind !== 'schedules') listener(notification);
        }),
    }),
  },
  {
    name: 'a schedule waits for nobody',
    caughtBy: ['decisions-predicted'],
    mutate: onFire((group) => ({ ...group, waitsFor: null })),
  },
  {
    name: 'a fixed delay counts from another instant',
    caughtBy: ['decisions-predicted'],
    mutate: (engine) => ({
      ...engine,
      async claimSchedules(input) {
        const reply = await engine.claimSchedules(input);
        const early = reply.schedules.map((one) => {
          const { waited } = one;
          return { ...one, waited: waited && { ...waited, finishedAt: waited.finishedAt - second } };
        });
        return { ...reply, schedules: early };
      },
    }),
  },
  {
    name: 'skipNext names no slot',
    caughtBy: ['decisions-predicted'],
    mutateNode: onApply(['skip-next'], (change) => withState(change, { skips: [], skipsComing: false })),
  },
  {
    name: 'an edit moves what a rate counts from',
    caughtBy: ['decisions-predicted'],
    mutate: onApply(['edit'], (change) => {
      const { anchorAt } = JSON.parse(change.state) as { anchorAt: number };
      return withState(change, { anchorAt: anchorAt + second });
    }),
  },
  {
    name: 'a resume leaves out the first slot that it decides',
    caughtBy: ['decisions-predicted'],
    mutateNode: onApply(['resume'], (change) => ({ ...change, slots: change.slots.slice(1) })),
  },
  {
    name: 'the slots of a pause are decided by the wrong policy',
    caughtBy: ['decisions-predicted'],
    mutate: onPolicies(({ onResume }) => ({ onResume: onResume === 'skip' ? 'latest' : 'skip' })),
  },
  {
    name: 'a schedule is paused one failure too late',
    caughtBy: ['decisions-predicted'],
    mutate: onPolicies(({ pauseAfterFailures: count }) => ({
      pauseAfterFailures: count === null ? null : count + 1,
    })),
  },
  {
    name: 'a schedule has one run more than it may',
    caughtBy: ['decisions-predicted'],
    mutate: onPolicies(({ maxRuns }) => ({ maxRuns: maxRuns === null ? null : maxRuns + 1 })),
  },
  {
    name: 'a schedule goes on after its end',
    caughtBy: ['decisions-predicted'],
    mutate: onPolicies(() => ({ endAt: null })),
  },
  {
    name: 'one slot more is caught up on',
    caughtBy: ['decisions-predicted'],
    mutate: onPolicies(({ catchUpLimit }) => ({ catchUpLimit: catchUpLimit + 1 })),
  },
  {
    name: 'slots are caught up on however old they are',
    caughtBy: ['decisions-predicted'],
    mutate: onPolicies(() => ({ catchUpWindowMs: null })),
  },
  {
    name: 'one run more waits than may',
    caughtBy: ['decisions-predicted'],
    mutate: onPolicies(({ bufferLimit }) => ({ bufferLimit: bufferLimit + 1 })),
  },
  {
    name: 'what is excluded fires',
    caughtBy: ['decisions-predicted'],
    mutate: onSpec((spec) => {
      const { exclude: _exclude, ...rule } = spec.rule;
      return { ...spec, rule };
    }),
  },
  {
    name: 'an edit of a schedule leaves no audit row',
    caughtBy: ['acts-audited'],
    mutate: withoutAuditOf('edit'),
  },
  {
    name: 'a time in the hour that clocks skip is forgotten',
    caughtBy: ['decisions-predicted'],
    mutate: onDst(() => ({ gap: 'skip' })),
  },
  {
    name: 'a time in the hour that clocks skip fires though it must not',
    caughtBy: ['decisions-predicted'],
    mutate: onDst(() => ({ gap: 'next' })),
  },
  {
    name: 'a time in the hour that clocks repeat fires twice',
    caughtBy: ['decisions-predicted'],
    mutate: onDst(() => ({ repeat: 'both' })),
  },
  {
    name: 'a time in the hour that clocks repeat fires the second time only',
    caughtBy: ['decisions-predicted'],
    mutate: onDst(({ repeat }) => ({ repeat: repeat === 'first' ? 'last' : repeat })),
  },
  {
    name: 'times of the day are taken for those of UTC',
    caughtBy: ['decisions-predicted'],
    mutate: onSpec((spec) =>
      spec.rule.cron === undefined ? spec : { ...spec, rule: { ...spec.rule, timezone: 'UTC' } },
    ),
  },
];

/** What becomes of a schedule, with some of the planner's own side otherwise. */
function withState(change: Put, fields: Record<string, unknown>): Put {
  const state = JSON.parse(change.state) as Record<string, unknown>;
  return { ...change, state: JSON.stringify({ ...state, ...fields }) };
}

/** Changes what a node that decides is told of a schedule. */
function onSpec(change: (spec: ScheduleSpec) => ScheduleSpec): Mutate {
  return (engine) => ({
    ...engine,
    async claimSchedules(input) {
      const reply = await engine.claimSchedules(input);
      const schedules = reply.schedules.map((one) => {
        const spec = JSON.stringify(change(JSON.parse(one.spec) as ScheduleSpec));
        return { ...one, spec };
      });
      return { ...reply, schedules };
    },
  });
}

/** Changes what a node that decides is told of a schedule's policies. */
function onPolicies(change: (policies: ResolvedPolicies) => Partial<ResolvedPolicies>): Mutate {
  return onSpec((spec) => ({ ...spec, policies: { ...spec.policies, ...change(spec.policies) } }));
}

/** Changes what a node that decides is told of a rule and changed clocks. */
function onDst(change: (dst: Dst) => Partial<Dst>): Mutate {
  return onSpec(({ rule, ...spec }) => {
    if (rule.dst === undefined) return { ...spec, rule };
    const dst = rule.dst as Dst;
    return { ...spec, rule: { ...rule, dst: { ...dst, ...change(dst) } } };
  });
}
