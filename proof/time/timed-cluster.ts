import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { systemClock } from '../../packages/core/src/base/clock.ts';
import { Duly, type ScheduleDefinition, type Task } from '../../packages/core/src/index.ts';
import { openEngine } from '../../packages/core/src/internal.ts';
import { createFakedTime, type FakedTime } from './faked-time.ts';
import type { TimedNews, TimedNodeOptions } from './timed-node.ts';

type Began = Extract<TimedNews, { kind: 'began' | 'ended' }>;

/** A node with a wall clock of its own. */
export interface TimedNode {
  child: ChildProcess;
  time: FakedTime;
  /** What it was warned of when it opened the store. */
  warnings: string[];
}

/** Nodes whose wall clocks can be stepped, on one file, and a client in this process whose clock is the machine's. */
export interface TimedCluster {
  file: string;
  client: Duly;
  work: Task;
  long: Task;
  /** Starts a node at this instant of its own. The first one gives the file its clock. */
  start(wallAt: number, schedules?: ScheduleDefinition[]): Promise<TimedNode>;
  /** Handlers that began so far, on any node. */
  began(): readonly Began[];
  /** Resolves when this holds of what was told so far. */
  until(holds: (reported: readonly TimedNews[]) => boolean): Promise<void>;
  /** Resolves when this holds of the file; looked at after every commit. */
  untilStored(holds: (db: DatabaseSync) => boolean): Promise<void>;
  /** Steps of the wall clock that the store has followed. */
  steps(): number[];
  /** The store's instant. */
  now(): Promise<number>;
}

// Short, so that a clock that moved leases would end one within the test.
const leaseMs = 2_500;

/** Makes a cluster that ends with its test. */
export function createTimedCluster(t: TestContext): TimedCluster {
  const folder = mkdtempSync(join(tmpdir(), 'duly-time-'));
  const file = join(folder, 'duly.db');
  const store = `sqlite:${file}`;
  const client = new Duly({ store, app: 'client', logger: false });
  const children: ChildProcess[] = [];
  const reported: TimedNews[] = [];
  const listeners = new Set<() => void>();
  t.after(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(wallAt: number, schedules: ScheduleDefinition[] = []): Promise<TimedNode> {
    const time = createFakedTime(folder, `node-${children.length}`, wallAt - systemClock.now());
    const options: TimedNodeOptions = { store, leaseMs, schedules };
    const child = fork(new URL('./timed-node.ts', import.meta.url), [JSON.stringify(options)], {
      env: { ...process.env, ...time.env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    children.push(child);
    const warnings = await new Promise<string[]>((resolve, reject) => {
      child.on('message', (news: TimedNews) => {
        if (news.kind === 'ready') resolve(news.warnings);
        reported.push(news);
        for (const listener of [...listeners]) listener();
      });
      child.once('exit', (code) => reject(new Error(`A node ended with ${code} before it was ready.`)));
    });
    return { child, time, warnings };
  }

  return {
    file,
    client,
    work: client.task({ name: 'work', run: () => null }),
    long: client.task({ name: 'long', run: () => null }),
    start,
    began: () => reported.filter((news): news is Began => news.kind === 'began'),
    until(holds) {
      return new Promise((resolve, reject) => {
        const look = () => {
          if (!holds(reported)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
        // What was there instead is worth more than that nothing came.
        t.signal.addEventListener('abort', () => {
          if (listeners.delete(look))
            reject(new Error(`Waited in vain; told so far: ${JSON.stringify(reported)}.`));
        });
      });
    },
    untilStored(holds) {
      const db = new DatabaseSync(file, { readOnly: true });
      return new Promise<void>((resolve) => {
        const watcher = watch(`${file}-wal`, () => look());
        const look = () => {
          if (!holds(db)) return;
          watcher.close();
          resolve();
        };
        look();
      }).finally(() => db.close());
    },
    steps: () => readSteps(file),
    async now() {
      const engine = await openEngine(`${store}?inline=1`);
      const { now } = await engine.get({ ids: [] });
      await engine.close();
      return now;
    },
  };
}

function readSteps(file: string): number[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('SELECT step_ms FROM clock_steps ORDER BY at').all() as { step_ms: number }[];
  db.close();
  return rows.map(({ step_ms }) => step_ms);
}
