import type { EngineInfo } from '@duly/core';
import { parseStoreAddress } from '@duly/core/internal';
import { hasWalResetBug } from '@duly/core/sqlite';

/** Why no other process can use a store while this one has it open, and what to do; null: others can. */
export function sharingProblem(store: string, { version }: EngineInfo): string | null {
  const address = parseStoreAddress(store);
  if (address.kind !== 'sqlite') return null;
  const { path, exclusive } = address;
  if (path === ':memory:') {
    return 'The store is in memory: only this process sees it, and it ends with it. To look at it from another terminal, name a file: --store sqlite:./duly.db';
  }
  if (hasWalResetBug(version)) {
    return `Only this process can use the store while it runs: Node ${process.versions.node} brings SQLite ${version}, which cannot share a file safely. Other commands are refused until it stops. To use several at once, run them all with Node 24.15 or newer, or 22.23.3.`;
  }
  if (exclusive) {
    return 'Only this process can use the store while it runs: its address says "exclusive". Other commands are refused until it stops.';
  }
  return null;
}
