// BullMQ on its PostgreSQL backend as a contestant.
import type { Contestant, ContestantPlace } from '../../contestant.ts';
import { loadPeer } from '../../peer-module.ts';
import { createPeerContestant } from './peer.ts';

/** The slice of its API that is used. */
interface BullMq {
  Queue: new (
    name: string,
    options: object,
    backend: unknown,
  ) => {
    waitUntilReady(): Promise<unknown>;
    add(name: string, data: object, options?: object): Promise<unknown>;
    addBulk(jobs: object[]): Promise<unknown>;
    getJobCounts(...kinds: string[]): Promise<Record<string, number>>;
    close(): Promise<void>;
  };
  Worker: new (
    name: string,
    run: (job: { data: { n: number } }) => Promise<void>,
    options: object,
    backend: unknown,
  ) => {
    waitUntilReady(): Promise<unknown>;
    on(event: string, listener: () => void): void;
    close(): Promise<void>;
  };
  createPostgresBackend: unknown;
}

/** See `ContestantModule`. */
export async function createContestant(place: ContestantPlace): Promise<Contestant> {
  const { Queue, Worker, createPostgresBackend } = await loadPeer<BullMq>('bullmq');
  const connection = { connectionString: place.url, max: 10, migrate: true };
  const queue = new Queue('bench', { connection }, createPostgresBackend);
  await queue.waitUntilReady();
  let worker: InstanceType<BullMq['Worker']> | null = null;
  return createPeerContestant(place, {
    add: (n, dueAt) =>
      queue.add('bench', { n }, dueAt === undefined ? {} : { delay: Math.max(0, dueAt - Date.now()) }),
    addMany: (numbers) => queue.addBulk(numbers.map((n) => ({ name: 'bench', data: { n } }))),
    async start(onRun) {
      worker = new Worker(
        'bench',
        async ({ data }) => onRun(data.n),
        { connection, concurrency: 100 },
        createPostgresBackend,
      );
      worker.on('error', () => {});
      await worker.waitUntilReady();
    },
    async stop() {
      await worker?.close();
      worker = null;
    },
    async leftCount() {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    close: () => queue.close(),
  });
}
