import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after } from 'node:test';
import { type EngineConformanceOptions, engineConformance } from '@duly/conformance';
import { systemClock } from '../../src/base/clock.ts';
import type { Engine } from '../../src/contract/engine.ts';
import { openSqliteEngine } from '../../src/engines/sqlite/index.ts';
import { openStore } from '../../src/store/thread/open-store.ts';

const folder = await mkdtemp(join(tmpdir(), 'duly-conformance-'));
after(() => rm(folder, { recursive: true, force: true }));

const urls = new WeakMap<Engine, string>();
let fileCount = 0;

/** How the suite opens files; `parameters` are those of their address. */
function onFiles(
  parameters: string,
  open: (url: string) => Promise<{ engine: Engine }> = openStore,
): EngineConformanceOptions {
  return {
    open: async () => {
      fileCount += 1;
      const url = `sqlite:${join(folder, `${fileCount}.db`)}${parameters}`;
      const { engine } = await open(url);
      urls.set(engine, url);
      return engine;
    },
    // A second connection to the same file.
    openSecond: async (first) => (await openStore(urls.get(first) as string)).engine,
    async begin(engine) {
      const db = new DatabaseSync(engine.info().place, { timeout: 5_000 });
      db.exec('BEGIN IMMEDIATE');
      const finish = (how: string): boolean => {
        // It is over already where a settlement under a lost lease has rolled it back.
        if (!db.isTransaction) return false;
        db.exec(how);
        return true;
      };
      return {
        tx: db,
        commit: async () => finish('COMMIT'),
        rollback: async () => void finish('ROLLBACK'),
        end: async () => db.close(),
      };
    },
  };
}

const oneWriter = [
  'beside an open transaction with jobs of its own everyone makes, takes and ends others',
  'a key that an open transaction took is busy for its own calls only, and then its holder answers',
  'a lease that is being settled in an open transaction is kept, and nobody reaps it',
  'beside a settlement in an open transaction others of its serial key are created, and wait for it',
  'serial jobs that several workers settle within run one at a time, in order, each once',
].map((name) => ({
  test: `user transactions: ${name}`,
  reason: "A file has one writer at a time: until the user's transaction is over, every other write waits.",
}));

// What is packed on its way, heard on the way back, or meets others there. The rest travels to the thread as it is, and random play asks every
// verb of it: to start a thread for each test takes longer than most tests.
const inThread = new Set([
  'enqueue',
  'exchange',
  'together',
  'heartbeat',
  'reap',
  'report',
  'schedules',
  'changes',
  'operations',
  'notifications',
  'user transactions',
  'races',
  'random',
]);

engineConformance('sqlite file, in its thread', {
  ...onFiles(''),
  asks: (chapter) => inThread.has(chapter),
  skip: oneWriter,
  concurrency: 2,
});

engineConformance('sqlite file', { ...onFiles('?inline=1'), asks: (chapter) => !inThread.has(chapter) });

// All other chapters run without the plain branches in memory: sqlite/plain-off.prove.test.ts.
engineConformance('sqlite file, plain branches off', {
  ...onFiles('', async (url) => {
    const path = url.slice('sqlite:'.length);
    return { engine: await openSqliteEngine({ path, clock: systemClock, hasPlainBranches: false }) };
  }),
  asks: (chapter) => chapter === 'user transactions',
  skip: [
    ...oneWriter,
    ...[
      'whoever listens is told after the commit',
      'jobs of a transaction are announced with their types after the commit',
      'the next in line for a place that a transaction left is announced after the commit',
    ].map((test) => ({
      test: `user transactions: ${test}`,
      reason: 'The engine answers in this thread, so asking it leaves no turn in which its file is watched.',
    })),
  ],
});
