/** Which alerts hold now. Pure: facts in, findings out; facts.ts gathers them. */
import { formatDuration } from '@duly/core';
import type { AlertCondition, AlertRule } from './alert-rule.ts';

/** What the rules look at, read at one instant of the store. */
export interface AlertFacts {
  now: number;
  /** Jobs that run, with the start of their present attempt. */
  running: readonly { id: string; type: string; startedAt: number }[];
  /** Ended jobs by type, for each window that a rule asks for. */
  outcomes: ReadonlyMap<number, readonly { type: string; completedCount: number; failedCount: number }[]>;
  /** How many of the last jobs of a type failed without one that completed between, newest first. */
  failuresByType: readonly { type: string; inRowCount: number }[];
  schedules: readonly ScheduleFact[];
  /** Jobs that are due and wait, by queue, type and version. */
  lanes: readonly {
    queue: string;
    type: string;
    version: number;
    readyCount: number;
    oldestDueAt: number | null;
  }[];
  /** Live nodes that take work. */
  workers: readonly {
    tasks: readonly { type: string; version: number }[];
    queues: readonly string[] | null;
  }[];
  /** Pauses in force. What is paused waits because somebody wanted it to. */
  pauses: readonly { scope: 'all' | 'queue' | 'task'; name: string | null }[];
  /** Dead letters, and whether there may be more. */
  dead: { count: number; capped: boolean };
}

/** What is known of a schedule. */
export interface ScheduleFact {
  /** How it is named to people: its name, and its tenant where it has one. */
  label: string;
  type: string;
  failuresInRowCount: number;
  /** The newest slot that should have succeeded by now and did not; null: there is none. */
  overdue: { slotAt: number; deadlineAt: number; runStatus: string | null } | null;
}

/** Something that a rule found. One rule finds one thing per subject. */
export interface Finding {
  /** What it is about: `type:send-mail`, `schedule:nightly`, `queue:default`, or the store. */
  subject: string;
  message: string;
}

/** What the rule finds in the facts, in the order of subjects. */
export function evaluateRule({ condition, types, isEnabled }: AlertRule, facts: AlertFacts): Finding[] {
  if (!isEnabled) return [];
  const isAsked = (type: string): boolean => types === null || types.includes(type);
  return findingsOf(condition, facts, isAsked).sort((a, b) => (a.subject < b.subject ? -1 : 1));
}

function findingsOf(
  condition: AlertCondition,
  facts: AlertFacts,
  isAsked: (type: string) => boolean,
): Finding[] {
  switch (condition.kind) {
    case 'stuck':
      return stuck(facts, condition.afterMs, isAsked);
    case 'failure_rate':
      return failureRate(facts, condition, isAsked);
    case 'failures_in_row':
      return failuresInRow(facts, condition.count, isAsked);
    case 'schedule_deadline':
      return scheduleDeadline(facts, isAsked);
    case 'waiting':
      return waiting(facts, condition.afterMs, isAsked);
    case 'no_worker':
      return noWorker(facts, condition.afterMs, isAsked);
    case 'dead_letters':
      return deadLetters(facts, condition.above);
  }
}

type IsAsked = (type: string) => boolean;
const idsShownMax = 3;

function stuck({ running, now }: AlertFacts, afterMs: number, isAsked: IsAsked): Finding[] {
  const late = running
    .filter((job) => isAsked(job.type) && now - job.startedAt > afterMs)
    .sort((a, b) => a.startedAt - b.startedAt);
  return byKey(late, (job) => job.type).map(([type, jobs]) => {
    const ids = jobs.slice(0, idsShownMax).map((job) => job.id);
    const more = jobs.length > ids.length ? ` and ${jobs.length - ids.length} more` : '';
    const longestMs = now - (jobs[0] as (typeof jobs)[number]).startedAt;
    return {
      subject: `type:${type}`,
      message: `${plural(jobs.length, 'job')} of type "${type}" run for longer than ${formatDuration(afterMs)}, the longest for ${brief(longestMs)}: ${ids.join(', ')}${more}.`,
    };
  });
}

function failureRate(
  { outcomes }: AlertFacts,
  { abovePercent, windowMs, countMin }: Extract<AlertCondition, { kind: 'failure_rate' }>,
  isAsked: IsAsked,
): Finding[] {
  return (outcomes.get(windowMs) ?? []).flatMap(({ type, completedCount, failedCount }) => {
    const count = completedCount + failedCount;
    const percent = (failedCount / count) * 100;
    if (!isAsked(type) || count < countMin || count === 0 || percent <= abovePercent) return [];
    const message = `${percent.toFixed(1)} % of the jobs of type "${type}" failed in the last ${formatDuration(windowMs)} (${failedCount} of ${count}; more than ${abovePercent} % are too many).`;
    return [{ subject: `type:${type}`, message }];
  });
}

