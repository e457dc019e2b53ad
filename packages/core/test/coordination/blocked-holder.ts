// Holds a lock, a leadership or a key of `once` in a process whose main thread is blocked meanwhile, and reports
// what its code can know in the very turn in which it goes on.
import { existsSync } from 'node:fs';
import { Duly } from '../../src/index.ts';

/** What the process reports. */
export type HolderNews =
  | { kind: 'held' }
  /** Read in the turn of the block, directly after it. */
  | { kind: 'on'; aborted: boolean; isLeader: boolean | null }
  | { kind: 'done'; kept: boolean | null };

const [store, what, ttl, block] = process.argv.slice(2) as [string, string, string, string];
const duly = new Duly({ store, logger: false });
const report = (news: HolderNews) => process.send?.(news);
const blockMsMax = 30_000;

/** Blocks this thread: for this long, or until the file that is named exists. */
function blockThread(): void {
  const forMs = Number(block);
  const word = new Int32Array(new SharedArrayBuffer(4));
  if (Number.isFinite(forMs)) Atomics.wait(word, 0, 0, forMs);
  else for (let ms = 0; ms < blockMsMax && !existsSync(block); ms += 20) Atomics.wait(word, 0, 0, 20);
}

function holdBlocked(signal: AbortSignal, isLeader: () => boolean | null = () => null): void {
  report({ kind: 'held' });
  blockThread();
  report({ kind: 'on', aborted: signal.aborted, isLeader: isLeader() });
}

if (what === 'lock') {
  const result = await duly.lock('busy', { ttl: Number(ttl) }, ({ signal }) => holdBlocked(signal));
  report({ kind: 'done', kept: result.acquired ? result.kept : null });
} else if (what === 'once') {
  await duly.once('busy', { ttl: Number(ttl) }, ({ signal }) => holdBlocked(signal));
  report({ kind: 'done', kept: null });
} else {
  const leadership = duly.leader('busy', { ttl: Number(ttl) });
  const { signal } = await leadership.elected();
  holdBlocked(signal, () => leadership.isLeader);
  await leadership.resign();
  report({ kind: 'done', kept: null });
}
await duly.stop();
process.disconnect();
