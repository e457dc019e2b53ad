import { type Duly, isDulyError } from 'duly';

/** A file on some other machine, which remembers the highest fence it was written with and refuses lower ones. */
export interface FencedFile {
  write(text: string, fence: number): void;
}

/** Exports prices, on one of many machines at a time. Returns who has the lock if it is not this one. */
export async function exportPrices(
  duly: Duly,
  file: FencedFile,
  read: (signal: AbortSignal) => Promise<string>,
): Promise<{ done: true } | { done: false; holder: string }> {
  const result = await duly.lock('price-export', { ttl: '1m' }, async ({ fence, signal }) => {
    const prices = await read(signal);
    // A machine that slept through its lease wakes up here and still believes that it holds the lock. The fence is what stops it.
    file.write(prices, fence);
  });
  return result.acquired ? { done: true } : { done: false, holder: result.holder.node };
}

/** Follows the market on one machine, as long as it leads; another one takes over when it is gone. */
export function followMarket(
  duly: Duly,
  follow: (signal: AbortSignal) => Promise<void>,
): { stop(): Promise<void> } {
  const leadership = duly.leader('market', { ttl: '15s' });
  const stopping = new AbortController();
  const following = (async () => {
    while (!stopping.signal.aborted) {
      const { signal } = await leadership.elected();
      // A term that is lost aborts the one, our own will the other.
      await follow(AbortSignal.any([signal, stopping.signal]));
    }
  })().catch((error: unknown) => {
    if (!isDulyError(error, 'resigned') && !isDulyError(error, 'stopped')) throw error;
  });
  return {
    async stop() {
      stopping.abort();
      await leadership.resign();
      await following;
    },
  };
}
