import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { type Duration, parseDuration } from '../base/duration.ts';
import { isDulyError } from '../base/errors.ts';
import type { Ids } from '../base/ids.ts';
import { type OptionNames, readOptions, readWord } from '../base/option-reader.ts';
import type { Actor, CountsReply, Engine, NodesReply } from '../contract/engine.ts';
import { nodeSilentMs } from '../contract/timings.ts';
import { createPauses } from '../jobs/pauses.ts';

/** `ok`; `warning`: a person should know; `failing`: promises are not kept, or will not be. */
export type HealthState = 'ok' | 'warning' | 'failing';

/** One thing that was looked at. */
export interface HealthCheck {
  /**
   * `store`: it answers. `writes`: it takes and confirms a write. `nodes`: somebody is there for every role. `jobs`: what is ready is taken.
   * `schedules`: slots are decided when they are due. `dead`: dead letters wait for nobody. `settings`: the store keeps what it confirms.
   */
  name: 'store' | 'writes' | 'nodes' | 'jobs' | 'schedules' | 'dead' | 'settings';
  state: HealthState;
  /** What was found, in a sentence. */
  message: string;
  /** What to do about it; null: nothing. */
  hint: string | null;
  /** The code of the error that the store answered with; null: none. */
  code: string | null;
}

/** What `duly.health()` answers. */
export interface Health {
  /** The worst of all checks. */
  state: HealthState;
  checks: HealthCheck[];
}

/** How to look at the health. */
export interface HealthCallOptions {
  /** How long the store may take for each answer. Default 5 s. */
  patience?: Duration;
  /** `store`: only whether the store answers and confirms a write, without a look at the work. Default `all`. */
  scope?: 'all' | 'store';
}

/** What a health check needs. */
export interface HealthOptions {
  open(): Promise<Engine>;
  clock: Clock;
  ids: Ids;
  /** Who asks. */
  actor: Actor;
  /** How long the store may take for each answer. */
  patienceMs: number;
  /** `store`: the work is not looked at. */
  scope: 'all' | 'store';
}

const callNames: OptionNames<HealthCallOptions> = { patience: true, scope: true };
const scopes = ['all', 'store'] as const;
const patienceMsDefault = 5_000;
// What is ready starts within milliseconds where a concurrency slot is free. A minute is a queue that is longer than its workers can eat, or one
// that nobody eats.
const waitMsMax = 60_000;
// A slot is decided in the second in which it is due, and by another node 3 s later if the first one dies.
const lateMsMax = 30_000;
// A node sends a heartbeat every 10 s.
const silentMs = 15_000;
const lockMs = 10_000;
const countCap = 1_000;
// Looking at every one of 100,000 schedules is not for a question that is asked every few seconds.
const schedulesMax = 1_000;

/** With these nobody answered, or not in time. Every other code is an answer. */
const silence: ReadonlySet<string> = new Set(['store_unavailable', 'store_busy']);

/** Looks whether promises are kept now: not whether the store can be reached, but whether it confirms writes and work moves. Never throws. */
export async function readHealth(options: HealthOptions): Promise<Health> {
  const checks = await look(options);
  const state = (['failing', 'warning'] as const).find((one) => checks.some((check) => check.state === one));
  return { state: state ?? 'ok', checks };
}

/** The patience and the scope of a call. Throws `invalid_option`. */
export function readHealthOptions(
  options: HealthCallOptions | undefined,
): Pick<HealthOptions, 'patienceMs' | 'scope'> {
  const { patience = patienceMsDefault, scope = 'all' } = readOptions(options, 'health()', callNames);
  readWord(scope, 'scope', scopes);
  return { patienceMs: parseDuration(patience, 'patience'), scope };
}

