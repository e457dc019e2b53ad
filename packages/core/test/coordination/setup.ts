import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duly } from '../../src/index.ts';
import { createManualClock, type ManualClock } from '../../src/testing/index.ts';

/** A promise and the hand that settles it. */
export function deferred<Value = void>() {
  return Promise.withResolvers<Value>();
}

/**
 * Several Dulys on one store, as several processes would be, all stopped with the test. With `virtual`, each has a clock of its
 * own that stands still until it is advanced; the store believes whoever calls.
 */
export async function createSharedStore(
  t: { after(fn: () => Promise<void>): void },
  { virtual = false }: { virtual?: boolean } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-test-'));
  // Inline: on virtual time the engine must live in this thread.
  const store = `sqlite:${join(folder, 'duly.db')}${virtual ? '?inline' : ''}`;
  const all: Duly[] = [];
  const clocks = new Map<Duly, ManualClock>();
  t.after(async () => {
    await Promise.all(all.map((duly) => duly.stop()));
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    store,
    duly(): Duly {
      const clock = virtual ? createManualClock() : undefined;
      const duly = new Duly({ store, ...(clock === undefined ? {} : { clock }) });
      if (clock !== undefined) clocks.set(duly, clock);
      all.push(duly);
      return duly;
    },
    async advance(duly: Duly, ms: number): Promise<void> {
      await clocks.get(duly)?.advance(ms);
    },
  };
}
