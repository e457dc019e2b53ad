/** What a seeded defect is, and the ways to put one into the store or a node. */
import type { DatabaseSync } from 'node:sqlite';
import type {
  ClaimRequest,
  Engine,
  FireInput,
  HeartbeatState,
  JobSpec,
  ScheduleChange,
  Settlement,
  UserTransaction,
} from '../../../packages/core/src/contract/engine.ts';
import { statements } from '../../../packages/core/src/engines/sqlite/generated.ts';
import type { MutateHeartbeats } from '../sim-node.ts';

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
  /** How a node renews its leases, with the defect. */
  mutateHeartbeats?: MutateHeartbeats;
}

/** Changes what is done in transactions of the user's own, on whose connection a defect may do as it likes. */
export function onUserTransaction(
  engine: Engine,
  change: (userTransaction: UserTransaction, db: DatabaseSync) => Partial<UserTransaction>,
): NonNullable<Engine['userTransaction']> {
  return async (tx) => {
    const userTransaction = (await engine.userTransaction?.(tx)) as UserTransaction;
    return { ...userTransaction, ...change(userTransaction, tx as DatabaseSync) };
  };
}

/** A call under a key that is dropped while the key is held, whatever it wanted. */
export function dropped(job: JobSpec): JobSpec {
  return job.dedupe === null ? job : { ...job, dedupe: { ...job.dedupe, mode: 'drop' } };
}

/** A change of a schedule that leaves it there. */
export type Put = Extract<ScheduleChange, { op: 'put' }>;

/** Changes what somebody does to a schedule, on its way; told what the schedule says. */
export function onApply(
  actions: string[],
  alter: (change: Put, spec: { job: { input: string } }) => Put,
): Mutate {
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
export function onSettle(change: (settlement: Settlement) => Settlement): Mutate {
  return (engine) => ({
    ...engine,
    exchange: (input) => engine.exchange({ ...input, settle: input.settle.map(change) }),
  });
}

/** Changes what is asked of a claim on its way. */
export function onClaim(change: (claim: ClaimRequest) => ClaimRequest): Mutate {
  const changed = <Input extends { claim?: ClaimRequest | null }>(input: Input): Input =>
    input.claim == null ? input : { ...input, claim: change(input.claim) };
  return (engine) => ({
    ...engine,
    enqueue: (input) => engine.enqueue(changed(input)),
    exchange: (input) => engine.exchange(changed(input)),
    fire: (input) => engine.fire(changed(input)),
  });
}

/** Keeps a node from hearing of a lost lease, or of a cancel. */
export function onHeartbeat(state: 'lost' | 'cancel'): Mutate {
  return (engine) => ({
    ...engine,
    async heartbeat(input) {
      const reply = await engine.heartbeat(input);
      const leases = reply.leases.map(
        (heartbeat): HeartbeatState => (heartbeat.state === state ? { state: 'kept' } : heartbeat),
      );
      return { ...reply, leases };
    },
  });
}

/** Changes what a fire says before it reaches the store; the history keeps what was asked. */
export function onFire(change: (group: FireInput['groups'][number]) => FireInput['groups'][number]): Mutate {
  return (engine) => ({
    ...engine,
    fire: (input) => engine.fire({ ...input, groups: input.groups.map(change) }),
  });
}

/** Puts a defect into an engine. */
export type Mutate = (engine: Engine) => Engine;

type Statements = Record<string, Record<string, string>>;

/** Changes one statement of the engine while it is open. */
export function withSql([file, name]: [string, string], change: (sql: string) => string): Mutate {
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

/** Writes no audit rows of an action. */
export function withoutAuditOf(action: string): Mutate {
  return withSql(['audit', 'append'], (sql) =>
    sql.replace('VALUES (?, ?, ?, ?, ?, ?, ?)', `SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE ?3 <> '${action}'`),
  );
}
