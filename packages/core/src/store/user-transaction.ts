import type { Engine, UserTransaction } from '../contract/engine.ts';
import { unsupportedTx } from '../engines/shared/transaction-errors.ts';

/** The store inside a transaction of the user's own. Throws `tx_unsupported` where it has no such thing. */
export function userTransactionOf(
  engine: Pick<Engine, 'userTransaction' | 'info'>,
  tx: unknown,
): Promise<UserTransaction> {
  if (engine.userTransaction === undefined) return Promise.reject(unsupportedTx(engine.info().place));
  return engine.userTransaction(tx);
}
