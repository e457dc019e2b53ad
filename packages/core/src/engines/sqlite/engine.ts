import type { Clock } from '../../base/clock.ts';
import type {
  ClaimSchedulesInput,
  Engine,
  EngineInfo,
  EngineVerb,
  ExchangeInput,
  FireInput,
  Stamp,
  VerbCall,
  WatchedTransaction,
} from '../../contract/engine.ts';
import { engineVerbs, mapVerbs } from '../../contract/verbs.ts';
import { busyTryMs, type Calls, createCalls } from './calls.ts';
import { type OpenedDatabase, openDatabase, type SqliteDatabase, storeError } from './database.ts';
import { isSchemaReady, migrateSchema, schemaVersion } from './migrate.ts';
import { type Notifications, openNotifications } from './notifications.ts';
import { hasStoreClock, openStoreClock, readBootId, type StoreClock } from './store-clock.ts';
import { createSqliteUserTransactions } from './user-transaction.ts';
import { checkExchange } from './verbs/exchange.ts';
import * as verbFiles from './verbs/index.ts';
import { checkReap } from './verbs/lease.ts';
import { isLook } from './verbs/nodes.ts';
import { isReading } from './verbs/records.ts';
import { checkSchedules } from './verbs/schedules.ts';
import { isTransferRead } from './verbs/transfer.ts';
import { createWalSpace } from './wal-space.ts';
import { Connection, type Work } from './work.ts';

/** How the engine is opened. */
export interface SqliteEngineOptions {
  /** A path, or `:memory:`. */
  path: string;
  clock: Clock;
  /** How long a write waits for another connection's transaction, default 5 s. */
  busyMs?: number;
  /** Keeps the file to this one connection. */
  exclusive?: boolean;
  /** Names the boot of the machine; only tests set it. */
  boot?: string;
  /** An open database to use instead of opening the path; only the simulation sets it. */
  opened?: OpenedDatabase;
  /** Whether inserts and claims take their plain branch where they can, default true; only tests turn it off. */
  hasPlainBranches?: boolean;
}

// A wall clock that is off by more causes a warning.
const disagreementMsMax = 1_000;

type WithoutNow<SomeReply> = SomeReply extends unknown ? Omit<SomeReply, 'now'> : never;

/** The verbs of this engine. Each runs in one transaction and returns its reply without the instant. */
const verbs: {
  [Verb in Exclude<EngineVerb, 'migrate'>]: (
    work: Work,
    input: Parameters<Engine[Verb]>[0],
  ) => WithoutNow<Awaited<ReturnType<Engine[Verb]>>>;
} = verbFiles;

// How soon a clock that disagrees is checked again: twice while a step has to prove stable.
const clockCheckMs = 5_000;

/** A verb's answer without a transaction; null: it needs one. */
type ReadOnlyCheck = (work: Work, input: Stamp) => object | null;

/** Opens the engine in this thread: every call blocks it for the time of a transaction. */
export async function openSqliteEngine(options: SqliteEngineOptions): Promise<Engine> {
  const { path, clock, busyMs = 5_000, exclusive = false } = options;
  const opened = options.opened ?? (await openDatabase({ path, busyMs, exclusive }));
  const warnings = [...opened.warnings];
  const connection = prepareConnection(opened.db, { ...options, busyMs }, warnings);
  const isShared = path !== ':memory:' && !opened.exclusive;
  const notifications = openNotifications({ path, isShared, warnings });
  const calls = createCalls({ connection, clock, busyMs, notifications });
  const info: EngineInfo = {
    kind: 'sqlite',
    place: path,
    version: opened.version,
    wake: notifications.isReceiving ? 'push' : 'poll',
    durable: path !== ':memory:',
    warnings,
  };
  /** A commit on a connection of the user's own notifies like a commit of this engine. */
  const watchTransaction = (watched: WatchedTransaction): void => {
    notifications.send(watched.notifications);
  };
  const userTransaction = createSqliteUserTransactions({
    ...{ path, clock, watchTransaction },
    ...(options.boot === undefined ? {} : { boot: options.boot }),
  });

  return {
    ...mapVerbs(createVerbCalls(calls, notifications)),
    info: () => info,
    async reap(input) {
      const nothing = calls.readOnlyCheck(input, (work) =>
        connection.isClockQuiet(input) ? checkReap(work) : null,
      );
      if (nothing !== null) return nothing;
      return calls.write(input, (work) => {
        const isQuiet = connection.observeClock(work, input);
        const reply = verbs.reap(work, input);
        // After a step of the clock, check it again soon, even if there is nothing else to do.
        const soonAt = work.now + clockCheckMs;
        return isQuiet || (reply.nextAt !== null && reply.nextAt < soonAt)
          ? reply
          : { ...reply, nextAt: soonAt };
      });
    },
    async migrate(input) {
      return calls.write(input, () => {
        const { from, steps } = migrateSchema(opened.db, path, input);
        return { from, to: schemaVersion, steps };
      });
    },
    subscribe: notifications.subscribe,
    async userTransaction(tx) {
      calls.requireOpen();
      return userTransaction(tx);
    },
    watchTransaction,
    async probe() {
      calls.requireOpen();
      notifications.probe();
    },
    async close() {
      calls.close();
    },
  };
}

