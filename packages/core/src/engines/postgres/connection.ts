import { dulyError } from '../../base/errors.ts';
import type { PgPoolClient, PgResult } from '../shared/pool.ts';
import { rowTypes } from './driver.ts';
import { isConnectionSpent, storeError } from './store-error.ts';
import type { Database, Value } from './work.ts';

/** Takes a connection back from a call. `destroy`: it must be closed. */
export type GiveBack = (client: PgPoolClient, destroy: boolean) => void;

/** One connection while a call uses it. */
export class Connection {
  /** Other calls must not use it after this one: it is broken, or its state is unknown. */
  isSpent = false;
  /** A statement that commits was sent and not answered. */
  isUnknown = false;
  readonly #client: PgPoolClient;
  readonly #place: string;
  readonly #giveBack: GiveBack;
  #isReleased = false;
  // An error without a listener ends the process, and the pool listens only to idle connections.
  readonly #onError = (): void => {
    this.isSpent = true;
  };

  constructor(client: PgPoolClient, place: string, giveBack: GiveBack) {
    this.#client = client;
    this.#place = place;
    this.#giveBack = giveBack;
    client.on('error', this.#onError);
  }

  /** Runs one statement. `commits`: until the answer it is unknown whether the call took effect. */
  async ask<Row extends object>(text: string, values?: readonly Value[], commits = false): Promise<Row[]> {
    return (await this.#send(text, values, commits)).rows as Row[];
  }

  /** Commits the transaction. Throws if the server rolled it back instead. */
  async commit(): Promise<void> {
    const { command } = await this.#send('COMMIT', [], true);
    if (command === 'COMMIT') return;
    // A statement failed, its caller continued, and the server rolled back without an error.
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

  /** Ends the use by this call. Later calls of `release` do nothing. */
  release(destroy: boolean): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#client.off('error', this.#onError);
    this.#giveBack(this.#client, destroy);
  }
}

/** Runs `fn` in a transaction that `begin` opens. Commits it, or rolls it back if `fn` throws. */
export async function inTransaction<Result>(
  connection: Connection,
  begin: string,
  fn: (database: Database) => Promise<Result>,
): Promise<Result> {
  // Without values this is a simple query, so its three statements are one round trip.
  await connection.ask(begin);
  const inside: Database = {
    query: (text, values) => connection.ask(text, values),
    // Part of the open transaction: it is committed or rolled back with it.
    transaction: (part) => part(inside, async () => {}),
  };
  let result: Result;
  try {
    result = await fn(inside);
  } catch (error) {
    // The server rolls a lost connection back. If ROLLBACK fails, the first error is the one to report.
    if (!connection.isSpent) await connection.ask('ROLLBACK').catch(() => {});
    throw error;
  }
  await connection.commit();
  return result;
}
