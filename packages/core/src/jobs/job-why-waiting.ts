// Why a job that waits has not started, and when it should.

import { formatDuration } from '../base/duration.ts';
import type { JobRecord } from '../contract/engine.ts';
import type { WaitingFor } from './job-why.ts';
import type { Answer, Blocker, WhyFacts } from './job-why-facts.ts';
import { pauseSentence, pausesOf, pauseWait, startAfterPauses } from './job-why-pauses.ts';
import { at, cause, distance, lastAttempt, named } from './job-why-words.ts';
import { workerProblem } from './job-why-worker.ts';

/** A job that waits for its time. */
export function scheduled(facts: WhyFacts): Answer {
  const { job, now } = facts;
  const sentences = [
    `${named(job)} waits for its time: it falls due at ${at(job.dueAt)}, ${distance(job.dueAt, now)}.`,
  ];
  const last = lastAttempt(job);
  if (last?.reason === 'snoozed') {
    sentences.push(`Its handler put it off (snooze) in attempt ${last.n}, which spent nothing.`);
  }
  const pauses = pausesOf(facts);
  sentences.push(
    ...pauses.map((pause) => `${pauseSentence(pause)} It will wait for that too if it is still so then.`),
  );
  return {
    sentences,
    waitingFor: [{ kind: 'time', until: new Date(job.dueAt) }, ...pauses.map(pauseWait)],
    expectedStartAt: startAfterPauses(job.dueAt, pauses),
  };
}

/** A job that runs again after a failure or a loss. */
export function retrying(facts: WhyFacts): Answer {
  const { job, now } = facts;
  const last = lastAttempt(job);
  const sentences: string[] = [];
  if (last?.reason === 'lost') {
    sentences.push(
      `${named(job)} lost its node "${last.node}" during attempt ${last.n} (loss ${job.losses}; a loss spends no attempt) and runs again.`,
    );
  } else {
    sentences.push(
      `${named(job)} failed in attempt ${job.spent} of ${job.maxAttempts}: ${cause(job, last)}.`,
    );
  }
  if (job.dueAt > now) {
    sentences.push(`It runs again at ${at(job.dueAt)}, ${distance(job.dueAt, now)}.`);
    const pauses = pausesOf(facts);
    sentences.push(
      ...pauses.map((pause) => `${pauseSentence(pause)} It will wait for that too if it is still so then.`),
    );
    return {
      sentences,
      waitingFor: [{ kind: 'retry', until: new Date(job.dueAt) }, ...pauses.map(pauseWait)],
      expectedStartAt: startAfterPauses(job.dueAt, pauses),
    };
  }
  const due = waitingForWorker(facts);
  return { ...due, sentences: [...sentences, `It is due since ${at(job.dueAt)}.`, ...due.sentences] };
}

/** A job that is due. */
export function pending(facts: WhyFacts): Answer {
  const { job, now } = facts;
  const waits = now - job.dueAt;
  const due = waitingForWorker(facts);
  const opening = `${named(job)} is due since ${at(job.dueAt)}${waits >= 1000 ? ` (${formatDuration(waits)} ago)` : ''} and waits for a worker.`;
  return { ...due, sentences: [opening, ...due.sentences] };
}

/** A job behind a gate. */
export function blocked(facts: WhyFacts): Answer {
  const { job } = facts;
  const blockers =
    facts.blockers.length > 0 ? facts.blockers : job.gates.map((gate) => ({ gate, job: null }));
  const sentences = [`${named(job)} is blocked.`, ...blockers.map((blocker) => gateSentence(blocker, job))];
  if (blockers.length === 0)
    sentences.push('No gate of it is known any more; the next pass of maintenance opens it.');
  const pauses = pausesOf(facts);
  sentences.push(...pauses.map(pauseSentence));
  return {
    sentences,
    waitingFor: [
      ...blockers.map(
        (one): WaitingFor => ({
          kind: 'gate',
          gate: one.gate.kind,
          // How a store names a serial line is its own affair.
          ref: one.gate.kind === 'serial' && job.serial !== null ? job.serial : one.gate.ref,
          jobId: one.job?.id ?? null,
        }),
      ),
      ...pauses.map(pauseWait),
    ],
    expectedStartAt: null,
  };
}

function gateSentence({ gate, job }: Blocker, of: JobRecord): string {
  const holder = job === null ? '' : ` "${job.id}" (type "${job.type}", ${job.status})`;
  switch (gate.kind) {
    case 'serial':
      return job === null
        ? `Jobs of the serial key "${of.serial}" run one at a time; another one goes first.`
        : `Jobs of the serial key "${of.serial}" run one at a time, and job${holder} goes first.`;
    case 'overlap':
      return `The previous run of its schedule, job${holder || ` "${gate.ref}"`}, is not finished.`;
    case 'parent':
      return `It waits for the end of job${holder || ` "${gate.ref}"`}.`;
    case 'dedupe':
      return `It follows job${holder || ` "${gate.ref}"`}, which holds its dedupe key and has started already.`;
  }
}

function waitingForWorker(facts: WhyFacts): Answer {
  const { job, now } = facts;
  const pauses = pausesOf(facts);
  if (pauses.length > 0) {
    return {
      sentences: pauses.map(pauseSentence),
      waitingFor: pauses.map(pauseWait),
      expectedStartAt: startAfterPauses(now, pauses),
    };
  }
  const { problem, nodes, sentence } = workerProblem(facts);
  return {
    sentences: [sentence, ...deadlineSentence(job, now)],
    waitingFor: [{ kind: 'worker', problem, nodes: nodes.map((node) => node.id) }],
    expectedStartAt: problem === 'none' ? now : null,
  };
}

function deadlineSentence(job: JobRecord, now: number): string[] {
  if (job.expireAt === null || job.attempt > 0) return [];
  if (job.expireAt < now)
    return [`Its start deadline was ${at(job.expireAt)}: the next node that looks ends it as EXPIRED.`];
  return [`If it has not started by ${at(job.expireAt)}, it expires.`];
}
