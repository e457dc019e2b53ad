import { type Clock, systemClock } from '../clock.ts';
import { systemRandom } from '../random.ts';
import { parseStoreAddress } from './address.ts';
import type { StoreExamination } from './setting-check.ts';

/**
 * Looks at a store itself: what its settings promise, what holds it back, its schema, and whether hints arrive. Whether work moves is
 * another question: `duly.health()`. Changes nothing, and a store that cannot be reached is a finding, not an error.
 */
export async function examineStore(url: string, clock: Clock = systemClock): Promise<StoreExamination> {
  const address = parseStoreAddress(url);
  // Only the engine that is asked for is loaded.
  if (address.kind === 'postgres') {
    const { examinePostgres } = await import('./postgres/examine.ts');
    return examinePostgres({ ...address, clock, random: systemRandom });
  }
  const { examineSqlite } = await import('./sqlite/examine.ts');
  return examineSqlite(address.path);
}
