import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Duly } from '../../src/index.ts';
import { freeze, isStopped } from './freeze.ts';
import type { ChildNews } from './node-child.ts';

/** Several processes on one store, a SQLite file unless given, and a client in this one. */
export interface Cluster {
  /** Makes and reads jobs; runs none. */
  client: Duly;
  /** The file of a SQLite store. */
  file: string;
  /** Starts a process and waits until it is ready. */
  spawn(concurrency?: number): Promise<ChildProcess>;
  /** The first news that fits, from whichever process, past or future. */
  news<Kind extends ChildNews['kind']>(
    kind: Kind,
    fits?: (news: Extract<ChildNews, { kind: Kind }>) => boolean,
  ): Promise<Extract<ChildNews, { kind: Kind }>>;
  /** Everything told so far. */
  reported: readonly ChildNews[];
  /** The process with this id. */
  process(pid: number): ChildProcess;
  /** Stops a process with SIGSTOP, between two of its transactions. */
  freeze(process: ChildProcess): void;
}

const child = new URL('./node-child.ts', import.meta.url).pathname;

/** Makes a cluster whose processes and file end with the test. Without `url` its store is a new SQLite file. */
export function createCluster(t: TestContext, { leaseMs, url }: { leaseMs: number; url?: string }): Cluster {
  const folder = mkdtempSync(join(tmpdir(), 'duly-cluster-'));
  const file = join(folder, 'duly.db');
  const store = url ?? `sqlite:${file}`;
  const client = new Duly({ store, app: 'client', logger: false });
  const children = new Map<number, ChildProcess>();
  const reported: ChildNews[] = [];
  const listeners = new Set<() => void>();

  t.after(async () => {
    for (const one of children.values()) {
      if (one.exitCode !== null || one.signalCode !== null) continue;
      one.kill('SIGKILL');
      await once(one, 'exit');
    }
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  return {
    client,
    file,
    reported,
    async spawn(concurrency = 5) {
      const one = fork(child, [store, String(leaseMs), String(concurrency)], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      children.set(one.pid as number, one);
      const ready = new Promise<void>((resolve, reject) => {
        one.on('message', (news: ChildNews) => {
          if (news.kind === 'ready') resolve();
          reported.push(news);
          for (const listener of [...listeners]) listener();
        });
        one.once('exit', (code) => reject(new Error(`A process ended with ${code} before it was ready.`)));
      });
      await ready;
      return one;
    },
    news(kind, fits = () => true) {
      return new Promise((resolve) => {
        const look = () => {
          const found = reported.find((news) => news.kind === kind && fits(news as never));
          if (found === undefined) return;
          listeners.delete(look);
          resolve(found as never);
        };
        listeners.add(look);
        look();
      });
    },
    process: (pid) => children.get(pid) as ChildProcess,
    freeze(one) {
      if (url === undefined) freeze(one, file);
      else {
        one.kill('SIGSTOP');
        while (!isStopped(one.pid as number));
      }
    },
  };
}