/** Creates what the database lacks and connects the store's clock. Closes the database if this fails. */
function prepareConnection(
  db: SqliteDatabase,
  { path, clock, boot, busyMs, hasPlainBranches = true }: SqliteEngineOptions & { busyMs: number },
  warnings: string[],
): Connection {
  const connection = new Connection(db, path, hasPlainBranches);
  try {
    const storeClock = prepareStore(db, path, clock, boot ?? readBootId(clock));
    // From here on, `write` of the calls repeats a write instead of waiting in SQLite.
    db.exec(`PRAGMA busy_timeout = ${Math.min(busyMs, busyTryMs)}`);
    connection.useClock(storeClock);
    if (path !== ':memory:') connection.useWalSpace(createWalSpace(path));
    const offMs = storeClock.disagreementMs();
    if (Math.abs(offMs) > disagreementMsMax) {
      warnings.push(
        `This process's clock is ${(Math.abs(offMs) / 1000).toFixed(1)} s ${offMs > 0 ? 'ahead of' : 'behind'} the store's. The store's rules; a stepped clock is followed once it has been stable for 10 s.`,
      );
    }
    return connection;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    db.close();
    throw storeError(error, path);
  }
}

/** Creates what is missing in one transaction, so that only one of several processes creates the schema. */
function prepareStore(db: SqliteDatabase, path: string, clock: Clock, boot: string): StoreClock {
  // Usually nothing is missing, and then this waits for no writer.
  const isReady = isSchemaReady(db, path) && hasStoreClock(db, boot);
  if (!isReady) db.exec('BEGIN IMMEDIATE');
  if (!isReady) migrateSchema(db, path, { dryRun: false });
  const storeClock = openStoreClock(db, clock, boot);
  if (!isReady) db.exec('COMMIT');
  return storeClock;
}

/** The call of each verb: on a snapshot if it only reads, otherwise in a transaction that writes. */
function createVerbCalls(calls: Calls, notifications: Notifications): (verb: EngineVerb) => VerbCall {
  const { checks, noteFired } = createReadOnlyChecks(notifications);
  return (verb) => {
    const run = verbs[verb as keyof typeof verbs] as (work: Work, input: Stamp) => object;
    if (engineVerbs[verb].access === 'read') {
      return async (input: Stamp) => calls.read(input, (work) => run(work, input));
    }
    const isReadOnly = readOnlyInputs[verb] as ((input: Stamp) => boolean) | undefined;
    const check = checks[verb] as ReadOnlyCheck | undefined;
    return async (input: Stamp) => {
      if (isReadOnly?.(input) === true) return calls.read(input, (work) => run(work, input));
      if (verb === 'fire') noteFired(input as FireInput);
      const nothing = check === undefined ? null : calls.readOnlyCheck(input, (work) => check(work, input));
      return nothing ?? calls.write(input, (work) => run(work, input));
    };
  };
}

/** Inputs with which a verb that can write only reads. */
const readOnlyInputs: Partial<Record<EngineVerb, (input: never) => boolean>> = {
  nodes: isLook,
  records: isReading,
  transfer: isTransferRead,
};

/**
 * The checks of frequent calls of idle nodes: a read answers them without taking the lock from writers. A
 * call that surely finds something skips its check.
 */
function createReadOnlyChecks(notifications: Notifications): {
  checks: Partial<Record<EngineVerb, (work: Work, input: never) => object | null>>;
  noteFired(input: FireInput): void;
} {
  /** When the first of the schedules that this engine fired is due again, until a claim comes for it. */
  let firedDueAt = Number.POSITIVE_INFINITY;
  return {
    checks: {
      exchange: (work, input: ExchangeInput) =>
        notifications.takeJobsAnnounced() ? null : checkExchange(work, input),
      claimSchedules(work, input: ClaimSchedulesInput) {
        const isDue = work.now >= firedDueAt;
        if (isDue) firedDueAt = Number.POSITIVE_INFINITY;
        return isDue ? null : checkSchedules(work, input);
      },
    },
    noteFired({ groups }) {
      for (const { dueAt } of groups) if (dueAt !== null && dueAt < firedDueAt) firedDueAt = dueAt;
    },
  };
}
