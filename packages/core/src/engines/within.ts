import { systemClock } from '../clock.ts';
import type { EngineInfo, Followed, Within } from '../engine.ts';
import { parseStoreAddress } from './address.ts';

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
      const { createPostgresWithin } = await import('./postgres/within.ts');
      return (tx) => createPostgresWithin(tx, { schema: address.schema, place, id, follow });
    }
    const { createSqliteWithin } = await import('./sqlite/within.ts');
    return createSqliteWithin({ path: address.path, clock: systemClock, follow });
  }

  return async (tx) => {
    opening ??= open();
    return (await opening)(tx);
  };
}
