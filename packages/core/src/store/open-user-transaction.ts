import { systemClock } from '../base/clock.ts';
import type { EngineInfo, UserTransaction, WatchedTransaction } from '../contract/engine.ts';
import { parseStoreAddress } from './store-url.ts';

/** Gives the store inside transactions of the user's own. */
export type OpenUserTransaction = (tx: unknown) => Promise<UserTransaction>;

/**
 * Makes it for the store at an address. It runs in the thread of whoever calls, where their connection is, while the engine itself may be in
 * another.
 */
export function createUserTransactionOpener(
  url: string,
  { place, id = 0 }: EngineInfo,
  watchTransaction: (watched: WatchedTransaction) => void,
): OpenUserTransaction {
  let opening: Promise<(tx: unknown) => UserTransaction> | null = null;

  async function open(): Promise<(tx: unknown) => UserTransaction> {
    const address = parseStoreAddress(url);
    // Only the engine that is asked for is loaded.
    if (address.kind === 'postgres') {
      const { createPostgresUserTransaction } = await import('../engines/postgres/user-transaction.ts');
      return (tx) =>
        createPostgresUserTransaction(tx, { schema: address.schema, place, id, watchTransaction });
    }
    const { createSqliteUserTransactions } = await import('../engines/sqlite/user-transaction.ts');
    return createSqliteUserTransactions({ path: address.path, clock: systemClock, watchTransaction });
  }

  return async (tx) => {
    opening ??= open();
    return (await opening)(tx);
  };
}
