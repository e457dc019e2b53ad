import type { Clock } from '../../base/clock.ts';
import { dulyError, isDulyError } from '../../base/errors.ts';
import type {
  ClaimSchedulesInput,
  Engine,
  EngineInfo,
  EngineVerb,
  ExchangeInput,
  FireInput,
  Notification,
  Reply,
  Stamp,
  VerbCall,
  WatchedTransaction,
} from '../../contract/engine.ts';
import { engineVerbs, mapVerbs } from '../../contract/verbs.ts';
import { type OpenedDatabase, openDatabase, type SqliteDatabase, storeError } from './database.ts';
import { isSchemaReady, migrateSchema, schemaVersion } from './migrate.ts';
import { type Notifier, notifierPath, openNotifier } from './notifier.ts';
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
}

/** A wall clock that is off by more is worth a warning. */
const disagreementMsMax = 1_000;

/** How long one try waits for another connection's transaction, and the pause after it in which readers have their turn. */
const busyTryMs = 100;
const busyPauseMs = 10;

type WithoutNow<SomeReply> = SomeReply extends unknown ? Omit<SomeReply, 'now'> : never;

/** The verbs of this engine. Each runs inside one transaction and returns its reply without the instant. `migrate` is below. */
const verbs: {
  [Verb in Exclude<EngineVerb, 'migrate'>]: (
    work: Work,
    input: Parameters<Engine[Verb]>[0],
  ) => WithoutNow<Awaited<ReturnType<Engine[Verb]>>>;
} = verbFiles;

/** How soon a clock that disagrees is looked at again: twice while a step has to prove stable. */
const clockLookMs = 5_000;

