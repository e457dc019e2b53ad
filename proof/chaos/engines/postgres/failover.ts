// `npm run failover -- --rounds 3`: what a failover costs. First the lateness of schedules that fall due while their primary is away
// (killed-primary.ts). Then a promotion with a synchronous and with an asynchronous standby: one process makes and runs jobs as fast as 50
// callers ask; the standby is cut off from its primary, some time later everybody else is, and the standby is promoted.
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { systemClock } from '../../../../packages/core/src/base/clock.ts';
import { Duly } from '../../../../packages/core/src/index.ts';
import { throughPort } from '../../../../test/servers/tcp-proxy.ts';
import { readArguments } from '../../../arguments.ts';
import { startCluster } from './cluster.ts';
import { type KillOptions, playKill } from './killed-primary.ts';
import { isExact, type Round as KillRound, latenessText } from './lateness.ts';

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

const usage = `Usage: npm run failover -- [options]

Plays what schedules and callers notice when a PostgreSQL primary dies, on servers of its own.

  --only PART       only one part: schedules, promotion (default: both)
                    schedules: many fall due at one instant while the primary is away; how late do they run, and exactly once?
                    promotion: a standby is promoted while calls are made; what is lost, and for how long does no call succeed?
  --rounds N        how often each setting is played (default 3)
  --schedules N     how many schedules fall due (default 10000)
  --kill-before MS  how long before the instant the primary is killed (default 400)
  --start-after MS  how long after the instant it is started again (default 2000)
  --out FILE        writes the figures of every round there, as JSON
  -h, --help        prints this

The exit code is 1 if a slot was lost, decided or run twice, or run early. A lateness above its target is only reported.`;
const parts = ['schedules', 'promotion'];

const { values, number, refuse, writable } = readArguments(usage, {
  only: { type: 'string' },
  rounds: { type: 'string' },
  schedules: { type: 'string' },
  'kill-before': { type: 'string' },
  'start-after': { type: 'string' },
  out: { type: 'string' },
});
const { only, out } = values;
if (only !== undefined && !parts.includes(only))
  refuse(`Expected --only to be one of ${parts.join(', ')}, got "${only}".`);
const rounds = number('rounds', { fallback: 3, min: 1 });
const killOptions: KillOptions = {
  count: number('schedules', { fallback: 10_000, min: 1 }),
  killBeforeMs: number('kill-before', { fallback: 400, min: 0 }),
  startAfterMs: number('start-after', { fallback: 2_000, min: 0 }),
};
if (out !== undefined) writable('out', out);

const figures = {
  startedAt: new Date(systemClock.now()),
  node: process.version,
  cores: availableParallelism(),
  schedules: [] as KillRound[],
  promotion: [] as Round[],
};

/** After every round, so that a run that is interrupted leaves what it measured. */
function writeFigures(): void {
  if (out !== undefined) writeFileSync(out, `${JSON.stringify(figures, null, 2)}\n`);
}

if (only !== 'promotion') {
  const { count, killBeforeMs, startAfterMs } = killOptions;
  console.log(
    `${count.toLocaleString('en-US')} schedules due at one instant, two nodes; the primary is killed ${killBeforeMs} ms before it and started again ${startAfterMs} ms after it.`,
  );
  for (let round = 0; round < rounds; round++) {
    figures.schedules.push(await playKill(killOptions));
    writeFigures();
  }
  console.log(latenessText(figures.schedules));
  if (!figures.schedules.every(isExact)) process.exitCode = 1;
}

if (only !== 'schedules') {
  for (const replication of ['synchronous', 'asynchronous'] as const) {
    for (const aloneMs of [0, 100, 1_000]) {
      for (let round = 0; round < rounds; round++) {
        const played = await play(replication, aloneMs);
        figures.promotion.push(played);
        writeFigures();
        console.log(JSON.stringify(played));
      }
    }
  }
}
