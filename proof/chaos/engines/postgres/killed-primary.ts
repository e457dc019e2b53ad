/** Many schedules that are all due at one instant, at which their primary is away: it is killed before it, and returns after it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { systemClock } from '../../../../packages/core/src/base/clock.ts';
import { Duly } from '../../../../packages/core/src/index.ts';
import { type PostgresServer, startPostgres } from '../../../../test/servers/postgres.ts';
import { measureRound, type Observed, type Round, type Start } from './lateness.ts';

/** What a round is to play. */
export interface KillOptions {
  /** How many schedules are due at the instant. */
  count: number;
  /** How long before the instant the primary is killed. */
  killBeforeMs: number;
  /** How long after the instant it is started again; it returns when it has recovered. */
  startAfterMs: number;
}

const nodeCount = 2;
const creators = 50;
// Creating a schedule takes 2 to 4 ms; what takes longer is tried again with twice the time.
const createMsEach = 5;
const createMsMin = 5_000;
// Between the last schedule and the kill, the nodes become idle.
const quietMs = 3_000;
// Longer than a lease: what a lost node held is taken over by then.
const endMsMax = 60_000;
const lookMs = 100;

/** Plays one round on a server and with nodes of its own. */
export async function playKill(options: KillOptions): Promise<Round> {
  for (let createMs = createMsMin + options.count * createMsEach; ; createMs *= 2) {
    const observed = await tryKill(options, createMs);
    if (observed !== null) return measureRound(observed);
  }
}

/** Null: the schedules took longer to create than expected, and the instant is too near. */
async function tryKill(options: KillOptions, createMs: number): Promise<Observed | null> {
  const { count, killBeforeMs, startAfterMs } = options;
  const server = await startPostgres({ durable: true });
  const nodes: ChildProcess[] = [];
  try {
    for (let i = 0; i < nodeCount; i++) nodes.push(await startNode(server.url));
    const leadMs = createMs + quietMs + killBeforeMs;
    const dueAt = Math.ceil((systemClock.now() + leadMs) / 1_000) * 1_000;
    const latestAt = dueAt - quietMs - killBeforeMs;
    if (!(await createSchedules(server.url, { count, dueAt, latestAt }))) return null;
    await forgetCreation(server);
    await sleepUntil(dueAt - killBeforeMs);
    const killedAt = systemClock.now();
    await server.halt('kill');
    await sleepUntil(dueAt + startAfterMs);
    await server.restart();
    const returnedAt = systemClock.now();
    const starts = await readStarts(nodes, server, { count, untilAt: returnedAt + endMsMax });
    const stored = await readStored(server, count, dueAt);
    return { count, dueAt, killedAt, returnedAt, starts, stored };
  } finally {
    for (const node of nodes) await endNode(node);
    await server.stop();
  }
}

const sleepUntil = (at: number): Promise<void> => systemClock.sleep(Math.max(0, at - systemClock.now()));

async function startNode(url: string): Promise<ChildProcess> {
  const node = fork(new URL('killed-primary-node.ts', import.meta.url), [url]);
  await answerOf(node);
  return node;
}

async function endNode(node: ChildProcess): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return;
  const ended = once(node, 'exit');
  node.kill('SIGKILL');
  await ended;
}

/** The next message of a node. */
function answerOf(node: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('A node ended before its round.'));
    node.once('exit', onExit);
    node.once('message', (message) => {
      node.off('exit', onExit);
      resolve(message);
    });
  });
}

/** False: it was not finished at the latest instant. */
async function createSchedules(
  url: string,
  { count, dueAt, latestAt }: { count: number; dueAt: number; latestAt: number },
): Promise<boolean> {
  const duly = new Duly({ store: url, app: 'failover', logger: false });
  const task = duly.task({ name: 'note', run: () => {} });
  const at = new Date(dueAt);
  const cron = `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < count && systemClock.now() < latestAt) {
      const n = next++;
      await task.every(cron, { n }, { name: nameOf(n), timezone: 'UTC' });
    }
  };
  try {
    await Promise.all(Array.from({ length: creators }, create));
  } finally {
    await duly.stop();
  }
  return next === count && systemClock.now() < latestAt;
}

/** Makes the recovery independent of how long ago the schedules were created. */
async function forgetCreation(server: PostgresServer): Promise<void> {
  await ask(server, 'CHECKPOINT');
  // By default the recovery flushes each file of the server, which takes seconds on a busy disk. PostgreSQL 13 cannot do it at once.
  await ask(server, `ALTER SYSTEM SET recovery_init_sync_method = 'syncfs'`).catch(() => {});
}

const nameOf = (n: number): string => `due-${n}`;

/** Every start, once no job is left that could start again, or at the latest at this instant. */
async function readStarts(
  nodes: readonly ChildProcess[],
  server: PostgresServer,
  { count, untilAt }: { count: number; untilAt: number },
): Promise<Start[]> {
  const starts: Start[] = [];
  for (;;) {
    // Read before the starts: a job that has ended has started.
    const isEnded = starts.length >= count && (await isWithoutJobs(server));
    for (const node of nodes) {
      const answer = answerOf(node);
      node.send('starts');
      starts.push(...((await answer) as Start[]));
    }
    if (isEnded || systemClock.now() > untilAt) return starts;
    await systemClock.sleep(lookMs);
  }
}

async function isWithoutJobs(server: PostgresServer): Promise<boolean> {
  return (await ask(server, 'SELECT FROM duly.jobs LIMIT 1')).length === 0;
}

/** How often the ledger has the slot of each schedule, and how many jobs the slot has. */
async function readStored(
  server: PostgresServer,
  count: number,
  dueAt: number,
): Promise<Observed['stored'][number][]> {
  const rows = await ask(
    server,
    `WITH runs AS (
      SELECT schedule_id, slot_at FROM duly.jobs
      UNION ALL SELECT schedule_id, slot_at FROM duly.finished
      UNION ALL SELECT schedule_id, slot_at FROM duly.dead
    ), made AS (SELECT schedule_id, count(*) AS count FROM runs WHERE slot_at = ${dueAt} GROUP BY 1),
    decided AS (
      SELECT schedule_id, count(*) AS count FROM duly.slots
      WHERE from_at <= ${dueAt} AND to_at >= ${dueAt} GROUP BY 1
    )
    SELECT name, coalesce(decided.count, 0)::int AS decisions, coalesce(made.count, 0)::int AS jobs FROM duly.specs
    LEFT JOIN decided ON decided.schedule_id = id LEFT JOIN made ON made.schedule_id = id`,
  );
  const byName = new Map(rows.map(({ name, decisions, jobs }) => [name, { decisions, jobs }]));
  return Array.from(
    { length: count },
    (_, n) => (byName.get(nameOf(n)) ?? { decisions: 0, jobs: 0 }) as Observed['stored'][number],
  );
}

async function ask(server: PostgresServer, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
