/** What holds of real processes beside the invariants of every history: they can be asked what they saw with their own eyes. */

import { scheduleLeaseMs } from '../../packages/core/src/schedules/schedule-lease.ts';
import { show } from '../checker/facts.ts';
import type { Invariant } from '../checker/index.ts';
import type { Answered, Evidence } from '../history.ts';
import { accusationsAreTrue } from './accusations-are-true.ts';
import { healthReportsTruth } from './health-reports-truth.ts';
import { movesAgain } from './moves-again.ts';
import { secondlySchedules } from './tasks.ts';

type Problems = ReturnType<Invariant['check']>;

/** A promise that was refused because the store was full or locked is not kept in secret; every refusal has a code. */
export const refusalsAreClear: Invariant = {
  name: 'refusals-are-clear',
  promise: 'A call that a fault made fail says why with a code, and one that was refused has done nothing.',
  check({ events, final }) {
    const problems: Problems = [];
    const answers = new Map<number, Answered>();
    for (const event of events) if (event.kind === 'answered') answers.set(event.call, event);
    for (const { code, call, what, node } of answers.values()) {
      if (code === undefined || allowedCodes.has(code)) continue;
      problems.push({ subjects: [], message: `Call ${call} of ${node} (${what}) failed with "${code}".` });
    }
    for (const job of final.jobs) {
      const { call } = JSON.parse(job.metadata ?? '{}') as { call?: number };
      const answer = call === undefined ? undefined : answers.get(call);
      if (answer?.outcome !== 'refused') continue;
      problems.push({
        subjects: [job.id],
        message: `Job ${job.id} exists, though call ${call} was refused with "${answer.code}".`,
      });
    }
    return problems;
  },
};

// What a full or locked store, and a job that is over already, answers.
const allowedCodes = new Set([
  'store_full',
  'store_busy',
  'store_unavailable',
  // The client's own transaction was open for longer than a call waits: `accusations-are-true` holds that it was.
  'store_locked_by_user_transaction',
  'job_not_found',
  'job_not_changeable',
]);

/** The result that is kept is that of the attempt whose lease held, and its handler really ran. */
export const resultsAreTheHolders: Invariant = {
  name: 'results-are-the-holders',
  promise:
    'The result that is kept came from the last attempt, and its handler was entered once under its fence.',
  check({ events, final }) {
    const problems: Problems = [];
    const began = new Map<string, number>();
    for (const event of events) {
      if (event.kind !== 'began') continue;
      const key = `${event.id}/${event.fence}`;
      began.set(key, (began.get(key) ?? 0) + 1);
    }
    for (const job of final.jobs) {
      const last = job.attempts.at(-1);
      if (job.status !== 'COMPLETED' || last === undefined || job.result === null) continue;
      const { fence } = JSON.parse(job.result) as { fence: number };
      const count = began.get(`${job.id}/${fence}`) ?? 0;
      if (fence === last.fence && count === 1) continue;
      problems.push({
        subjects: [job.id],
        message: `Job ${job.id} keeps the result of fence ${fence}, its last attempt has fence ${last.fence}, and the handler was entered ${count} times under it.`,
      });
    }
    return problems;
  },
};

/** Between two attempts of jobs with one serial key there is always an end. */
export const serialInTurn: Invariant = {
  name: 'serial-in-turn',
  promise: 'Jobs of one serial key run one at a time.',
  check({ final }) {
    const spans = new Map<string, { id: string; fromAt: number; toAt: number }[]>();
    for (const { id, serial, attempts } of final.jobs) {
      if (serial === null) continue;
      for (const { startedAt, endedAt } of attempts) {
        const all = spans.get(serial) ?? [];
        spans.set(serial, all);
        all.push({ id, fromAt: startedAt, toAt: endedAt ?? final.at });
      }
    }
    const problems: Problems = [];
    for (const [serial, all] of spans) {
      all.sort((one, other) => one.fromAt - other.fromAt || one.toAt - other.toAt);
      for (const [i, one] of all.entries()) {
        const before = all[i - 1];
        if (before === undefined || before.toAt <= one.fromAt || before.id === one.id) continue;
        problems.push({
          subjects: [before.id, one.id],
          message: `Job ${one.id} started while job ${before.id} of the same serial key "${serial}" ran.`,
        });
      }
    }
    return problems;
  },
};

/** An attempt that the store counts as lost belonged to a process that was dead or stopped, or to a time when nobody could write. */
export const lossesHaveCauses: Invariant = {
  name: 'losses-have-causes',
  promise:
    'No attempt is lost but by a process that was killed or stopped, or by a store that could not be written.',
  check({ events, final }) {
    const causes = causesOf(events);
    const problems: Problems = [];
    for (const job of final.jobs) {
      for (const { reason, node, startedAt, endedAt, n } of job.attempts) {
        if (reason !== 'lost') continue;
        const toAt = endedAt ?? final.at;
        const isCaused = causes.some(
          (cause) =>
            (cause.node === '*' || cause.node === node) &&
            cause.fromAt <= toAt &&
            cause.toAt >= (cause.isStall ? Math.max(startedAt, toAt - stallMsMax) : startedAt),
        );
        if (isCaused) continue;
        problems.push({
          subjects: [job.id],
          message: `Attempt ${n} of job ${job.id} was lost, though its node ${node} lived, moved and could write all the time.`,
        });
      }
    }
    return problems;
  },
};

