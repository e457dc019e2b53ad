import type { Clock, Timer } from '../../base/clock.ts';
import type { PgPoolClient } from '../shared/pool.ts';

interface IdleConnection {
  client: PgPoolClient;
  /** Closes the connection when it breaks. */
  lose(): void;
  sinceElapsed: number;
}

/**
 * Connections that stay out of the pool, ready for the next call. To acquire a connection from the pool and
 * to release it takes longer than to send a short statement.
 */
export class IdleConnections {
  readonly #clock: Clock;
  readonly #keepMs: number;
  /** The connection that was used last is at the end. */
  #idle: IdleConnection[] = [];
  #max = 1;
  #isPinned = false;
  #expiry: Timer | null = null;

  /** `keepMs`: how long a connection stays until it is released to the pool; 0: none stays. */
  constructor(clock: Clock, keepMs: number) {
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  /** Removes and returns the wanted connection that was used last; null: there is none. */
  take(isWanted: (client: PgPoolClient) => boolean = () => true): PgPoolClient | null {
    const one = this.#idle.findLast(({ client }) => isWanted(client));
    if (one === undefined) return null;
    const { client, lose } = one;
    this.#idle = this.#idle.filter((other) => other !== one);
    client.off('error', lose);
    client.ref?.();
    return client;
  }

  /** Whether another connection may stay out of the pool. */
  hasRoom(): boolean {
    return this.#keepMs > 0 && this.#idle.length < this.#max;
  }

  /** Adds a connection that no call uses now. */
  add(client: PgPoolClient): void {
    // The server ended it, or the network broke.
    const lose = (): void => this.take((other) => other === client)?.release(true);
    this.#idle.push({ client, lose, sinceElapsed: this.#clock.elapsed() });
    client.on('error', lose);
    // Like an idle connection of the pool, it does not keep the process alive.
    client.unref?.();
    if (!this.#isPinned) this.#expiry ??= this.#releaseAfter(this.#keepMs);
  }

  /**
   * From now on, `count` connections stay, for any time: to warm them up again takes as long as several
   * calls.
   */
  pin(count: number): void {
    this.#max = count;
    this.#isPinned = true;
  }

  /** Releases all connections to the pool. */
  close(): void {
    this.#expiry?.cancel();
    for (let client = this.take(); client !== null; client = this.take()) client.release();
  }

  #releaseAfter(ms: number): Timer {
    return this.#clock.after(ms, () => this.#releaseExpired(), { unref: true });
  }

  #releaseExpired(): void {
    this.#expiry = null;
    const [oldest] = this.#idle;
    if (oldest === undefined || this.#isPinned) return;
    const leftMs = this.#keepMs - (this.#clock.elapsed() - oldest.sinceElapsed);
    if (leftMs <= 0) this.take()?.release();
    else this.#expiry = this.#releaseAfter(leftMs);
  }
}
