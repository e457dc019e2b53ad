/** How late schedules ran that fell due while their store was away, and whether each ran exactly once. */
import { median, percentile } from '../../../../bench/statistics.ts';

/** A handler that started: the number of its schedule, and the instant. */
export type Start = readonly [schedule: number, at: number];

/** What one round recorded. */
export interface Observed {
  /** Schedules that were due at the instant; they are numbered from 0. */
  count: number;
  dueAt: number;
  killedAt: number;
  /** When the primary accepted connections again. */
  returnedAt: number;
  starts: readonly Start[];
  /** By the number of the schedule: how often the ledger has its slot, and how many jobs the slot has. */
  stored: readonly { decisions: number; jobs: number }[];
}

/** Percentiles of a lateness in milliseconds, and the last one. */
export interface Lateness {
  p50: number;
  p99: number;
  last: number;
}

/** What one round measured. */
export interface Round {
  schedules: number;
  /** From the instant; negative: before it. */
  killedMs: number;
  returnedMs: number;
  fromInstant: Lateness;
  fromReturn: Lateness;
  /** Schedules whose slot was decided once, has one job, and ran once. */
  once: number;
  /** Without a decision, a job or a start. */
  lost: number;
  /** With a second decision, job or start. */
  doubled: number;
  /** Starts before the instant. */
  early: number;
}

/** The last start is to follow the return of the primary within this time. */
export const targetMs = 2_000;

/** Judges what a round recorded. */
export function measureRound(observed: Observed): Round {
  const { count, dueAt, killedAt, returnedAt, starts, stored } = observed;
  const startCounts = new Array<number>(count).fill(0);
  for (const [schedule] of starts) startCounts[schedule] = (startCounts[schedule] ?? 0) + 1;
  const all = startCounts.map((runs, schedule) => {
    const { decisions = 0, jobs = 0 } = stored[schedule] ?? {};
    return [decisions, jobs, runs];
  });
  const from = (instant: number): Lateness => {
    const lateMs = starts.map(([, at]) => at - instant);
    return { p50: percentile(lateMs, 0.5), p99: percentile(lateMs, 0.99), last: percentile(lateMs, 1) };
  };
  return {
    schedules: count,
    killedMs: killedAt - dueAt,
    returnedMs: returnedAt - dueAt,
    fromInstant: from(dueAt),
    fromReturn: from(returnedAt),
    once: all.filter((counts) => counts.every((one) => one === 1)).length,
    lost: all.filter((counts) => counts.includes(0)).length,
    doubled: all.filter((counts) => counts.some((one) => one > 1)).length,
    early: starts.filter(([, at]) => at < dueAt).length,
  };
}

/** Whether each slot was decided once and ran once, and none early. */
export function isExact({ schedules, once, early }: Round): boolean {
  return once === schedules && early === 0;
}

const seconds = (ms: number): string => (Number.isNaN(ms) ? '-' : `${(ms / 1_000).toFixed(2)} s`);

/** The table of all rounds, with their median, and the verdict. */
export function latenessText(rounds: readonly Round[]): string {
  const columns: [title: string, of: (round: Round) => number, show: (value: number) => string][] = [
    ['killed', ({ killedMs }) => killedMs, seconds],
    ['back', ({ returnedMs }) => returnedMs, seconds],
    ['p50', ({ fromInstant }) => fromInstant.p50, seconds],
    ['p99', ({ fromInstant }) => fromInstant.p99, seconds],
    ['last', ({ fromInstant }) => fromInstant.last, seconds],
    ['p50', ({ fromReturn }) => fromReturn.p50, seconds],
    ['p99', ({ fromReturn }) => fromReturn.p99, seconds],
    ['last', ({ fromReturn }) => fromReturn.last, seconds],
    ['once', ({ once }) => once, String],
    ['lost', ({ lost }) => lost, String],
    ['doubled', ({ doubled }) => doubled, String],
    ['early', ({ early }) => early, String],
  ];
  const row = (title: string, cells: string[]): string =>
    title.padEnd(7) + cells.map((cell) => cell.padStart(9)).join('');
  const lines = [
    `${' '.repeat(27)}late after the instant     late after the return      schedules that ran`,
    row(
      'round',
      columns.map(([title]) => title),
    ),
    ...rounds.map((round, index) =>
      row(
        String(index + 1),
        columns.map(([, of, show]) => show(of(round))),
      ),
    ),
  ];
  if (rounds.length > 1) {
    const cells = columns.slice(0, 8).map(([, of, show]) => show(median(rounds.map(of))));
    lines.push(row('median', cells));
  }
  return [...lines, '', ...verdict(rounds)].join('\n');
}

function verdict(rounds: readonly Round[]): string[] {
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const exactly = rounds.every(isExact)
    ? 'KEPT: every slot was decided once and ran once, none early.'
    : `BROKEN: ${sum(({ lost }) => lost)} slots lost, ${sum(({ doubled }) => doubled)} doubled, ${sum(({ early }) => early)} early.`;
  const lasts = rounds.map(({ fromReturn }) => fromReturn.last);
  const metCount = lasts.filter((ms) => ms <= targetMs).length;
  const target = `the last start within ${targetMs / 1_000} s of the return of the primary`;
  const latest = `${metCount} of ${rounds.length} rounds, at worst ${seconds(percentile(lasts, 1))}`;
  return [exactly, `${metCount === rounds.length ? 'MET' : 'MISSED'}: ${target}: ${latest}.`];
}