// So long after a machine stood still a lease may be taken and judged lost: whoever could renew it in that time has.
const stallMsMax = 5_000;

interface Cause {
  node: string;
  fromAt: number;
  toAt: number;
  /** The machine stood still for a moment. */
  isStall?: boolean;
}

function causesOf(events: Evidence['events']): Cause[] {
  const causes: Cause[] = [];
  for (const event of events) {
    const { node, at } = event;
    if (event.kind === 'node' && event.state === 'crashed')
      causes.push({ node, fromAt: at, toAt: Number.POSITIVE_INFINITY });
    if (event.kind === 'node' && event.state === 'paused') {
      const resumed = events.find(
        (other) =>
          other.kind === 'node' && other.node === node && other.state === 'resumed' && other.at >= at,
      );
      causes.push({ node, fromAt: at, toAt: resumed?.at ?? Number.POSITIVE_INFINITY });
    }
    // What a node says of itself (a call that failed) stands under its own name, and is no excuse.
    if (event.kind === 'fault' && (node === '*' || event.untilAt !== undefined))
      causes.push({
        node,
        fromAt: at,
        toAt: event.untilAt ?? at,
        isStall: event.fault === 'machine-stalled',
      });
  }
  return causes;
}

/** The schedules of the run that fire every second: every second has one decision, and the decisions end where the schedulers did. */
export const everySlotDecided: Invariant = {
  name: 'every-slot-decided',
  promise: 'Every past slot has exactly one decision, from the first to the last.',
  check({ events, final }) {
    const problems: Problems = [];
    const decidedAt = Math.max(0, ...events.flatMap((event) => (event.kind === 'fired' ? [event.at] : [])));
    for (const { id, name, createdAt } of final.schedules) {
      if (!secondlySchedules.includes(name)) continue;
      const rows = [...(final.ledger[id] ?? [])].sort((one, other) => one.fromAt - other.fromAt);
      const fail = (message: string) =>
        problems.push({ subjects: [id], message: `Schedule "${name}": ${message}` });
      let nextAt = Math.floor(plannedAt(events, id, createdAt) / 1_000) * 1_000 + 1_000;
      for (const row of rows) {
        const count = (row.toAt - row.fromAt) / 1_000 + 1;
        if (row.fromAt !== nextAt) fail(`expected a decision of ${show(nextAt)}, found ${show(row.fromAt)}.`);
        if (row.count !== count)
          fail(`${show(row.fromAt)} to ${show(row.toAt)} counts ${row.count}, not ${count}.`);
        nextAt = row.toAt + 1_000;
      }
      // A node that died with the schedule holds it until its lease ends.
      const claimed = events.findLast((event) => event.kind === 'scheduleClaimed' && event.scheduleId === id);
      const freeAt = Math.max(nextAt, claimed?.at ?? nextAt) + scheduleLeaseMs;
      if (freeAt < decidedAt) fail(`no decision from ${show(nextAt)} on.`);
    }
    return problems;
  },
};

/** The instant that the first slot was counted from: whoever made the schedule had looked, and found none, a moment before. */
function plannedAt(events: Evidence['events'], id: string, createdAt: number): number {
  const read = events.findLast(
    (event) =>
      event.kind === 'scheduleRead' &&
      event.scheduleId === id &&
      event.version === null &&
      event.at <= createdAt,
  );
  return read?.at ?? createdAt;
}

/** Whatever is done to a process, its store must not tell it that Duly has a defect. */
export const nothingIsADefect: Invariant = {
  name: 'nothing-is-a-defect',
  promise: 'No call to the store fails with "internal".',
  check: ({ events }) =>
    events
      .filter(
        (event) =>
          event.kind === 'fault' && event.fault === 'call-failed' && /: internal\b/.test(event.detail ?? ''),
      )
      .map(({ node, at, ...event }) => ({
        subjects: [],
        message: `A call of ${node} failed at ${show(at)}: ${'detail' in event ? event.detail : ''}.`,
      })),
};

/** What a chaos run holds beside the invariants of every history. */
export const realInvariants: readonly Invariant[] = [
  refusalsAreClear,
  resultsAreTheHolders,
  serialInTurn,
  lossesHaveCauses,
  everySlotDecided,
  movesAgain,
  healthReportsTruth,
  nothingIsADefect,
  accusationsAreTrue,
];
