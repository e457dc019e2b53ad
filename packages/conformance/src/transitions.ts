import assert from 'node:assert/strict';
import { type JobStatus, jobStatuses, jobTransitions } from '@duly/core';
import type {
  ChangedItem,
  Engine,
  JobEvent,
  JobRecord,
  JobTransition,
  Settlement,
} from '@duly/core/internal';
import { day, hour, jobSpec, lostSettlement, minute, second, settlement, t0 } from './builders.ts';
import {
  actOn,
  cancel,
  claim,
  claimOne,
  create,
  createRunning,
  finish,
  heartbeat,
  only,
  read,
  reap,
  reschedule,
  retry,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** Brings a job to a status; then `step` makes the transition. */
type Scenario = (engine: Engine) => Promise<{ id: string; step: () => Promise<unknown> }>;

const nameOf = ({ from, event, to }: JobTransition): string => `${from ?? 'nothing'} –${event}→ ${to}`;

/** A job in every status, each by the shortest way; all are long dead to the clock at `t0 + day`. */
const bring: Record<
  JobStatus,
  (engine: Engine, serial?: string | null) => Promise<{ id: string; fence: number }>
> = {
  SCHEDULED: async (engine, serial = null) => {
    const { id } = await create(engine, { serial, due: { at: t0 + hour }, startDeadlineMs: minute });
    return { id, fence: 0 };
  },
  PENDING: async (engine, serial = null) => {
    const { id } = await create(engine, { serial, startDeadlineMs: minute });
    return { id, fence: 0 };
  },
  BLOCKED: async (engine) => {
    const holder = await create(engine, { type: 'holder', due: { at: t0 + 9 * day } });
    const { id } = await create(engine, {
      gates: [{ kind: 'parent', ref: holder.id }],
      startDeadlineMs: minute,
    });
    return { id, fence: 0 };
  },
  RUNNING: (engine, serial = null) =>
    createRunning(engine, { serial, startDeadlineMs: minute }, t0, { leaseMs: 2 * day }),
  RETRYING: async (engine) => {
    const lease = await bring.RUNNING(engine);
    await finish(engine, lease, 'RETRYING', { due: { at: t0 + 3 * day } });
    return lease;
  },
  COMPLETED: (engine, serial) => ended(engine, 'COMPLETED', serial),
  FAILED: (engine, serial) => ended(engine, 'FAILED', serial),
  CANCELLED: (engine, serial) => ended(engine, 'CANCELLED', serial),
  EXPIRED: async (engine, serial = null) => {
    const { id } = await create(
      engine,
      { serial, due: { at: t0 - hour }, startDeadlineMs: minute },
      t0 - hour,
    );
    await reap(engine, t0);
    return { id, fence: 0 };
  },
};

async function ended(engine: Engine, to: 'COMPLETED' | 'FAILED' | 'CANCELLED', serial: string | null = null) {
  const lease = await bring.RUNNING(engine, serial);
  await finish(engine, lease, to);
  return lease;
}

const settled =
  (to: Settlement['to'], fields: Partial<Settlement> = {}): Scenario =>
  async (engine) => {
    const lease = await bring.RUNNING(engine);
    return { id: lease.id, step: () => finish(engine, lease, to, fields) };
  };

const cancelled =
  (from: JobStatus): Scenario =>
  async (engine) => {
    const { id } = await bring[from](engine);
    return { id, step: () => cancel(engine, { id }) };
  };

const retried =
  (from: JobStatus): Scenario =>
  async (engine) => {
    const { id } = await bring[from](engine);
    return { id, step: () => retry(engine, id) };
  };

const retriedBehindAnother =
  (from: JobStatus): Scenario =>
  async (engine) => {
    const { id } = await bring[from](engine, 's');
    await create(engine, { serial: 's' });
    return { id, step: () => retry(engine, id) };
  };

const expired =
  (from: JobStatus, now = t0 + day): Scenario =>
  async (engine) => {
    const { id } = await bring[from](engine);
    return { id, step: () => reap(engine, now) };
  };

const created =
  (fields: Parameters<typeof create>[1]): Scenario =>
  async (engine) => {
    const holder = await create(engine, { type: 'holder' });
    const gates = fields?.gates?.map((gate) => ({ ...gate, ref: holder.id })) ?? [];
    const spec = jobSpec({ ...fields, gates });
    return { id: spec.id, step: () => create(engine, spec) };
  };

const gateOpens =
  (dueAt: number): Scenario =>
  async (engine) => {
    const holder = await create(engine, { type: 'holder' });
    const { id } = await create(engine, { due: { at: dueAt }, gates: [{ kind: 'parent', ref: holder.id }] });
    return { id, step: () => cancel(engine, { id: holder.id }) };
  };

/** How to make every transition of the table happen. The first test compares this list with the table. */
const scenarios: Record<string, Scenario> = {
  'nothing –created→ SCHEDULED': created({ due: { at: t0 + hour } }),
  'nothing –created→ PENDING': created({}),
  'nothing –created→ BLOCKED': created({ gates: [{ kind: 'parent', ref: '' }] }),
  'SCHEDULED –due→ PENDING': async (engine) => {
    const { id } = await create(engine, { due: { at: t0 + hour } });
    return { id, step: () => reap(engine, t0 + hour) };
  },
  'SCHEDULED –gate-shut→ BLOCKED': async (engine) => {
    const { id } = await create(engine, { serial: 's', due: { at: t0 + hour } });
    await create(engine, { serial: 's' });
    return { id, step: () => reap(engine, t0 + hour) };
  },
  'BLOCKED –gate-open→ PENDING': gateOpens(t0),
  'BLOCKED –gate-open→ SCHEDULED': gateOpens(t0 + hour),
  'PENDING –claimed→ RUNNING': async (engine) => {
    const { id } = await bring.PENDING(engine);
    return { id, step: () => claim(engine) };
  },
  'RETRYING –claimed→ RUNNING': async (engine) => {
    const { id } = await bring.RETRYING(engine);
    return { id, step: () => claim(engine, {}, t0 + 3 * day) };
  },
  'RUNNING –returned→ COMPLETED': settled('COMPLETED'),
  'RUNNING –failed→ RETRYING': settled('RETRYING'),
  'RUNNING –failed→ FAILED': settled('FAILED'),
  'RUNNING –snoozed→ SCHEDULED': settled('SCHEDULED'),
  'RUNNING –lost→ RETRYING': async (engine) => {
    const { id } = await createRunning(engine);
    return {
      id,
      step: async () =>
        settle(engine, lostSettlement(only(await reap(engine, t0 + hour)), 'unproven'), t0 + hour),
    };
  },
  'RUNNING –lost→ FAILED': async (engine) => {
    const { id } = await createRunning(engine);
    const fields = { reason: 'lost', loss: 'begun', spends: false } as const;
    return { id, step: async () => finish(engine, only(await reap(engine, t0 + hour)), 'FAILED', fields) };
  },
  'RUNNING –released→ PENDING': settled('PENDING'),
  'RUNNING –cancelled→ CANCELLED': settled('CANCELLED'),
  'SCHEDULED –cancelled→ CANCELLED': cancelled('SCHEDULED'),
  'PENDING –cancelled→ CANCELLED': cancelled('PENDING'),
  'BLOCKED –cancelled→ CANCELLED': cancelled('BLOCKED'),
  'RETRYING –cancelled→ CANCELLED': cancelled('RETRYING'),
  'SCHEDULED –expired→ EXPIRED': expired('SCHEDULED'),
  'PENDING –expired→ EXPIRED': expired('PENDING'),
  'BLOCKED –expired→ EXPIRED': expired('BLOCKED'),
  // Its lease was lost before its handler was entered: it waits to start again and has never started.
  'RETRYING –expired→ EXPIRED': async (engine) => {
    const { id } = await create(engine, { startDeadlineMs: 2 * hour });
    await claimOne(engine);
    const taken = only(await reap(engine, t0 + hour));
    assert.equal(await settle(engine, lostSettlement(taken, 'unproven'), t0 + hour), 'done');
    return { id, step: () => reap(engine, t0 + 3 * hour) };
  },
  'PENDING –rescheduled→ SCHEDULED': async (engine) => {
    const { id } = await bring.PENDING(engine);
    return { id, step: () => reschedule(engine, { id }, { at: t0 + hour }) };
  },
  'FAILED –retried→ PENDING': retried('FAILED'),
  'CANCELLED –retried→ PENDING': retried('CANCELLED'),
  'EXPIRED –retried→ PENDING': retried('EXPIRED'),
  'FAILED –retried→ BLOCKED': retriedBehindAnother('FAILED'),
  'CANCELLED –retried→ BLOCKED': retriedBehindAnother('CANCELLED'),
  'EXPIRED –retried→ BLOCKED': retriedBehindAnother('EXPIRED'),
};

/** An act on a job that must be refused where the table has no transition for it. */
interface Attempt {
  name: string;
  /** Statuses in which the act is refused. */
  refusedIn: readonly JobStatus[];
  run(engine: Engine, job: JobRecord): Promise<void>;
}

const without = (event: JobEvent): JobStatus[] =>
  jobStatuses.filter((status) => !jobTransitions.some((one) => one.from === status && one.event === event));

const refusedItem = (item: ChangedItem, job: JobRecord): void => {
  assert.ok(item.result === 'refused' || item.result === 'unchanged', item.result);
  assert.equal(item.status, job.status);
};

const settleAttempts = (
  ['COMPLETED', 'FAILED', 'RETRYING', 'SCHEDULED', 'PENDING', 'CANCELLED'] as const
).flatMap((to): Attempt[] => [
  {
    name: `a settlement to ${to} under the last fence`,
    refusedIn: jobStatuses.filter((status) => status !== 'RUNNING'),
    run: async (engine, job) => assert.equal(await settle(engine, settlement(job, to), t0 + 1), 'lost'),
  },
  {
    name: `a settlement to ${to} under a fence that was never given`,
    refusedIn: jobStatuses,
    run: async (engine, { id, fence }) => {
      assert.equal(await settle(engine, settlement({ id, fence: fence + 1_000 }, to), t0 + 1), 'lost');
    },
  },
]);

const attempts: Attempt[] = [
  ...settleAttempts,
  ...(['RUNNING', 'BLOCKED', 'EXPIRED', 'NONSENSE'] as const).map(
    (to): Attempt => ({
      name: `a settlement to ${to}, which is no outcome`,
      refusedIn: jobStatuses,
      run: async (engine, job) => {
        // A broken caller may be told by an exception as well.
        const one = settlement(job, to as Settlement['to'], { reason: 'returned' });
        const outcome = await settle(engine, one, t0 + 1).catch(() => 'refused');
        assert.notEqual(outcome, 'done');
      },
    }),
  ),
  {
    name: 'a claim',
    // RETRYING is not due here; what is due is a scenario above.
    refusedIn: [...without('claimed'), 'RETRYING'],
    run: async (engine, job) => {
      assert.ok(!(await claim(engine, {}, t0 + 1)).some(({ id }) => id === job.id));
    },
  },
  {
    name: 'a heartbeat under the last fence',
    refusedIn: jobStatuses.filter((status) => status !== 'RUNNING'),
    run: async (engine, job) => {
      assert.deepEqual(await heartbeat(engine, job, t0 + 1, { begun: true }), { state: 'lost' });
    },
  },
  {
    name: 'a cancel',
    refusedIn: without('cancelled'),
    run: async (engine, job) => refusedItem(await cancel(engine, { id: job.id }, t0 + 1), job),
  },
  {
    name: 'a termination',
    refusedIn: without('cancelled'),
    run: async (engine, job) => refusedItem(await cancel(engine, { id: job.id }, t0 + 1, 'terminate'), job),
  },
  {
    name: 'a reschedule',
    refusedIn: ['RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'],
    run: async (engine, job) =>
      refusedItem(await reschedule(engine, { id: job.id }, { inMs: second }, t0 + 1), job),
  },
  {
    name: 'a retry',
    refusedIn: without('retried'),
    run: async (engine, job) => refusedItem(await retry(engine, job.id, t0 + 1), job),
  },
  {
    name: 'the passing of its start deadline',
    refusedIn: [...without('expired'), 'RETRYING'],
    run: async (engine, job) => {
      const { jobs } = await engine.reap({ now: t0 + day, node: 'reaper', leaseMs: second, limit: 100 });
      assert.ok(!jobs.some(({ id }) => id === job.id));
    },
  },
  {
    name: 'a second enqueue of its id',
    refusedIn: jobStatuses,
    run: async (engine, job) => {
      const { groups } = await engine.enqueue({
        now: t0 + 1,
        repeat: true,
        groups: [{ jobs: [jobSpec({ id: job.id, input: '"other"', due: { at: t0 + 3 * day } })] }],
      });
      const group = only(groups);
      assert.ok(group.ok);
      assert.deepEqual([only(group.items).id, only(group.items).status], [job.id, job.status]);
    },
  },
  ...(['cancel', 'terminate', 'retry', 'discard'] as const).map(
    (action): Attempt => ({
      name: `an action on listed jobs: ${action}`,
      refusedIn:
        action === 'discard'
          ? jobStatuses.filter((status) => status !== 'FAILED')
          : without(action === 'retry' ? 'retried' : 'cancelled'),
      run: async (engine, job) => {
        const { result } = only(await actOn(engine, action, [{ id: job.id }], t0 + 1));
        assert.ok(result === 'refused' || result === 'unchanged', result);
      },
    }),
  ),
];

/** Every transition of the table in job.ts happens; every other is refused and leaves the job as it was. */
export function transitionTests(test: DefineTest): void {
  test('there is a scenario for every transition of the table, and for no other', async () => {
    assert.deepEqual(Object.keys(scenarios).sort(), jobTransitions.map(nameOf).sort());
  });

  for (const transition of jobTransitions) {
    const name = nameOf(transition);
    test(`allowed: ${name}`, async ({ engine }) => {
      const scenario = scenarios[name];
      assert.ok(scenario, `a scenario for ${name}`);
      const { id, step } = await scenario(engine);
      if (transition.from === null) assert.deepEqual((await engine.get({ now: t0, ids: [id] })).jobs, [null]);
      else assert.equal(await statusOf(engine, id), transition.from);
      await step();
      assert.equal(await statusOf(engine, id), transition.to);
    });
  }

  for (const status of jobStatuses) {
    test(`a job that is ${status} refuses everything the table does not allow`, async ({ engine }) => {
      const { id } = await bring[status](engine);
      const before = await read(engine, id);
      assert.equal(before.status, status);
      for (const attempt of attempts) {
        if (!attempt.refusedIn.includes(status)) continue;
        await attempt.run(engine, before);
        assert.deepEqual(await read(engine, id), before, `${attempt.name} changed nothing`);
      }
    });
  }
}
