import type { Engine, Within } from '../contract/engine.ts';
import { unsupportedTx } from '../engines/shared/transaction-errors.ts';

/** The store inside a transaction of the user's own. Throws `tx_unsupported` where it has no such thing. */
export function withinOf(engine: Pick<Engine, 'within' | 'info'>, tx: unknown): Promise<Within> {
  if (engine.within === undefined) return Promise.reject(unsupportedTx(engine.info().place));
  return engine.within(tx);
}
