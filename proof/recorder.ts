/** Writes the history at the engine contract: what was asked of the store and what it answered. */
import type {
  Engine,
  EngineVerb,
  JobSpec,
  PauseValue,
  ReportBody,
  ScheduleChange,
  VerbCall,
} from '../packages/core/src/contract/engine.ts';
import { mapVerbs } from '../packages/core/src/contract/verbs.ts';
import type { StoredRetry } from '../packages/core/src/lifecycle/retry.ts';
import type { CreatedJob, HistoryEvent, ReplacedFields, WriteEvent } from './history.ts';

type Reported = { [Verb in EngineVerb]?: (input: Input<Verb>, reply: Answer<Verb>) => HistoryEvent[] };
type Input<Verb extends EngineVerb> = Parameters<Engine[Verb]>[0];
type Answer<Verb extends EngineVerb> = Awaited<ReturnType<Engine[Verb]>>;

/** The events of one call that took effect. */
export function eventsOfCall<Verb extends EngineVerb>(
  node: string,
  verb: Verb,
  input: Input<Verb>,
  reply: Answer<Verb>,
): HistoryEvent[] {
  const describe = recorded(node)[verb] as
    | ((input: Input<Verb>, reply: Answer<Verb>) => HistoryEvent[])
    | undefined;
  return describe === undefined ? [] : describe(input, reply);
}

/** The engine, with its history written down. `node` names whose calls these are. */
export function recordEngine(engine: Engine, node: string, write: WriteEvent): Engine {
  const recorded = (verb: EngineVerb): VerbCall => {
    const call = (engine[verb] as VerbCall).bind(engine);
    return async (input) => {
      const reply = await call(input);
      for (const event of eventsOfCall(node, verb, input, reply as never)) write(event);
      return reply;
    };
  };
  return {
    ...mapVerbs(recorded),
    info: () => engine.info(),
    subscribe: (listener) => engine.subscribe(listener),
    probe: () => engine.probe(),
    close: () => engine.close(),
  };
}

