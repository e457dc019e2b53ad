// One node of a cluster of real processes. Tells its parent over IPC what its handlers do, and does what the tests
// ask of it: block the event loop, die in the middle of a job, be stopped and go on.
import { existsSync } from 'node:fs';
import { Duly } from '../../src/index.ts';

const [store, leaseMs, concurrency] = process.argv.slice(2) as [string, string, string];
const duly = new Duly({ store, lease: Number(leaseMs), concurrency: Number(concurrency), app: 'cluster' });

/** What a child tells. */
export type ChildNews =
  | { kind: 'ready' }
  | { kind: 'entered'; id: string; attempt: number; fence: number; pid: number }
  | { kind: 'left'; id: string; attempt: number; aborted: string | null; pid: number }
  | { kind: 'lost'; id: string; pid: number }
  | { kind: 'failed'; doing: string; count: number; pid: number };

const report = (news: ChildNews) => process.send?.(news);

/** Resolves when the parent sends this word. */
function reported(word: string): Promise<void> {
  return new Promise((resolve) => {
    const listen = (message: unknown) => {
      if (message !== word) return;
      process.off('message', listen);
      resolve();
    };
    process.on('message', listen);
  });
}

// Ends when the parent says its input; with `once` only its first attempt waits; with anything else it ends at once.
duly.task({
  name: 'work',
  run: async ({ input, job, attempt, fence, signal }) => {
    report({ kind: 'entered', id: job.id, attempt, fence, pid: process.pid });
    if (typeof input === 'string' && (input !== 'once' || attempt === 1)) await reported(input);
    const aborted = signal.aborted ? ((signal.reason as { code?: string })?.code ?? 'unknown') : null;
    report({ kind: 'left', id: job.id, attempt, aborted, pid: process.pid });
    return attempt;
  },
});

// Ends when the parent says its input; never a second start.
duly.task({
  name: 'careful',
  delivery: 'at-most-once',
  run: async ({ input, job, attempt, fence }) => {
    report({ kind: 'entered', id: job.id, attempt, fence, pid: process.pid });
    await reported(input as string);
    report({ kind: 'left', id: job.id, attempt, aborted: null, pid: process.pid });
    return attempt;
  },
});

// Blocks the event loop: no timer, no message, no heartbeat of the main thread. For this long, or until the file that
// is named exists.
duly.task({
  name: 'block',
  run: ({ input, job, attempt, fence }) => {
    report({ kind: 'entered', id: job.id, attempt, fence, pid: process.pid });
    const word = new Int32Array(new SharedArrayBuffer(4));
    if (typeof input !== 'string') Atomics.wait(word, 0, 0, Number(input));
    else for (let ms = 0; ms < 60_000 && !existsSync(input); ms += 20) Atomics.wait(word, 0, 0, 20);
    return attempt;
  },
});

// Takes its whole process down, every time.
duly.task({
  name: 'poison',
  run: ({ job, attempt, fence }) => {
    report({ kind: 'entered', id: job.id, attempt, fence, pid: process.pid });
    process.kill(process.pid, 'SIGKILL');
  },
});

// Never a second start.
duly.task({
  name: 'fragile',
  delivery: 'at-most-once',
  run: ({ job, attempt, fence }) => {
    report({ kind: 'entered', id: job.id, attempt, fence, pid: process.pid });
    process.kill(process.pid, 'SIGKILL');
  },
});

const failures = new Map<string, number>();
duly.on('error', ({ doing }) => {
  const count = (failures.get(doing) ?? 0) + 1;
  failures.set(doing, count);
  report({ kind: 'failed', doing, count, pid: process.pid });
});
duly.on('job.lost', ({ id }) => report({ kind: 'lost', id, pid: process.pid }));
await duly.start({ signals: true });
report({ kind: 'ready' });
