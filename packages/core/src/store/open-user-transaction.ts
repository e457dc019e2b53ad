import { systemClock } from '../base/clock.ts';
import type { EngineInfo, Followed, Within } from '../contract/engine.ts';
import { parseStoreAddress } from './store-url.ts';

/** Gives the store inside transactions of the user's own. */
export type OpenWithin = (tx: unknown) => Promise<Within>;

/**
 * Makes it for the store at an address. It runs in the thread of whoever calls, where their connection is, while the engine itself may be in
 * another.
 */
export function createWithin(
  url: string,
  { place, id = 0 }: EngineInfo,
  follow: (followed: Followed) => void,
): OpenWithin {
  let opening: Promise<(tx: unknown) => Within> | null = null;

  async function open(): Promise<(tx: unknown) => Within> {
    const address = parseStoreAddress(url);
    // Only the engine that is asked for is loaded.
    if (address.kind === 'postgres') {
      const { createPostgresWithin } = await import('../engines/postgres/user-transaction.ts');
      return (tx) => createPostgresWithin(tx, { schema: address.schema, place, id, follow });
    }
    const { createSqliteWithin } = await import('../engines/sqlite/user-transaction.ts');
    return createSqliteWithin({ path: address.path, clock: systemClock, follow });
  }

  return async (tx) => {
    opening ??= open();
    return (await opening)(tx);
  };
}
