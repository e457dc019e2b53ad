// How a job runs, or how it ended.

import { formatDuration } from '../base/duration.ts';
import type { JobRecord } from '../contract/engine.ts';
import type { WhyFacts } from './job-why-facts.ts';
import { at, cause, errorText, lastAttempt, named } from './job-why-words.ts';

/** A job under a lease. */
export function running({ job, now }: WhyFacts): string[] {
  const attempt = lastAttempt(job);
  const startedAt = attempt?.startedAt ?? job.startedAt ?? job.updatedAt;
  const sentences = [
    `${named(job)} runs on node "${job.node ?? attempt?.node ?? 'unknown'}" since ${at(startedAt)} (${formatDuration(Math.max(0, now - startedAt))}), attempt ${job.spent + 1} of ${job.maxAttempts}.`,
  ];
  if (job.cancelRequestedAt !== null) {
    sentences.push(
      `It was asked to cancel at ${at(job.cancelRequestedAt)}${job.cancelledBy === null ? '' : ` by ${job.cancelledBy}`} and has until its grace of ${formatDuration(job.policy.graceMs)} is over.`,
    );
  }
  const { percent, message, step, of } = job.progress;
  if (percent > 0 || message !== null) {
    const steps = step === null ? '' : of === null ? `, step ${step}` : `, step ${step} of ${of}`;
    sentences.push(`Last progress: ${percent} %${message === null ? '' : ` ("${message}")`}${steps}.`);
  }
  if (job.leaseUntilAt !== null) {
    sentences.push(
      job.leaseUntilAt >= now
        ? `Its lease holds until ${at(job.leaseUntilAt)}.`
        : `Its lease ended at ${at(job.leaseUntilAt)}, ${formatDuration(now - job.leaseUntilAt)} ago: it will be taken over.`,
    );
  }
  sentences.push(timeoutSentence(job, startedAt, now));
  return sentences;
}

function timeoutSentence(
  { policy: { timeoutMs, graceMs } }: JobRecord,
  startedAt: number,
  now: number,
): string {
  if (timeoutMs === null) return 'It has no timeout.';
  const timeoutAt = startedAt + timeoutMs;
  if (timeoutAt > now) return `Its timeout of ${formatDuration(timeoutMs)} comes at ${at(timeoutAt)}.`;
  const end = timeoutAt + graceMs;
  const rest =
    end > now ? `its grace ends at ${at(end)}, and then it counts as failed` : 'its grace is over too';
  return `Its timeout of ${formatDuration(timeoutMs)} was over at ${at(timeoutAt)}; ${rest}.`;
}

/** A job that ended well. */
export function completed({ job }: WhyFacts): string[] {
  const attempt = lastAttempt(job);
  const startedAt = attempt?.startedAt ?? job.startedAt;
  const took =
    startedAt === null || job.finishedAt === null
      ? ''
      : ` in ${formatDuration(Math.max(0, job.finishedAt - startedAt))}`;
  const where = attempt === undefined ? '' : ` on node "${attempt.node}"`;
  const which = job.attempt > 1 ? ` in attempt ${job.attempt}` : '';
  const late = job.latenessMs ?? 0;
  const lateness =
    late < 1 ? 'It started on time.' : `It first started ${formatDuration(late)} after it was due.`;
  return [
    `${named(job)} completed${job.finishedAt === null ? '' : ` at ${at(job.finishedAt)}`}${took}${where}${which}.`,
    lateness,
  ];
}

/** A job with no attempt left. */
export function failed({ job }: WhyFacts): string[] {
  const last = lastAttempt(job);
  const when = job.finishedAt === null ? '' : ` at ${at(job.finishedAt)}`;
  const reason = last?.reason ?? job.reason;
  const rest = job.dead ? ['It is stored as a dead letter and can be retried.'] : [];
  switch (reason) {
    case 'released':
      return [
        `${named(job)} failed${when}: node "${last?.node ?? job.node}" stopped before its handler had ended, and a job delivered at most once never starts again.`,
        ...rest,
      ];
    case 'lost':
      return [
        job.policy.delivery === 'at-most-once'
          ? `${named(job)} failed${when}: node "${last?.node ?? job.node}" was lost after the handler had begun, and a job delivered at most once never starts again.`
          : `${named(job)} failed${when}: it lost its node ${job.begunLosses} times after its handler had begun, so it is taken for the cause.`,
        ...rest,
      ];
    case 'input-refused':
      return [
        `${named(job)} failed${when} without retries: its input no longer fits the schema of the task${errorText(job.error)}.`,
        ...rest,
      ];
    case 'result-refused':
      return [
        `${named(job)} failed${when}: its handler returned a result that cannot be stored as JSON${errorText(job.error)}.`,
        ...rest,
      ];
    default:
      return [
        `${named(job)} failed${when} in attempt ${job.spent} of ${job.maxAttempts}, and none is left: ${cause(job, last)}.`,
        ...rest,
      ];
  }
}

/** A job that was cancelled. */
export function cancelled({ job }: WhyFacts): string[] {
  const by = job.cancelledBy === null ? '' : ` by ${job.cancelledBy}`;
  const when = job.finishedAt === null ? '' : ` at ${at(job.finishedAt)}`;
  const started = job.attempt > 0 ? `in attempt ${job.attempt}` : 'before it started';
  const reason = job.reason === null || job.reason === 'cancelled' ? '' : ` (${job.reason})`;
  return [`${named(job)} was cancelled${when}${by}, ${started}${reason}.`];
}

/** A job that no worker started in time. */
export function expired({ job }: WhyFacts): string[] {
  const when = job.finishedAt === null ? '' : ` at ${at(job.finishedAt)}`;
  const deadline =
    job.expireAt === null
      ? ''
      : `: it was due at ${at(job.dueAt)} and had to start within ${formatDuration(Math.max(0, job.expireAt - job.dueAt))}, by ${at(job.expireAt)}, and no worker started it in time`;
  return [`${named(job)} expired${when}${deadline}.`];
}
