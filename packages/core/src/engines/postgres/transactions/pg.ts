import { type RecogniseTransaction, type TransactionEnd, unknownStatus } from './transaction.ts';

interface PgClient {
  query(text: string, values: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  release?(): void;
  /** `I`: none is open, `T`: one is, `E`: it has failed; null: not connected. Not in old versions. */
  getTransactionStatus?(): string | null;
  /** What the protocol says, message by message. Not there over libpq. */
  readonly connection?: PgConnection;
}

interface PgConnection {
  on(event: string, listener: (message: never) => void): unknown;
  off(event: string, listener: (message: never) => void): unknown;
}

/** A client of `pg` on which BEGIN was sent. A pool is none: it gives every statement another connection. */
export const recognisePg: RecogniseTransaction = (tx) => {
  const client = tx as PgClient & { totalCount?: unknown };
  const isClient =
    typeof client.query === 'function' && typeof (tx as { connect?: unknown }).connect === 'function';
  if (!isClient || client.totalCount !== undefined) return null;
  const { connection } = client;
  return {
    query: async (text, values) => (await client.query(text, values)).rows,
    refusal() {
      if (typeof client.getTransactionStatus !== 'function') return unknownStatus;
      const status = client.getTransactionStatus();
      if (status === 'I') return 'no transaction is open on this client';
      if (status === 'E') return 'it has failed and can only be rolled back';
      return null;
    },
    ...(typeof connection?.on === 'function' && typeof connection.off === 'function'
      ? {
          onEnd(name, listener) {
            // Somebody sent COMMIT without waiting for the call, and its answer was here first.
            if (client.getTransactionStatus?.() === 'I') listener('unknown');
            else listenersOf(connection).set(name, listener);
          },
        }
      : {}),
  };
};

type Listeners = Map<string, (end: TransactionEnd) => void>;

const listening = new WeakMap<PgConnection, Listeners>();

/** Who is to be told of the end of the transaction that is open on a connection. However many calls are made in it, it is watched once. */
function listenersOf(connection: PgConnection): Listeners {
  const known = listening.get(connection);
  if (known !== undefined) return known;
  const listeners: Listeners = new Map();
  let lastCommand = '';
  function end(how: TransactionEnd): void {
    connection.off('commandComplete', onCommand);
    connection.off('readyForQuery', onReady);
    connection.off('end', onGone);
    listening.delete(connection);
    for (const listener of listeners.values()) listener(how);
  }
  const onCommand = ({ text }: { text: string }): void => {
    lastCommand = text;
    // Said only of a transaction that is kept: the COMMIT of one that has failed is answered with ROLLBACK.
    if (text === 'COMMIT') end('committed');
  };
  const onReady = ({ status }: { status: string }): void => {
    // ROLLBACK is also said when it only went back to a savepoint, but then the transaction is still open.
    if (status === 'I') end(lastCommand === 'ROLLBACK' ? 'rolled-back' : 'unknown');
  };
  const onGone = (): void => end('unknown');
  connection.on('commandComplete', onCommand);
  connection.on('readyForQuery', onReady);
  connection.on('end', onGone);
  listening.set(connection, listeners);
  return listeners;
}
