import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  // Most of a test's time is the start of its thread.
  concurrency: 2,
});
