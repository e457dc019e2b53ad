import type { EngineInfo, Followed, Within } from '../engine.ts';
import { parseStoreAddress } from './address.ts';
import { unsupportedTx } from './tx-errors.ts';

/**
 * The store at an address inside a transaction of the user's own. Runs in the thread of whoever calls, where their connection is, while the
 * engine itself may be in another.
 */
export async function openWithin(
  url: string,
  { place, id = 0 }: EngineInfo,
  tx: unknown,
  follow: (followed: Followed) => void,
): Promise<Within> {
  const address = parseStoreAddress(url);
  if (address.kind === 'postgres') {
    const { createPostgresWithin } = await import('./postgres/within.ts');
    return createPostgresWithin(tx, { schema: address.schema, place, id, follow });
  }
  throw unsupportedTx(place);
}