function recorded(node: string): Reported {
  const claimed = (
    jobs: Answer<'exchange'>['claimed'],
    leaseMs: number,
  ): Extract<HistoryEvent, { kind: 'claimed' }>[] =>
    jobs.map(({ id, type, version, queue, attempt, fence, dueAt, claimedAt }) => ({
      kind: 'claimed',
      // A reply may carry the instant at which the call began.
      at: claimedAt,
      node,
      id,
      type,
      version,
      queue,
      attempt,
      fence,
      dueAt,
      untilAt: claimedAt + leaseMs,
      together: jobs.length,
    }));

  return {
    enqueue(input, reply) {
      const jobs = reply.groups.flatMap((group, i) =>
        group.ok
          ? group.items.flatMap((item, j) => {
              const spec = input.groups[i]?.jobs[j] as JobSpec;
              return item.deduped ? [] : [toCreated(spec, item.dueAt)];
            })
          : [],
      );
      const events: HistoryEvent[] =
        jobs.length === 0 ? [] : [{ kind: 'created', at: reply.now, node, jobs }];
      for (const [i, group] of reply.groups.entries()) {
        for (const [j, { id, status, deduped, dueAt }] of (group.ok ? group.items : []).entries()) {
          // Folded into the holder of its key, which may have been moved by it.
          if (!deduped) continue;
          const spec = (input.groups[i] as (typeof input.groups)[number]).jobs[j] as JobSpec;
          const { id: call, type, tenant, dedupe, input: given, due } = spec;
          const key = dedupe === null ? null : { type, tenant, key: dedupe.key };
          events.push({
            kind: 'changed',
            at: reply.now,
            node,
            verb: 'fold',
            id,
            result: 'deduped',
            status,
            key,
            folded: {
              call,
              input: given,
              wantedAt: dueOf({ due }, reply.now),
              ...(dedupe?.maxWaitMs == null ? {} : { maxWaitMs: dedupe.maxWaitMs }),
              replaces: dedupe !== null && dedupe.mode !== 'drop',
              fields: replacedFieldsOf(spec),
              dueAt,
              ...(input.repeat === true ? { repeat: true } : {}),
            },
          });
        }
      }
      return [...events, ...claimed(reply.claimed, input.claim?.leaseMs ?? 0)];
    },
    exchange(input, reply) {
      const settled = input.settle.map(
        ({ id, fence, to, reason, spends, due, result, error, report }, i): HistoryEvent => ({
          kind: 'settled',
          at: reply.now,
          node,
          id,
          fence,
          to,
          reason,
          spends,
          dueAt: due === null ? null : dueOf({ due }, reply.now),
          result: reply.settled[i] as 'done' | 'lost',
          value: result,
          error: error?.message ?? null,
          lines: linesOf(report),
          repeat: input.repeat === true,
        }),
      );
      return [...settled, ...claimed(reply.claimed, input.claim?.leaseMs ?? 0)];
    },
    heartbeat: (input, reply) =>
      input.leases.map(({ id, fence, begun }, i) => ({
        kind: 'renewed',
        at: reply.now,
        node,
        id,
        fence,
        begun,
        state: reply.leases[i]?.state ?? 'lost',
        untilAt: reply.now + input.leaseMs,
      })),
    report: (input, reply) =>
      input.reports.map(({ id, fence, progress, logs }, i) => ({
        kind: 'reported',
        at: reply.now,
        node,
        id,
        fence,
        result: reply.reports[i] ?? 'lost',
        percent: progress?.percent ?? null,
        lines: linesOf({ logs }),
      })),
    reap: (input, reply) =>
      reply.jobs.map(({ id, attempt, fence, begun }) => ({
        kind: 'reaped',
        at: reply.now,
        node,
        id,
        attempt,
        fence,
        untilAt: reply.now + input.leaseMs,
        begun,
      })),
    cancel: (input, reply) =>
      reply.groups.flatMap((group, i) =>
        group.ok
          ? group.items.flatMap(({ id, result, status }, j): HistoryEvent[] => {
              if (id === null) return [];
              const { mode, actor, targets } = input.groups[i] as (typeof input.groups)[number];
              const verb = mode === 'terminate' ? 'terminate' : 'cancel';
              const target = targets[j];
              const byKey = target !== undefined && 'key' in target ? { byKey: target } : {};
              return [{ kind: 'changed', at: reply.now, node, verb, id, result, status, actor, ...byKey }];
            })
          : [],
      ),
    reschedule: (input, reply) =>
      changed(node, 'reschedule', reply, (i) =>
        dueOf(input.groups[i] as (typeof input.groups)[number], reply.now),
      ),
    retry: (_input, reply) => changed(node, 'retry', reply),
    act: (input, reply) =>
      reply.groups.flatMap((group, i) =>
        group.ok
          ? group.items.flatMap(({ id, result, status }): HistoryEvent[] => {
              if (id === null || (result !== 'changed' && result !== 'asked')) return [];
              const { action, actor } = input.groups[i] as (typeof input.groups)[number];
              return [{ kind: 'changed', at: reply.now, node, verb: action, id, result, status, actor }];
            })
          : [],
      ),
    claimSchedules: (_input, reply) =>
      reply.schedules.map(({ id, fence, version, generation }) => ({
        kind: 'scheduleClaimed',
        at: reply.now,
        node,
        scheduleId: id,
        fence,
        version,
        generation,
      })),
    fire(input, reply) {
      const fired = input.groups.map(
        ({ scheduleId, fence, version, slots, jobs, cancel, dueAt, slotDetails }, i): HistoryEvent => ({
          kind: 'fired',
          at: reply.now,
          node,
          scheduleId,
          fence,
          version,
          result: reply.groups[i] ?? 'conflict',
          slots,
          jobs: jobs.map((job) => toCreated(job, dueOf(job, reply.now))),
          dueAt,
          cancel,
          slotDetails: slotDetails ?? [],
        }),
      );
      return [...fired, ...claimed(reply.claimed, input.claim?.leaseMs ?? 0)];
    },
    schedules(input, reply) {
      const versions = new Map(reply.schedules.map(({ id, version }) => [id, version]));
      return (input.filter.ids ?? []).map((scheduleId) => ({
        ...{ kind: 'scheduleRead', at: reply.now, node, scheduleId },
        version: versions.get(scheduleId) ?? null,
      }));
    },
    applySchedules: (input, reply) =>
      reply.groups.flatMap((group, i) =>
        (input.groups[i]?.changes ?? []).map((change, j): HistoryEvent => {
          const applied = group.ok ? group.items[j] : undefined;
          return {
            kind: 'applied',
            at: reply.now,
            node,
            scheduleId: change.id,
            action: change.action,
            result: group.ok ? 'applied' : group.error.code === 'records_conflict' ? 'conflict' : 'refused',
            expectVersion: change.expectVersion,
            ...(change.expectGeneration === undefined ? {} : { expectGeneration: change.expectGeneration }),
            version: applied?.version ?? null,
            generation: applied?.generation ?? null,
            spec: change.op === 'put' ? change.spec : null,
            pauseUntilAt: change.op === 'put' ? pauseUntilAt(change.state) : null,
            dueAt: change.op === 'put' ? change.dueAt : null,
            slots: change.slots ?? [],
            jobs: jobsOf(change).map((job) => toCreated(job, dueOf(job, reply.now))),
            cancel: change.op === 'put' ? (change.cancel ?? []) : [],
            slotDetails: change.op === 'put' ? (change.slotDetails ?? []) : [],
          };
        }),
      ),
    acquire: (input, reply) => [
      {
        kind: 'locked',
        at: reply.now,
        node,
        name: input.name,
        verb: 'acquire',
        result: reply.acquired ? 'acquired' : 'refused',
        token: input.token,
        fence: reply.fence,
        untilAt: reply.untilAt,
      },
    ],
    renew: (input, reply) =>
      input.locks.map(({ name, fence }, i) => ({
        kind: 'locked',
        at: reply.now,
        node,
        name,
        verb: 'renew',
        result: reply.locks[i] ?? 'lost',
        fence,
        untilAt: reply.now + input.ttlMs,
      })),
    release: (input, reply) =>
      input.locks.map(({ name, fence }, i) => ({
        kind: 'locked',
        at: reply.now,
        node,
        name,
        verb: 'release',
        result: reply.locks[i] ?? 'lost',
        fence,
        untilAt: null,
      })),
    putExpiring(input, reply) {
      const events: HistoryEvent[] = [];
      for (const [i, { changes }] of input.groups.entries()) {
        const group = reply.groups[i];
        if (group?.ok !== true) continue;
        for (const [j, change] of changes.entries()) {
          const { name, key, op } = change;
          const { result, expiresAt } = group.items[j] as (typeof group.items)[number];
          const cleanup = op === 'put' && result === 'changed' ? change.cleanup : null;
          if (cleanup !== null) {
            const jobs = [toCreated(cleanup, expiresAt ?? reply.now)];
            events.push({ kind: 'created', at: reply.now, node, jobs });
          }
          events.push({
            kind: 'valued',
            at: reply.now,
            node,
            name,
            key,
            op,
            result,
            value: op === 'put' ? change.value : null,
            expiresAt,
            cleanupId: cleanup?.id ?? null,
          });
        }
      }
      return events;
    },
    getExpiring: (input, reply) =>
      input.keys.map(({ name, key }, i) => ({
        kind: 'valued',
        at: reply.now,
        node,
        name,
        key,
        op: 'get',
        result: reply.values[i] == null ? 'missing' : 'read',
        value: reply.values[i]?.value ?? null,
        expiresAt: reply.values[i]?.expiresAt ?? null,
        cleanupId: null,
      })),
    remember: (input, reply) => [
      {
        kind: 'remembered',
        at: reply.now,
        node,
        scope: input.scope,
        key: input.key,
        result: reply.result,
        value: reply.value,
        ...(input.put === null ? {} : { guard: input.put.guard }),
      },
    ],
    records: (input, reply) =>
      reply.groups.flatMap((group, i) =>
        (group.ok ? (input.groups[i]?.ops ?? []) : []).flatMap((op): HistoryEvent[] => {
          if (op.kind !== 'pause' || op.op === 'get' || op.op === 'list') return [];
          const untilAt = op.op === 'put' ? (JSON.parse(op.value) as PauseValue).untilAt : null;
          const state = op.op === 'put' ? 'paused' : 'resumed';
          return [{ kind: 'claimsPaused', at: reply.now, node, target: op.key, state, untilAt }];
        }),
      ),
  };
}

