import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after } from 'node:test';
import type { Engine } from '../../src/engine.ts';
import { openStore } from '../../src/engines/open.ts';
import { engineConformance } from '../../src/testing/conformance/index.ts';

const folder = await mkdtemp(join(tmpdir(), 'duly-conformance-'));
after(() => rm(folder, { recursive: true, force: true }));

const urls = new WeakMap<Engine, string>();
let fileCount = 0;

engineConformance('sqlite file, in its thread', {
  open: async () => {
    fileCount += 1;
    const url = `sqlite:${join(folder, `${fileCount}.db`)}`;
    const { engine } = await openStore(url);
    urls.set(engine, url);
    return engine;
  },
  // A second thread with its own connection to the same file.
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
  skip: [
    'beside an open transaction with jobs of its own everyone makes, takes and ends others',
    'a key that an open transaction took is busy for its own calls only, and then its holder answers',
    'a lease that is being settled in an open transaction is kept, and nobody reaps it',
    'beside a settlement in an open transaction others of its serial key are made, and wait for it',
    'serial jobs that several workers settle within run one at a time, in order, each once',
  ].map((name) => ({
    test: `within: ${name}`,
    reason: "A file has one writer at a time: until the user's transaction is over, every other write waits.",
  })),
  // Most of a test's time is the start of its thread.
  concurrency: 2,
});