async function look(options: HealthOptions): Promise<HealthCheck[]> {
  const { clock, patienceMs } = options;
  const sinceElapsed = clock.elapsed();
  let engine: Engine;
  let counts: CountsReply;
  try {
    engine = await within(options, options.open());
    counts = await within(options, engine.counts({ cap: countCap }));
  } catch (error) {
    const isRefused = isDulyError(error) && !silence.has(error.code);
    const what = isRefused ? 'The store cannot be used' : 'The store does not answer';
    return [failing('store', what, error, patienceMs)];
  }
  const tookMs = Math.round(clock.elapsed() - sinceElapsed);
  const checks = [
    ok('store', `${engine.info().place} answers (${tookMs} ms).`),
    await checkWrites(engine, options),
  ];
  if (options.scope === 'store') return checks;
  try {
    checks.push(...(await checkWork(engine, counts, options)));
  } catch (error) {
    checks.push(failing('store', 'The store stopped answering', error, patienceMs));
  }
  const { warnings } = engine.info();
  if (warnings.length > 0) checks.push(warning('settings', warnings.join(' '), null));
  return checks;
}

/** A real write, confirmed as every other: a lock of its own that is given back at once. */
async function checkWrites(engine: Engine, options: HealthOptions): Promise<HealthCheck> {
  const { clock, ids, patienceMs } = options;
  const token = ids.newId('health');
  const holder = { host: hostname(), pid: process.pid, node: token };
  const sinceElapsed = clock.elapsed();
  try {
    const lock = await within(
      options,
      engine.acquire({ name: `duly/${token}`, token, holder, ttlMs: lockMs }),
    );
    await within(options, engine.release({ locks: [{ name: `duly/${token}`, fence: lock.fence }] }));
    return ok('writes', `It confirms writes (${Math.round(clock.elapsed() - sinceElapsed)} ms).`);
  } catch (error) {
    return failing('writes', 'The store answers, but confirms no writes', error, patienceMs);
  }
}

async function checkWork(
  engine: Engine,
  counts: CountsReply,
  options: HealthOptions,
): Promise<HealthCheck[]> {
  const { actor } = options;
  const ask = <Reply>(answer: Promise<Reply>): Promise<Reply> => within(options, answer);
  const listed = { heartbeat: null, leave: null, drain: null, forgetAfterMs: nodeSilentMs };
  const [nodes, schedules, pauses, stats] = await Promise.all([
    ask(engine.nodes(listed)),
    ask(engine.schedules({ filter: {}, cursor: null, limit: schedulesMax })),
    ask(createPauses(engine, actor).list()),
    ask(engine.stats({ sinceAt: counts.now - waitMsMax, types: null })),
  ]);
  const late = schedules.schedules.filter(({ dueAt }) => dueAt !== null && dueAt < schedules.now - lateMsMax);
  const checks = [checkNodes(nodes, schedules.schedules.length > 0)];

  const stuck: string[] = [];
  const behind: string[] = [];
  const isPaused = (scope: string, name: string | null): boolean =>
    pauses.some((pause) => pause.scope === scope && pause.name === name);
  for (const { queue, type, version, ready, oldestDueAt } of counts.lanes) {
    const waitMs = oldestDueAt === null ? 0 : counts.now - oldestDueAt;
    if (ready.count === 0 || waitMs < waitMsMax) continue;
    if (isPaused('all', null) || isPaused('queue', queue) || isPaused('type', type)) continue;
    const what = `${ready.count}${ready.capped ? ' or more' : ''} "${type}" in queue "${queue}", the oldest for ${seconds(waitMs)}`;
    const isHandled = nodes.nodes.some(
      (node) =>
        (node.queues === null || node.queues.includes(queue)) &&
        node.tasks.some((task) => task.type === type && task.version >= version),
    );
    const done = stats.types.find((one) => one.type === type);
    const isMoving =
      counts.running.some((one) => one.type === type) ||
      (done !== undefined && done.completed + done.failed + done.cancelled > 0);
    if (!isHandled) stuck.push(`${what} (no live node takes it)`);
    else if (isMoving) behind.push(what);
    else stuck.push(`${what} (none of them has started for a minute)`);
  }
  if (stuck.length > 0) {
    const hint = 'Look at what the nodes say ("duly nodes") and at one of the jobs ("duly why <id>").';
    checks.push(bad('jobs', `Jobs wait and do not move: ${stuck.join('; ')}.`, hint));
  } else if (behind.length > 0) {
    const hint = 'More work comes than is done: add nodes, or raise their concurrency.';
    checks.push(warning('jobs', `Jobs move, but wait long: ${behind.join('; ')}.`, hint));
  } else
    checks.push(
      ok('jobs', `${counts.status.RUNNING.count} running, and nothing that is ready waits for long.`),
    );

  if (late.length > 0) {
    const names = late.slice(0, 3).map(({ name }) => `"${name}"`);
    const more = late.length > names.length ? ` and ${late.length - names.length} more` : '';
    checks.push(
      bad(
        'schedules',
        `Slots are due and not decided: ${names.join(', ')}${more}, the oldest since ${seconds(schedules.now - Math.min(...late.map(({ dueAt }) => dueAt as number)))}.`,
        'A node with the role "scheduler" must run and reach the store.',
      ),
    );
  } else checks.push(ok('schedules', `${schedules.schedules.length}, and no slot waits for its decision.`));

  const { count, capped } = counts.status.FAILED;
  if (count > 0) {
    const message = `${count}${capped ? ' or more' : ''} dead letters wait for a person.`;
    checks.push(warning('dead', message, 'Look at them with "duly dead ls".'));
  }
  return checks;
}