function changed(
  node: string,
  verb: 'reschedule' | 'retry',
  reply: Answer<'reschedule'>,
  wantedAt?: (group: number) => number,
): Extract<HistoryEvent, { kind: 'changed' }>[] {
  return reply.groups.flatMap((group, i) =>
    group.ok
      ? group.items.flatMap(({ id, result, status, dueAt }) => {
          const moved = wantedAt === undefined ? {} : { moved: { wantedAt: wantedAt(i), dueAt } };
          const event = { kind: 'changed' as const, at: reply.now, node, verb, result, status, ...moved };
          return id === null ? [] : [{ ...event, id }];
        })
      : [],
  );
}

function linesOf(report: Pick<ReportBody, 'logs'> | null): number[] {
  return (report?.logs ?? []).map(({ line }) => line);
}

function jobsOf(change: ScheduleChange): JobSpec[] {
  return change.op === 'put' ? change.jobs : [];
}

/** When a pause was said to end: part of what was asked, kept only in the state. */
function pauseUntilAt(state: string): number | null {
  const { pause } = JSON.parse(state) as { pause: { untilAt: number | null } | null };
  return pause?.untilAt ?? null;
}

function dueOf({ due }: Pick<JobSpec, 'due'>, now: number): number {
  return 'at' in due ? due.at : now + due.inMs;
}

