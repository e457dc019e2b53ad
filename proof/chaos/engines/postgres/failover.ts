// `npm run failover -- --rounds 3`: what a failover costs with a synchronous and with an asynchronous standby. One process makes and runs
// jobs as fast as 50 callers ask; the standby is cut off from its primary, some time later everybody else is, and the standby is promoted.
import { systemClock } from '../../../../packages/core/src/base/clock.ts';
import { Duly } from '../../../../packages/core/src/index.ts';
import { throughPort } from '../../../../test/servers/tcp-proxy.ts';
import { readArguments } from '../../../arguments.ts';
import { startCluster } from './cluster.ts';

interface Round {
  replication: 'synchronous' | 'asynchronous';
  /** How long the primary went on without its standby. */
  aloneMs: number;
  acknowledged: number;
  /** Acknowledged and not there any more. */
  lost: number;
  /** Completed before the failover, and run again after it. */
  again: number;
  /** From the cut until the first call was acknowledged again. */
  awayMs: number;
}

const callers = 50;
const warmMs = 2_000;
const afterMs = 4_000;

/** One failover. */
async function play(replication: Round['replication'], aloneMs: number): Promise<Round> {
  const cluster = await startCluster({ isSynchronous: replication === 'synchronous', hasPooler: false });
  const store = throughPort(cluster.primary().url, cluster.port);
  const duly = new Duly({ store, app: 'failover', lease: '5s', logger: false });
  const runs = new Map<string, number>();
  const task = duly.task({
    name: 'note',
    run: ({ job }) => void runs.set(job.id, (runs.get(job.id) ?? 0) + 1),
  });
  await duly.start();
  const acknowledged: { id: string; elapsed: number }[] = [];
  let isOver = false;
  const call = async () => {
    while (!isOver) {
      const job = await task.now().catch(() => null);
      if (job !== null) acknowledged.push({ id: job.id, elapsed: systemClock.elapsed() });
    }
  };
  const calling = Array.from({ length: callers }, call);
  await systemClock.sleep(warmMs);
  cluster.link().freeze();
  await systemClock.sleep(aloneMs);
  const cutElapsed = systemClock.elapsed();
  cluster.way.freeze();
  await cluster.promote();
  cluster.way.thaw();
  while (!acknowledged.some(({ elapsed }) => elapsed > cutElapsed + 200)) await systemClock.sleep(20);
  const firstElapsed = acknowledged.find(({ elapsed }) => elapsed > cutElapsed + 200)?.elapsed as number;
  await systemClock.sleep(afterMs);
  isOver = true;
  await Promise.all(calling);
  await duly.stop();
  const rows = await cluster.ask(
    'SELECT id FROM duly.jobs UNION ALL SELECT id FROM duly.finished UNION ALL SELECT id FROM duly.dead',
  );
  const kept = new Set(rows.map(({ id }) => id));
  await cluster.stop();
  return {
    replication,
    aloneMs,
    acknowledged: acknowledged.length,
    lost: acknowledged.filter(({ id }) => !kept.has(id)).length,
    again: [...runs.values()].filter((count) => count > 1).length,
    awayMs: Math.round(firstElapsed - cutElapsed),
  };
}

const usage = 'Usage: npm run failover -- [--rounds <count>]';
const rounds = readArguments(usage, { rounds: { type: 'string' } }).number('rounds', { fallback: 3, min: 1 });
for (const replication of ['synchronous', 'asynchronous'] as const) {
  for (const aloneMs of [0, 100, 1_000]) {
    for (let round = 0; round < rounds; round++) {
      console.log(JSON.stringify(await play(replication, aloneMs)));
    }
  }
}