function checkNodes({ now, nodes }: NodesReply, hasSchedules: boolean): HealthCheck {
  const live = nodes.filter(({ heartbeatAt }) => now - heartbeatAt <= silentMs);
  const plays = (role: 'worker' | 'scheduler' | 'maintenance'): boolean =>
    live.some((node) => node.roles.includes(role) && (role !== 'worker' || node.drainRequestedAt === null));
  if (live.length === 0) {
    const gone = nodes.length === 0 ? 'No node is live' : `All ${nodes.length} nodes are silent`;
    return bad('nodes', `${gone}: nothing is started.`, 'Start one: "duly up", or your own program.');
  }
  if (!plays('worker')) return bad('nodes', 'No live node runs jobs.', 'Start one with the role "worker".');
  const takers = live.filter(({ roles, notReady }) => roles.includes('worker') && notReady === null);
  if (takers.length === 0) {
    const reason = live.find(({ roles }) => roles.includes('worker'))?.notReady ?? '';
    return bad('nodes', `No node takes jobs: ${reason}`, 'Look at them with "duly nodes".');
  }
  if (hasSchedules && !plays('scheduler'))
    return bad('nodes', 'No live node decides schedules.', 'Start one with the role "scheduler".');
  if (!plays('maintenance')) {
    return bad(
      'nodes',
      'No live node takes back what dead ones held.',
      'Start one with the role "maintenance".',
    );
  }
  const silent = nodes.length - live.length;
  if (silent > 0) {
    const message = `${live.length} live, ${silent} silent for more than ${seconds(silentMs)}.`;
    return warning(
      'nodes',
      message,
      'They are gone, or cannot reach the store. Look at them with "duly nodes".',
    );
  }
  return ok('nodes', `${live.length} live.`);
}

/** What the store answers, or that it did not in time: a call into silence must not make the question silent too. */
function within<Value>({ clock, patienceMs }: HealthOptions, answer: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(patienceMs, () => reject(new Silence()));
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}

class Silence extends Error {}

const ok = (name: HealthCheck['name'], message: string): HealthCheck => ({
  ...{ name, state: 'ok', message, hint: null, code: null },
});
const warning = (name: HealthCheck['name'], message: string, hint: string | null): HealthCheck => ({
  ...{ name, state: 'warning', message, hint, code: null },
});
const bad = (name: HealthCheck['name'], message: string, hint: string): HealthCheck => ({
  ...{ name, state: 'failing', message, hint, code: null },
});

function failing(name: HealthCheck['name'], what: string, error: unknown, patienceMs: number): HealthCheck {
  if (error instanceof Silence) {
    const message = `${what}: nothing came within ${seconds(patienceMs)}.`;
    const hint =
      name === 'writes'
        ? 'Look for a synchronous standby that is away, a full disk, or a lock that somebody keeps.'
        : 'Look whether it runs, and at the way there: it may be cut off without a word.';
    return { name, state: 'failing', message, hint, code: 'store_unavailable' };
  }
  const said = error instanceof Error ? error.message : String(error);
  const known = isDulyError(error) ? error : null;
  return {
    name,
    state: 'failing',
    message: `${what}. ${said}`,
    hint: known?.hint ?? null,
    code: known?.code ?? null,
  };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