function failuresInRow(
  { failuresByType, schedules }: AlertFacts,
  count: number,
  isAsked: IsAsked,
): Finding[] {
  const types = failuresByType.filter(({ type, inRowCount }) => isAsked(type) && inRowCount >= count);
  const runs = schedules.filter((one) => isAsked(one.type) && one.failuresInRowCount >= count);
  return [
    ...types.map(({ type, inRowCount }) => ({
      subject: `type:${type}`,
      message: `The last ${inRowCount} jobs of type "${type}" all failed.`,
    })),
    ...runs.map(({ label, failuresInRowCount }) => ({
      subject: `schedule:${label}`,
      message: `The last ${failuresInRowCount} runs of schedule "${label}" all failed.`,
    })),
  ];
}

function scheduleDeadline({ schedules }: AlertFacts, isAsked: IsAsked): Finding[] {
  return schedules.flatMap(({ label, type, overdue }) => {
    if (overdue === null || !isAsked(type)) return [];
    const run = overdue.runStatus === null ? 'no run was made' : `its run is ${overdue.runStatus}`;
    const message = `Schedule "${label}" has not succeeded for its slot of ${instant(overdue.slotAt)} by ${instant(overdue.deadlineAt)}: ${run}.`;
    return [{ subject: `schedule:${label}`, message }];
  });
}

function waiting(facts: AlertFacts, afterMs: number, isAsked: IsAsked): Finding[] {
  const { now } = facts;
  const late = facts.lanes.filter(
    (lane) =>
      isAsked(lane.type) &&
      !isPaused(facts, lane) &&
      lane.oldestDueAt !== null &&
      now - lane.oldestDueAt > afterMs,
  );
  return byKey(late, (lane) => lane.queue).map(([queue, lanes]) => {
    const oldestAt = Math.min(...lanes.map((lane) => lane.oldestDueAt as number));
    const count = lanes.reduce((sum, lane) => sum + lane.readyCount, 0);
    const message = `The oldest job of queue "${queue}" has waited for ${brief(now - oldestAt)} (more than ${formatDuration(afterMs)} is too long); ${plural(count, 'job')} ${count === 1 ? 'waits' : 'wait'}.`;
    return { subject: `queue:${queue}`, message };
  });
}

function noWorker(facts: AlertFacts, afterMs: number, isAsked: IsAsked): Finding[] {
  const { now, lanes, workers } = facts;
  const untaken = lanes.filter(
    (lane) =>
      isAsked(lane.type) &&
      lane.oldestDueAt !== null &&
      now - lane.oldestDueAt > afterMs &&
      !isPaused(facts, lane) &&
      !workers.some(
        ({ tasks, queues }) =>
          (queues === null || queues.includes(lane.queue)) &&
          tasks.some((task) => task.type === lane.type && task.version >= lane.version),
      ),
  );
  return byKey(untaken, (lane) => lane.type).map(([type, ones]) => {
    const count = ones.reduce((sum, lane) => sum + lane.readyCount, 0);
    const message = `No live worker takes jobs of type "${type}"; ${plural(count, 'job')} ${count === 1 ? 'waits' : 'wait'}.`;
    return { subject: `type:${type}`, message };
  });
}

function deadLetters({ dead }: AlertFacts, above: number): Finding[] {
  if (dead.count <= above) return [];
  const count = `${plural(dead.count, 'dead letter')}${dead.capped ? ' or more' : ''}`;
  const message = `There ${dead.count === 1 ? 'is' : 'are'} ${count}: jobs that failed for good and wait for a person.`;
  return [{ subject: 'store', message }];
}

function isPaused({ pauses }: AlertFacts, lane: { queue: string; type: string }): boolean {
  return pauses.some(
    ({ scope, name }) => scope === 'all' || (scope === 'queue' ? name === lane.queue : name === lane.type),
  );
}

function byKey<Item>(items: readonly Item[], keyOf: (item: Item) => string): [string, Item[]][] {
  return [...Map.groupBy(items, keyOf)];
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A duration to the second: nobody is helped by milliseconds of an hour. */
function brief(ms: number): string {
  return formatDuration(ms < 1_000 ? ms : Math.floor(ms / 1_000) * 1_000);
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
