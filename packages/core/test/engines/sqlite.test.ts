import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Engine } from '../../src/engine.ts';
import { openStore } from '../../src/engines/open.ts';
import { engineConformance } from '../../src/testing/conformance/index.ts';

engineConformance('sqlite::memory:', {
  open: async () => (await openStore('sqlite::memory:')).engine,
});

const folder = await mkdtemp(join(tmpdir(), 'duly-conformance-'));
after(() => rm(folder, { recursive: true, force: true }));

const files = new WeakMap<Engine, string>();
let fileCount = 0;

engineConformance('sqlite file, in its thread', {
  // Most of a test's time is the start of its thread.
  concurrency: 2,
  open: async () => {
    fileCount += 1;
    const path = join(folder, `${fileCount}.db`);
    const { engine } = await openStore(`sqlite:${path}`);
    files.set(engine, path);
    return engine;
  },
  openSecond: async (first) => (await openStore(`sqlite:${files.get(first)}`)).engine,
});