function replacedFieldsOf({
  version,
  queue,
  priority,
  rankOffsetMs,
  startDeadlineMs,
  policy,
}: JobSpec): ReplacedFields {
  const { maxAttempts, timeoutMs, retry, delivery } = policy;
  return {
    ...{ version, queue, priority, rankOffsetMs, startDeadlineMs },
    ...{ maxAttempts, timeoutMs, retry: retry as StoredRetry, delivery },
  };
}

function toCreated(
  {
    id,
    type,
    policy,
    serial,
    tenant,
    dedupe,
    slot,
    origin,
    input,
    parent,
    startDeadlineMs,
    gates,
    queue,
    version,
    priority,
    rankOffsetMs,
  }: JobSpec,
  dueAt: number,
): CreatedJob {
  return {
    id,
    type,
    dueAt,
    timeoutMs: policy.timeoutMs,
    retry: policy.retry as StoredRetry,
    gates: gates.map(({ ref }) => ref),
    startDeadlineMs,
    input,
    queue,
    version,
    priority,
    rankOffsetMs,
    maxAttempts: policy.maxAttempts,
    delivery: policy.delivery,
    serial,
    tenant,
    child: parent === null || parent.key === null ? null : { of: parent.id, key: parent.key },
    dedupe: dedupe === null ? null : { key: dedupe.key, forMs: dedupe.forMs, mode: dedupe.mode },
    slot:
      slot === null
        ? null
        : {
            scheduleId: slot.scheduleId,
            generation: slot.generation,
            slotAt: slot.slotAt,
            fireId: slot.fireId,
            allow: slot.allow === true,
            details: slot.details,
          },
    origin,
  };
}
