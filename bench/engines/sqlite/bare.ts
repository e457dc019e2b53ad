// The bare loop as a contestant: a thread with its own connection, which this process only asks.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Duly } from '@duly/core';
import { type Contestant, type ContestantPlace, elapsed } from '../../contestant.ts';
import { type Samples, sampleRows } from './bare-rows.ts';

type BareAbility =
  | 'enqueueOneByOne'
  | 'enqueueInFlight'
  | 'enqueueBulk'
  | 'fill'
  | 'drain'
  | 'latencyHere'
  | 'commitOne'
  | 'endOne'
  | 'listen'
  | 'send'
  | 'sendInTransaction'
  | 'received'
  | 'precision'
  | 'fillFuture'
  | 'writeBurst';

/** What the thread can do: most of a contestant, and single steps. */
export type BareAsk = {
  [Name in Exclude<BareAbility, 'commitOne' | 'endOne'>]: NonNullable<Contestant[Name]>;
} & {
  /** One durable commit that makes a job and takes it. */
  commitOne(n: number): Promise<void>;
  /** Ends that job. */
  endOne(): Promise<void>;
};

/** A call of it. */
export interface BareCall {
  id: number;
  ability: BareAbility | 'close';
  args: unknown[];
}

const abilities: readonly BareAbility[] = [
  'enqueueOneByOne',
  'enqueueInFlight',
  'enqueueBulk',
  'fill',
  'drain',
  'latencyHere',
  'commitOne',
  'endOne',
  'listen',
  'send',
  'sendInTransaction',
  'received',
  'precision',
  'fillFuture',
  'writeBurst',
];

/** See `ContestantModule`. */
export async function createContestant({ shared, url }: ContestantPlace): Promise<Contestant> {
  const file = url.slice('sqlite:'.length);
  const samples = await samplesOf(shared, file);
  const thread = new Worker(new URL('./bare-thread.ts', import.meta.url), { workerData: { file, samples } });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  thread.on('message', ({ id, value, error }: { id: number; value: unknown; error?: string }) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(value);
    else asked?.reject(new Error(error));
  });
  thread.on('error', (error) => {
    for (const asked of waiting.values()) asked.reject(error as Error);
  });
  let asks = 0;
  const ask = (ability: BareAbility | 'close', args: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      const id = ++asks;
      waiting.set(id, { resolve, reject });
      thread.postMessage({ id, ability, args } satisfies BareCall);
    });
  const calls = Object.fromEntries(
    abilities.map((ability) => [ability, (...args: unknown[]) => ask(ability, args)]),
  ) as unknown as BareAsk;
  const { commitOne, endOne, ...offered } = calls;
  return {
    ...offered,
    async latencyAcross(count) {
      const took: number[] = [];
      for (let n = 0; n < count; n++) {
        const from = elapsed();
        await commitOne(n);
        took.push(elapsed() - from);
        await endOne();
        await wait(2);
      }
      return took;
    },
    async close() {
      const ended = new Promise((resolve) => thread.once('exit', resolve));
      void ask('close', []);
      await ended;
    },
  };
}

/** What rows look like, found out once in a run; and the tables, made by Duly itself. */
async function samplesOf(shared: string, file: string): Promise<Samples> {
  const path = join(shared, 'bare-samples.json');
  if (!existsSync(path))
    writeFileSync(path, JSON.stringify(await sampleRows(join(shared, 'bare-samples.db'))));
  const duly = new Duly({ store: `sqlite:${file}`, logger: false });
  await duly.counts();
  await duly.stop();
  return JSON.parse(readFileSync(path, 'utf8')) as Samples;
}