/** Opens the engine in this thread: every call blocks it for the time of a transaction. */
export async function openSqliteEngine(options: SqliteEngineOptions): Promise<Engine> {
  const { path, clock, busyMs = 5_000, exclusive = false } = options;
  const opened = options.opened ?? (await openDatabase({ path, busyMs, exclusive }));
  const { db } = opened;
  const connection = new Connection(db, path);
  const warnings = [...opened.warnings];
  try {
    const storeClock = prepareStore(db, path, clock, options.boot ?? readBootId(clock));
    // From here on a write is tried again and again instead of waiting in SQLite: see write().
    db.exec(`PRAGMA busy_timeout = ${Math.min(busyMs, busyTryMs)}`);
    connection.useClock(storeClock);
    if (path !== ':memory:') connection.useWalSpace(createWalSpace(path));
    const offMs = storeClock.disagreementMs();
    if (Math.abs(offMs) > disagreementMsMax) {
      warnings.push(
        `This process's clock is ${(Math.abs(offMs) / 1000).toFixed(1)} s ${offMs > 0 ? 'ahead of' : 'behind'} the store's. The store's rules; a stepped clock is followed once it has been stable for 10 s.`,
      );
    }
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    db.close();
    throw storeError(error, path);
  }

  const listeners = new Set<(notification: Notification) => void>();
  const deliver = (notification: Notification) => {
    for (const listener of [...listeners]) listener(notification);
  };
  /** Another process has jobs for us, as it says: the next exchange need not look first. */
  let isJobsNotified = false;
  const receive = (notification: Notification) => {
    if (notification === 'jobs') isJobsNotified = true;
    deliver(notification);
  };
  const notifier = path === ':memory:' || opened.exclusive ? null : tryNotifier(path, receive, warnings);
  let isClosed = false;

  const info: EngineInfo = {
    kind: 'sqlite',
    place: path,
    version: opened.version,
    wake: notifier?.isReceiving === true ? 'push' : 'poll',
    durable: path !== ':memory:',
    warnings,
  };

  function requireOpen(): void {
    if (!isClosed) return;
    throw dulyError('store_closed', {
      message: `The store "${path}" was closed.`,
      hint: 'Open a new one; a closed store stays closed.',
      details: { path },
    });
  }

  /**
   * Waits for another connection's transaction without standing in the way of those who only read: SQLite itself waits a moment, and
   * then the thread is free until the next try.
   */
  async function write<Result extends object>(
    stamp: Stamp,
    verb: (work: Work) => Result,
  ): Promise<Result & Reply> {
    const sinceElapsed = clock.elapsed();
    for (;;) {
      requireOpen();
      try {
        return commit(stamp, verb);
      } catch (error) {
        const isBusy =
          isDulyError(error, 'store_busy') || isDulyError(error, 'store_locked_by_user_transaction');
        if (!isBusy || clock.elapsed() - sinceElapsed >= busyMs) throw error;
        await clock.sleep(busyPauseMs);
      }
    }
  }

  function commit<Result extends object>(stamp: Stamp, verb: (work: Work) => Result): Result & Reply {
    const { reply, notifications } = connection.write(stamp, verb);
    if (notifications.size > 0) {
      notifier?.notify(notifications);
      for (const notification of notifications) deliver(notification);
    }
    return reply;
  }

  /** What was committed on a connection of the user's own is told like what was committed here. */
  const watchTransaction = ({ notifications }: WatchedTransaction): void => {
    if (isClosed) return;
    notifier?.notify(notifications);
    for (const notification of notifications) deliver(notification);
  };
  const userTransaction = createSqliteUserTransactions({
    ...{ path, clock, watchTransaction },
    ...(options.boot === undefined ? {} : { boot: options.boot }),
  });

  /** When the first of the schedules that were fired here is due again; nobody has come for it yet. */
  let firedDueAt = Number.POSITIVE_INFINITY;
  // Idle nodes ask often and find nothing: a read answers them without taking the lock from writers. If there is surely something to
  // find, the check is skipped.
  const readOnlyChecks: Partial<Record<EngineVerb, (work: Work, input: never) => object | null>> = {
    exchange(work, input: ExchangeInput) {
      const isNotified = isJobsNotified;
      isJobsNotified = false;
      return isNotified ? null : checkExchange(work, input);
    },
    claimSchedules(work, input: ClaimSchedulesInput) {
      const isDue = work.now >= firedDueAt;
      if (isDue) firedDueAt = Number.POSITIVE_INFINITY;
      return isDue ? null : checkSchedules(work, input);
    },
  };
  const noteFired = ({ groups }: FireInput): void => {
    for (const { dueAt } of groups) if (dueAt !== null && dueAt < firedDueAt) firedDueAt = dueAt;
  };
  const looks: Partial<Record<EngineVerb, (input: never) => boolean>> = {
    nodes: isLook,
    records: isReading,
    transfer: isTransferRead,
  };

  function callOf(verb: EngineVerb): VerbCall {
    const run = verbs[verb as keyof typeof verbs] as (work: Work, input: Stamp) => object;
    // A verb that only reads runs on a snapshot and never waits for a writer.
    if (engineVerbs[verb].access === 'read') {
      return async (input: Stamp) => {
        requireOpen();
        return connection.read(input, (work) => run(work, input));
      };
    }
    const isOnlyLooking = looks[verb] as ((input: Stamp) => boolean) | undefined;
    const check = readOnlyChecks[verb] as ((work: Work, input: Stamp) => object | null) | undefined;
    return async (input: Stamp) => {
      requireOpen();
      if (isOnlyLooking?.(input) === true) return connection.read(input, (work) => run(work, input));
      if (verb === 'fire') noteFired(input as FireInput);
      const nothing =
        check === undefined ? null : connection.readOnlyCheck(input, (work) => check(work, input));
      return nothing ?? write(input, (work) => run(work, input));
    };
  }

  return {
    ...mapVerbs(callOf),
    info: () => info,
    async reap(input) {
      requireOpen();
      const nothing = connection.readOnlyCheck(input, (work) =>
        connection.isClockQuiet(input) ? checkReap(work) : null,
      );
      if (nothing !== null) return nothing;
      return write(input, (work) => {
        const isQuiet = connection.observeClock(work, input);
        const reply = verbs.reap(work, input);
        // A step of the clock is looked at again soon, even if nothing else is to be done.
        const soonAt = work.now + clockLookMs;
        return isQuiet || (reply.nextAt !== null && reply.nextAt < soonAt)
          ? reply
          : { ...reply, nextAt: soonAt };
      });
    },
    async migrate(input) {
      return write(input, () => {
        const { from, steps } = migrateSchema(db, path, input);
        return { from, to: schemaVersion, steps };
      });
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async userTransaction(tx) {
      requireOpen();
      return userTransaction(tx);
    },
    watchTransaction,
    async probe() {
      requireOpen();
      if (notifier === null) deliver('probe');
      else notifier.notify(['probe']);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      notifier?.close();
      db.close();
    },
  };
}

/** Makes what is missing in one transaction: five processes that open a new file at once make its schema once. */
function prepareStore(db: SqliteDatabase, path: string, clock: Clock, boot: string): StoreClock {
  // Nothing is missing as a rule, and then nobody who writes has to be waited for.
  const isReady = isSchemaReady(db, path) && hasStoreClock(db, boot);
  if (!isReady) db.exec('BEGIN IMMEDIATE');
  if (!isReady) migrateSchema(db, path, { dryRun: false });
  const storeClock = openStoreClock(db, clock, boot);
  if (!isReady) db.exec('COMMIT');
  return storeClock;
}

/** Without a notifier, notifications of other processes are not received and polling finds the work. */
function tryNotifier(
  path: string,
  onNotification: (notification: Notification) => void,
  warnings: string[],
): Notifier | null {
  try {
    return openNotifier(path, onNotification);
  } catch (error) {
    warnings.push(
      `Notifications of other processes cannot be received: "${notifierPath(path)}" cannot be opened (${(error as Error).message}).`,
    );
    return null;
  }
}
