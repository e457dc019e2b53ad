// Creates each id twice at once, from one process or two, beside workers that end the jobs at once.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { Duly } from '../../../src/index.ts';
import { ask, url } from './setup.ts';

/** How many ids became two jobs, and how many at-most-once handlers were entered twice. */
export interface Pairs {
  doubled: number;
  startedTwice: number;
}

// Few at once: the two calls of a pair then meet a worker that is free, and the job ends between them.
const atOnceCount = 2;
const childPath = fileURLToPath(new URL('pairs-child.ts', import.meta.url));

/** Plays the pairs on a store of its own. */
export async function createPairs(options: { pairCount: number; processCount: 1 | 2 }): Promise<Pairs> {
  const { pairCount, processCount } = options;
  const schema = freshSchema();
  const duly = new Duly({ store: inSchema(url, schema), logger: false });
  const starts = new Map<string, number>();
  const quick = duly.task({
    name: 'quick',
    delivery: 'at-most-once',
    run: ({ job }) => {
      starts.set(job.id, (starts.get(job.id) ?? 0) + 1);
    },
  });
  await duly.start();
  const child = processCount === 2 ? fork(childPath, [inSchema(url, schema)]) : null;
  if (child !== null) await once(child, 'message');
  // By the id that both create, resolved when the child has its answer.
  const answers = new Map<string, () => void>();
  child?.on('message', (id) => answers.get(id as string)?.());

  const createElsewhere = (id: string): Promise<unknown> => {
    if (child === null) return quick.now(null, { id });
    const answered = new Promise<void>((resolve) => answers.set(id, resolve));
    child.send(id);
    return answered;
  };
  let left = pairCount;
  const createPairs = async (): Promise<void> => {
    while (left-- > 0) {
      const id = duly.newJobId();
      await Promise.all([quick.now(null, { id }), createElsewhere(id)]);
    }
  };
  await Promise.all(Array.from({ length: atOnceCount }, createPairs));
  child?.disconnect();
  if (child !== null) await once(child, 'exit');
  await duly.stop();
  const [found] = await ask(`SELECT count(*)::int AS n FROM (
    SELECT id FROM (SELECT id FROM ${schema}.jobs UNION ALL SELECT id FROM ${schema}.dead UNION ALL SELECT id FROM ${schema}.finished) j
    GROUP BY id HAVING count(*) > 1) twice`);
  await ask(`DROP SCHEMA ${schema} CASCADE`);
  return { doubled: found?.n, startedTwice: [...starts.values()].filter((count) => count > 1).length };
}
