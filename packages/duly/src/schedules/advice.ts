import { type Duly, formatDuration, type Schedule, systemClock } from '@duly/core';
import { commandTaskName, shadowTaskName } from '@duly/core/internal';
import { oneLine } from '../output/terminal.ts';
import type { TaskDefinition } from '../project/define.ts';
import { ruleOf } from './schedule-client.ts';

/** Something that works and that a person should think about, with what to do. */
export interface Advice {
  name: 'timeout' | 'overlap' | 'clock_change' | 'polling' | 'herd' | 'handler';
  state: 'warning';
  message: string;
  hint: string;
}

/** What is looked at. */
export interface AdviceOptions {
  /** The tasks whose code is here. */
  tasks: readonly Pick<TaskDefinition, 'name' | 'timeout'>[];
  /** Only what concerns this schedule. */
  only?: Schedule;
}

// So many runs of different schedules in one second are worth spreading.
const herdCount = 10;
const minuteMs = 60_000;
// More than these are counted and not named.
const namedMax = 3;
const schedulesMax = 1_000;
// Enough for what comes in bursts, as a cron with a list of seconds.
const lookedAtMax = 10;

/** Looks at the schedules of a store, played forward for a day, and at the tasks that are here. */
export async function adviceOn(duly: Duly, { tasks, only }: AdviceOptions): Promise<Advice[]> {
  const schedules =
    only === undefined ? (await duly.schedules.list({ limit: schedulesMax })).schedules : [only];
  const active = schedules.filter(({ status }) => status === 'active');
  const forecast = active.length === 0 ? null : await duly.forecast({ hours: 24 });
  const isMeant = (names: readonly string[]): boolean => only === undefined || names.includes(only.name);
  const found: Advice[] = [];
  const add = (name: Advice['name'], message: string, hint: string): void => {
    found.push({ name, state: 'warning', message, hint });
  };

  const used = new Set(active.map(({ type }) => type));
  for (const { name, timeout } of tasks) {
    if (timeout !== 'none' || (only !== undefined && !used.has(name))) continue;
    add(
      'timeout',
      `The task "${oneLine(name)}" has no timeout: one run that hangs keeps its concurrency slot for ever.`,
      "Give it one that no good run needs: timeout: '15m'.",
    );
  }
  // A server that was only asked for a list tells no definitions. What runs nothing cannot hang.
  const endless = active.filter(
    ({ type, definition }: Partial<Schedule>) =>
      definition?.timeout === 'none' && type !== shadowTaskName && !tasks.some(({ name }) => name === type),
  );
  if (endless.length > 0) {
    add(
      'timeout',
      `${listed(
        endless.map(({ name }) => name),
        endless.length,
      )} ${endless.length === 1 ? 'has' : 'have'} no timeout: a run that hangs goes on for ever, and holds back those that may not overlap it.`,
      endless.some(({ type }) => type === commandTaskName)
        ? 'Put one before the command, "timeout 15m …", and import it again; or give the schedule one, over HTTP or in code.'
        : "Give it one that no good run needs: timeout: '15m'.",
    );
  }
  for (const { name, leftOut, runs, usualMs, withoutHistory } of forecast?.overlaps ?? []) {
    // Of what never ran nobody can say how long it takes.
    if (withoutHistory || !isMeant([name])) continue;
    add(
      'overlap',
      `"${oneLine(name)}" runs longer than its interval: usually ${formatDuration(usualMs)}, so that of ${leftOut + runs} slots of a day ${leftOut} create no run.`,
      'Give it a longer interval, or say what is to happen then: --overlap buffer-one, or allow.',
    );
  }
  for (const { kind, timezone, names, schedules: count, date, time } of forecast?.clockChanges ?? []) {
    if (!isMeant(names)) continue;
    add(
      'clock_change',
      `${listed(only === undefined ? names : [only.name], only === undefined ? count : 1)}: ${time} ${kind === 'gap' ? 'does not exist' : 'comes twice'} on ${date} in ${timezone}.`,
      kind === 'gap'
        ? 'By default it runs once, at the first instant after the gap. Another time of day, or --dst-gap skip, if that is not what is meant.'
        : 'By default it runs the first time. Another time of day, or --dst-repeat last or both, if that is not what is meant.',
    );
  }
  const [herd] = (forecast?.collisions ?? []).filter(
    ({ runs, names }) => runs >= herdCount && isMeant(names),
  );
  if (herd !== undefined) {
    add(
      'herd',
      `${herd.runs} runs of different schedules begin in the same second, at ${herd.at.toISOString()}.`,
      `Spread them with jitter: ${forecast?.jitter == null ? '--jitter 5m' : `--jitter ${pasteable(forecast.jitter.schedules[0]?.jitterMs ?? 5 * minuteMs)}`}. The whole picture: duly forecast`,
    );
  }
  const polling = active.filter((schedule) => intervalOf(schedule) < minuteMs);
  if (polling.length > 0) {
    add(
      'polling',
      `${listed(
        polling.map(({ name }) => name),
        polling.length,
      )} ${polling.length === 1 ? 'runs' : 'run'} more often than once a minute.`,
      'If it checks whether something has happened, create a job (now, in, at) where it happens instead.',
    );
  }
  const handled = new Set((await duly.nodes()).flatMap((node) => node.tasks.map(({ type }) => type)));
  const unhandled = active.filter(({ type }) => !handled.has(type));
  if (only === undefined && unhandled.length > 0) {
    add(
      'handler',
      `No live node handles the task of ${listed(
        unhandled.map(({ name }) => name),
        unhandled.length,
      )}.`,
      'Start a node that has its code: duly worker. Or pause or delete the schedule.',
    );
  }
  return found;
}

/** The shortest way between its next slots; endless where there are none. */
function intervalOf(schedule: Schedule): number {
  const rule = ruleOf(schedule);
  let shortestMs = Number.POSITIVE_INFINITY;
  let slotAt = rule.next(systemClock.now());
  for (let i = 0; i < lookedAtMax && slotAt !== null; i++) {
    const nextAt = rule.next(slotAt);
    if (nextAt !== null) shortestMs = Math.min(shortestMs, nextAt - slotAt);
    slotAt = nextAt;
  }
  return shortestMs;
}

/** A duration as one word of a command line: `6min`. */
function pasteable(ms: number): string {
  return formatDuration(ms).replaceAll(' ', '');
}

function listed(names: readonly string[], count: number): string {
  const shown = names.slice(0, namedMax).map((name) => `"${oneLine(name)}"`);
  const rest = count - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}
