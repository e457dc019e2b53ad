import type { Clock } from '../../base/clock.ts';
import type { PgPool, PgPoolClient } from '../shared/pool.ts';
import { resetConnection } from './connect.ts';
import { Connection, type GiveBack } from './connection.ts';
import { acquireWithFallback, type FallbackConnection } from './fallback-connection.ts';
import { IdleConnections } from './idle-connections.ts';
import { isTooManyConnections, storeError } from './store-error.ts';
import { type Allow, withinTime } from './time-limit.ts';

/** Options of {@link Connections}. */
export interface ConnectionsOptions {
  pool: PgPool;
  /** Where the server is, without secrets. */
  place: string;
  clock: Clock;
  /** How long one call may take. After that its connection is closed as lost. */
  callMs: number;
  /** How long a connection stays out of the pool, ready for the next call; 0: it goes back at once. */
  keepMs: number;
  fallback: FallbackConnection | null;
}

/** What a call does with its connection. */
export type ConnectionUse<Result> = (connection: Connection, allow: Allow) => Promise<Result>;

/** The result of a wait for other calls: a connection, `room` to open a new one, or `nothing`. */
type Next = PgPoolClient | 'room' | 'nothing';

// How long the process opens no further connection after the server refused one as too many.
const reconnectMs = 1_000;

/** Gives each call a connection. If the server has none left, calls wait for each other. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #idle: IdleConnections;

  /** Connections that calls use now, and how often one was given back. */
  #usedCount = 0;
  #givenBackCount = 0;
  /** Calls that wait for a connection of the pool. */
  #connectingCount = 0;

  /** Calls that wait for a connection of another call, because the server refused a further one. */
  readonly #waiting: ((next: Next) => void)[] = [];
  /** The server's last error about too many connections, and when it came. */
  #refusal: unknown = null;
  #refusedElapsed = Number.NEGATIVE_INFINITY;

  /** When each connection was last used. A new one is not in it. */
  readonly #receivedElapsed = new WeakMap<PgPoolClient, number>();
  /** When the connection that was last given up became silent. Connections silent since then are lost too. */
  #silentElapsed = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#idle = new IdleConnections(options.clock, options.keepMs);
  }

  /** Runs `use` on one connection. */
  async use<Result>(use: ConnectionUse<Result>): Promise<Result> {
    return this.#useClient(await this.#take(), use);
  }

  /** Warms up `count` connections, one after the other, and pins them. Stops early when `isStopped`. */
  async warmUp(count: number, use: ConnectionUse<void>, isStopped: () => boolean): Promise<void> {
    this.#idle.pin(count);
    const ready = new Set<PgPoolClient>();
    while (!isStopped() && ready.size < count) {
      // If the server refuses another connection, fewer are warmed up.
      const client = this.#idle.take((other) => !ready.has(other)) ?? (await this.#acquire());
      this.#usedCount++;
      ready.add(client);
      await this.#useClient(client, use);
    }
  }

  /** Releases the idle connections to the pool. Only after the last call. */
  close(): void {
    this.#idle.close();
    this.#options.fallback?.close();
  }

  /** Afterwards the connection serves other calls, or is closed if its state is unknown. */
  async #useClient<Result>(client: PgPoolClient, use: ConnectionUse<Result>): Promise<Result> {
    const { place, clock, callMs } = this.#options;
    const connection = new Connection(client, place, this.#giveBack);
    const giveUp = (afterMs: number): void => {
      this.#silentElapsed = clock.elapsed() - afterMs;
      connection.release(true);
      resetConnection(client);
    };
    try {
      return await withinTime(clock, callMs, (allow) => use(connection, allow), giveUp);
    } catch (error) {
      throw storeError(error, { place, unknown: connection.isUnknown });
    } finally {
      this.#receivedElapsed.set(client, clock.elapsed());
      connection.release(connection.isSpent);
    }
  }

  /** Skips connections that are probably lost: each would cost its caller the whole time of a call. */
  async #take(): Promise<PgPoolClient> {
    for (;;) {
      const client = this.#idle.take() ?? (await this.#connect());
      if ((this.#receivedElapsed.get(client) ?? Number.POSITIVE_INFINITY) >= this.#silentElapsed) {
        this.#usedCount++;
        return client;
      }
      client.release(true);
    }
  }

  readonly #giveBack: GiveBack = (client, destroy) => {
    this.#usedCount--;
    this.#givenBackCount++;
    const next = this.#waiting.shift();
    if (next !== undefined) {
      if (destroy) client.release(true);
      next(destroy ? 'room' : client);
      return;
    }
    // A call that waits for the pool may wait for this connection.
    if (destroy || !this.#idle.hasRoom() || this.#connectingCount > 0) client.release(destroy);
    else this.#idle.add(client);
  };

  /** Acquires a connection. If the server has none left, waits for the other calls of this process. */
  async #connect(): Promise<PgPoolClient> {
    const { place, clock, callMs } = this.#options;
    const sinceElapsed = clock.elapsed();
    for (;;) {
      const before = this.#givenBackCount;
      try {
        if (this.#mayConnect()) return await this.#acquire();
        throw this.#refusal;
      } catch (error) {
        if (this.#mayConnect() && isTooManyConnections(error)) this.#noteRefusal(error);
        const leftMs = callMs - (clock.elapsed() - sinceElapsed);
        const next = await (isTooManyConnections(error) && leftMs > 0
          ? this.#waitForOthers(before, leftMs)
          : 'nothing');
        if (this.#usedCount + this.#connectingCount === 0)
          for (const resume of this.#waiting.splice(0)) resume('nothing');
        if (next === 'nothing') throw storeError(error, { place, unknown: false });
        if (next !== 'room') return next;
      }
    }
  }

  #noteRefusal(error: unknown): void {
    this.#refusal = error;
    this.#refusedElapsed = this.#options.clock.elapsed();
  }

  /** Each attempt costs the server a process, so attempts pause while other calls have connections. */
  #mayConnect(): boolean {
    const { pool, clock } = this.#options;
    return (
      this.#usedCount === 0 ||
      (pool.idleCount ?? 0) > 0 ||
      clock.elapsed() - this.#refusedElapsed > reconnectMs
    );
  }

  /**
   * Waits until another call gives a connection back, at most `ms`. Does not wait if that happened since the
   * attempt began, when the count was `before`, or if no other call has a connection.
   */
  async #waitForOthers(before: number, ms: number): Promise<Next> {
    const client = this.#idle.take();
    if (client !== null) return client;
    if (this.#givenBackCount > before) return 'room';
    if (this.#usedCount + this.#connectingCount === 0) return 'nothing';
    return new Promise((resolve) => {
      const resume = (next: Next): void => {
        timer.cancel();
        resolve(next);
      };
      const timer = this.#options.clock.after(ms, () => {
        this.#waiting.splice(this.#waiting.indexOf(resume), 1);
        resolve('nothing');
      });
      this.#waiting.push(resume);
    });
  }

  /** One attempt to acquire a connection of the pool, or the fallback connection. */
  async #acquire(): Promise<PgPoolClient> {
    const { pool, fallback, clock, callMs } = this.#options;
    const connecting = fallback === null ? pool.connect() : acquireWithFallback(pool, fallback, clock);
    let isLate = false;
    this.#connectingCount++;
    try {
      return await withinTime(
        clock,
        callMs,
        () => connecting,
        () => {
          isLate = true;
        },
      );
    } catch (error) {
      // No call uses a connection that arrives after this.
      if (isLate) connecting.then((client) => client.release()).catch(() => {});
      throw error;
    } finally {
      this.#connectingCount--;
    }
  }
}
