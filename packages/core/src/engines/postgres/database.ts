import type { Clock, Timer } from '../../base/clock.ts';
import { type DulyError, dulyError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { PgPool, PgPoolClient, PgResult } from '../shared/pool.ts';
import { resetConnection } from './connect.ts';
import { rowTypes } from './driver.ts';
import type { FallbackConnection } from './fallback-connection.ts';
import { isConnectionSpent, isRetryable, isTooManyConnections, storeError } from './store-error.ts';
import type { Database, Value } from './work.ts';

/** What a database is made of. */
export interface DatabaseOptions {
  pool: PgPool;
  /** Where it is, without secrets. */
  place: string;
  clock: Clock;
  random: Random;
  /** How long one call may take until its connection is given up as lost. */
  callMs: number;
  /** How long a statement of a transaction waits for a lock. */
  lockMs: number;
  /**
   * How long the connection that was used last is kept out of the pool, ready for the next call; 0, the default: it goes back at once, as it
   * must where the pool is somebody else's.
   */
  keepMs?: number;
  /** A connection beside the pool, for calls that wait too long for the pool; null (default): none. */
  fallback?: FallbackConnection | null;
}

/** A database that can be closed for further calls. */
export interface ClosableDatabase extends Database {
  /**
   * Runs this text on `count` connections, one after the other, once the process is quiet, and pins these connections. Does nothing if
   * `keepMs` is 0, and reports no failure: the next call does.
   */
  warmUp(text: string, count: number): void;
  /** Refuses every later call and waits for those that run. The pool is somebody else's to end. */
  close(): Promise<void>;
}

/** A connection that is at hand, out of the pool. */
interface IdleConnection {
  client: PgPoolClient;
  /** What is done when it breaks. */
  lose(): void;
  sinceElapsed: number;
}

// A deadlock or a conflict of versions undoes the whole transaction, and a session that was ended for being idle began none, so the same again is safe:
// 5, 10 … 80 ms, then it is told.
const retryMax = 5;
const firstRetryMs = 5;
// After this long the pool is used up by slow calls.
const fallbackAfterMs = 1_000;
// How long a server that had no further connection is not asked for one.
const askAgainMs = 1_000;
// Not while the process starts, and not in a process that ends at once.
const quietMs = 500;
// A process that is busy for longer has warmed its connections by using them.
const quietLooksMax = 20;

/**
 * Makes a database of a pool. A query is a transaction of its own; `transaction` holds one connection for several. Whatever
 * was rolled back only because of others that ran beside it is done again in here. Settings are made for one transaction only
 * (SET LOCAL), so that a pooler may give every transaction another connection.
 */
export function createDatabase(options: DatabaseOptions): ClosableDatabase {
  const { pool, place, clock, random, callMs, lockMs, keepMs = 0, fallback = null } = options;
  const running = new Set<Promise<unknown>>();
  let isClosed = false;
  // The server ends by itself what takes too long, a little before it is given up here: then its answer still arrives. Written out,
  // because a database may have another isolation by default.
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${limits(lockMs, callMs)}`;

  /** When connections were last heard of. One that was just made is not among them. */
  const receivedElapsed = new WeakMap<PgPoolClient, number>();
  /** Since when the connection that was given up last had been silent. Others that were silent for as long were cut off with it. */
  let silentElapsed = Number.NEGATIVE_INFINITY;

  /** A connection that may still lead somewhere: each dead one would cost its caller the whole time of a call. */
  async function take(): Promise<PgPoolClient> {
    for (;;) {
      const client = takeIdle() ?? (await connect());
      if ((receivedElapsed.get(client) ?? Number.POSITIVE_INFINITY) >= silentElapsed) {
        usedCount++;
        return client;
      }
      client.release(true);
    }
  }

  /** Connections that are at hand, the one that was used last at the end. To ask the pool for one, and to give it back, takes longer than to send a short statement. */
  let idle: IdleConnection[] = [];
  let idleMax = 1;
  /** Whether connections stay however long they are idle: to warm them up again takes as long as several calls. */
  let isPinned = false;
  let keeping: Timer | null = null;
  /** Calls that wait for a connection of the pool, and may wait for this very one. */
  let connectingCount = 0;

  function takeIdle(isWanted: (client: PgPoolClient) => boolean = () => true): PgPoolClient | null {
    const one = idle.findLast(({ client }) => isWanted(client));
    if (one === undefined) return null;
    const { client, lose } = one;
    idle = idle.filter((other) => other !== one);
    client.off('error', lose);
    client.ref?.();
    return client;
  }

  /** How many connections calls have now, and how often one was given back. */
  let usedCount = 0;
  let givenBackCount = 0;
  /** Calls for which the server has no further connection. Each is told of the next one that another call ends with. */
  const waiting: ((next: Next) => void)[] = [];

  function giveBack(client: PgPoolClient, destroy: boolean): void {
    usedCount--;
    givenBackCount++;
    const next = waiting.shift();
    if (next !== undefined) {
      if (destroy) client.release(true);
      next(destroy ? 'room' : client);
      return;
    }
    if (destroy || keepMs === 0 || idle.length >= idleMax || connectingCount > 0 || isClosed) {
      client.release(destroy);
      return;
    }
    // The server ended it, or the way there is gone.
    const lose = (): void => takeIdle((other) => other === client)?.release(true);
    idle.push({ client, lose, sinceElapsed: clock.elapsed() });
    client.on('error', lose);
    // As little as one in the pool for whom nobody waits, it keeps no process alive.
    client.unref?.();
    if (!isPinned) keeping ??= clock.after(keepMs, closeIdle, { unref: true });
  }

  function closeIdle(): void {
    keeping = null;
    const [oldest] = idle;
    if (oldest === undefined || isPinned) return;
    const leftMs = keepMs - (clock.elapsed() - oldest.sinceElapsed);
    if (leftMs <= 0) takeIdle()?.release();
    else keeping = clock.after(leftMs, closeIdle, { unref: true });
  }

  let warmUpTimer: Timer | null = null;

  function warmUpWhenQuiet(text: string, count: number, looksLeft: number): void {
    warmUpTimer = clock.after(
      quietMs,
      () => {
        if (isClosed || looksLeft === 0) return;
        if (running.size > 0) warmUpWhenQuiet(text, count, looksLeft - 1);
        else void trackInFlight(() => warmUpAll(text, count)).catch(() => {});
      },
      { unref: true },
    );
  }

  async function warmUpAll(text: string, count: number): Promise<void> {
    idleMax = count;
    isPinned = true;
    const ready = new Set<PgPoolClient>();
    while (!isClosed && ready.size < count) {
      // If the server refuses another connection, fewer are warmed up.
      const client = takeIdle((other) => !ready.has(other)) ?? (await connectOnce());
      usedCount++;
      ready.add(client);
      await onClient(client, async (connection) => {
        // If it does not come to its end, the transaction stays open.
        connection.isSpent = true;
        await connection.ask(text);
        connection.isSpent = false;
      });
    }
  }

  async function connect(): Promise<PgPoolClient> {
    const sinceElapsed = clock.elapsed();
    for (;;) {
      const before = givenBackCount;
      try {
        if (mayConnect()) return await connectOnce();
        throw refusal;
      } catch (error) {
        if (mayConnect() && isTooManyConnections(error)) [refusal, refusedElapsed] = [error, clock.elapsed()];
        const leftMs = callMs - (clock.elapsed() - sinceElapsed);
        const next = await (isTooManyConnections(error) && leftMs > 0
          ? afterOthers(before, leftMs)
          : 'nothing');
        if (usedCount + connectingCount === 0) for (const resume of waiting.splice(0)) resume('nothing');
        if (next === 'nothing') throw storeError(error, { place, unknown: false });
        if (next !== 'room') return next;
      }
    }
  }

  /** The server's last error about too many connections, and when it came. */
  let refusal: unknown = null;
  let refusedElapsed = Number.NEGATIVE_INFINITY;

  /** Each attempt costs the server a process, so the next one waits a while, if other calls can release a connection. */
  function mayConnect(): boolean {
    return usedCount === 0 || (pool.idleCount ?? 0) > 0 || clock.elapsed() - refusedElapsed > askAgainMs;
  }

  /** Others of this process end their calls in a moment, or have done so meanwhile. Whoever has no connection at all hears of it at once. */
  async function afterOthers(before: number, ms: number): Promise<Next> {
    const client = takeIdle();
    if (client !== null) return client;
    if (givenBackCount > before) return 'room';
    if (usedCount + connectingCount === 0) return 'nothing';
    return new Promise((resolve) => {
      const resume = (next: Next): void => {
        timer.cancel();
        resolve(next);
      };
      const timer = clock.after(ms, () => {
        waiting.splice(waiting.indexOf(resume), 1);
        resolve('nothing');
      });
      waiting.push(resume);
    });
  }

  /**
   * A connection of the pool, or the one beside it. Handlers may hold every connection of their program's pool for minutes, and leases must be
   * renewed meanwhile.
   */
  function fromPool(): Promise<PgPoolClient> {
    const connecting = pool.connect();
    if (fallback === null) return connecting;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const give = (client: PgPoolClient): void => {
        timer.cancel();
        if (isOver) client.release();
        isOver = true;
        resolve(client);
      };
      // If the fallback is taken too, wait for the pool.
      const timer = clock.after(fallbackAfterMs, () => fallback.take().then(give, () => {}));
      connecting.then(give, (error) => {
        timer.cancel();
        isOver = true;
        reject(error);
      });
    });
  }

  async function connectOnce(): Promise<PgPoolClient> {
    const connecting = fromPool();
    let isLate = false;
    connectingCount++;
    try {
      return await withinTime(
        () => connecting,
        () => {
          isLate = true;
        },
      );
    } catch (error) {
      // One that comes all the same has nobody to use it.
      if (isLate) connecting.then((client) => client.release()).catch(() => {});
      throw error;
    } finally {
      connectingCount--;
    }
  }

  /** Runs something on one connection. Afterwards it goes back to the pool, or is closed if nobody can tell what state it is in. */
  async function onConnection<Result>(
    use: (connection: Connection, allow: (ms: number) => void) => Promise<Result>,
  ): Promise<Result> {
    return onClient(await take(), use);
  }

  async function onClient<Result>(
    client: PgPoolClient,
    use: (connection: Connection, allow: (ms: number) => void) => Promise<Result>,
  ): Promise<Result> {
    const connection = new Connection(client, place, giveBack);
    const giveUp = (afterMs: number): void => {
      silentElapsed = clock.elapsed() - afterMs;
      connection.release(true);
      resetConnection(client);
    };
    try {
      return await withinTime((allow) => use(connection, allow), giveUp);
    } catch (error) {
      throw storeError(error, { place, unknown: connection.isUnknown });
    } finally {
      receivedElapsed.set(client, clock.elapsed());
      connection.release(connection.isSpent);
    }
  }

  /** A server that was cut off without a word never answers: after `callMs`, or what it is allowed later, it is not waited for any longer. */
  function withinTime<Result>(
    use: (allow: (ms: number) => void) => Promise<Result>,
    giveUp: (afterMs: number) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const limit = (ms: number) =>
        clock.after(ms, () => {
          giveUp(ms);
          reject(new Error(`no answer within ${ms} ms`));
        });
      let timer = limit(callMs);
      const allow = (ms: number): void => {
        timer.cancel();
        timer = limit(ms);
      };
      use(allow)
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  async function again<Result>(once: () => Promise<Result>): Promise<Result> {
    for (let tries = 0; ; tries++) {
      try {
        return await once();
      } catch (error) {
        if (!isRetryable((error as Error).cause) || tries >= retryMax) throw error;
        // Half to the whole of the pause: two that met in a deadlock must not meet again.
        await clock.sleep(firstRetryMs * 2 ** tries * (0.5 + random.next() / 2));
      }
    }
  }

  function trackInFlight<Result>(call: () => Promise<Result>): Promise<Result> {
    if (isClosed) return Promise.reject(closedError(place));
    const answer = again(call);
    running.add(answer);
    const forget = () => running.delete(answer);
    answer.then(forget, forget);
    return answer;
  }

  return {
    query: (text, values) =>
      trackInFlight(() => onConnection((connection) => connection.ask(text, values, true))),
    transaction: (fn) =>
      trackInFlight(() =>
        onConnection((connection, allow) =>
          inTransaction(connection, begin, (inside) =>
            fn(inside, async (ms) => {
              allow(ms);
              await inside.query(limits(ms, ms));
            }),
          ),
        ),
      ),
    warmUp(text, count) {
      if (keepMs > 0 && warmUpTimer === null) warmUpWhenQuiet(text, count, quietLooksMax);
    },
    async close() {
      isClosed = true;
      warmUpTimer?.cancel();
      await Promise.allSettled(running);
      keeping?.cancel();
      for (let client = takeIdle(); client !== null; client = takeIdle()) client.release();
      fallback?.close();
    },
  };
}

function limits(lockMs: number, callMs: number): string {
  return `SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${Math.ceil(callMs * 0.9)}`;
}

/** What comes of waiting for others: a connection, `room` for a new one, or `nothing`. */
type Next = PgPoolClient | 'room' | 'nothing';

/** One connection while a call has it. */
class Connection {
  /** It must not be used by others after this: it is broken, or nobody knows. */
  isSpent = false;
  /** What would commit was sent and not answered. */
  isUnknown = false;
  readonly #client: PgPoolClient;
  readonly #place: string;
  readonly #giveBack: (client: PgPoolClient, destroy: boolean) => void;
  #isReleased = false;
  // A connection that breaks while nobody listens for it ends the process; the pool listens only to those that are idle.
  readonly #onError = (): void => {
    this.isSpent = true;
  };

  constructor(
    client: PgPoolClient,
    place: string,
    giveBack: (client: PgPoolClient, destroy: boolean) => void,
  ) {
    this.#client = client;
    this.#place = place;
    this.#giveBack = giveBack;
    client.on('error', this.#onError);
  }

  /** Runs one statement. `commits`: from here until the answer nobody can tell whether the call took effect. */
  async ask<Row extends object>(text: string, values?: readonly Value[], commits = false): Promise<Row[]> {
    return (await this.#send(text, values, commits)).rows as Row[];
  }

  async commit(): Promise<void> {
    const { command } = await this.#send('COMMIT', [], true);
    if (command === 'COMMIT') return;
    // A statement failed, somebody went on as if it had not, and the server has undone everything without an error.
    throw dulyError('internal', {
      message: `A transaction at ${this.#place} was rolled back when it should have been committed (${command}).`,
      hint: 'This is a defect of Duly. Please report it with this message.',
      details: { place: this.#place },
    });
  }

  async #send(text: string, values: readonly Value[] = [], commits: boolean): Promise<PgResult> {
    this.isUnknown = commits;
    try {
      const result = await this.#client.query({ text, values: values as unknown[], types: rowTypes });
      this.isUnknown = false;
      return result;
    } catch (error) {
      this.isSpent ||= isConnectionSpent(error);
      throw storeError(error, { place: this.#place, unknown: commits });
    }
  }

  release(destroy: boolean): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#client.off('error', this.#onError);
    this.#giveBack(this.#client, destroy);
  }
}

async function inTransaction<Result>(
  connection: Connection,
  begin: string,
  fn: (database: Database) => Promise<Result>,
): Promise<Result> {
  // Without values it is a simple query, and so its three statements are one round trip.
  await connection.ask(begin);
  const inside: Database = {
    query: (text, values) => connection.ask(text, values),
    // Part of the one that runs: it is kept or undone with it.
    transaction: (part) => part(inside, async () => {}),
  };
  let result: Result;
  try {
    result = await fn(inside);
  } catch (error) {
    // A connection that is gone has rolled back by itself, and the first error is the one to tell.
    if (!connection.isSpent) await connection.ask('ROLLBACK').catch(() => {});
    throw error;
  }
  await connection.commit();
  return result;
}

/** What a call after `close` gets. */
export function closedError(place: string): DulyError {
  return dulyError('store_closed', {
    message: `The store at ${place} was closed.`,
    hint: 'Open a new one; a closed store stays closed.',
    details: { place },
  });
}
