import { type Clock, systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { StoreExamination } from '../engines/shared/setting-check.ts';
import { parseStoreAddress } from './store-url.ts';

/**
 * Looks at a store itself: what its settings promise, what holds it back, its schema, and whether notifications arrive. Whether work moves is
 * another question: `duly.health()`. Changes nothing, and a store that cannot be reached is a finding, not an error.
 */
export async function examineStore(url: string, clock: Clock = systemClock): Promise<StoreExamination> {
  const address = parseStoreAddress(url);
  // Only the engine that is asked for is loaded.
  if (address.kind === 'postgres') {
    const { examinePostgres } = await import('../engines/postgres/examine.ts');
    return examinePostgres({ ...address, clock, random: systemRandom });
  }
  const { examineSqlite } = await import('../engines/sqlite/examine.ts');
  return examineSqlite(address.path);
}
