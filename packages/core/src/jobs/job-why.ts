/** Why a job is where it is. Pure: facts in, answer out; `duly.why` gathers the facts. */

import { formatDuration } from '../base/duration.ts';
import type {
  AttemptRecord,
  Count,
  CountsReply,
  Gate,
  GateKind,
  JobError,
  JobRecord,
  NodesReply,
} from '../contract/engine.ts';
import { type JobStatus, mustRunAlone } from '../contract/job-status.ts';
import { builtInPrefix } from './built-in-tasks.ts';
import type { Pause } from './pauses.ts';

/** A node as the store lists it. */
export type ListedNode = NodesReply['nodes'][number];

/** What a shut gate waits for, as far as it could be found. */
export interface Blocker {
  gate: Gate;
  /** The job in the way; null when it could not be found. */
  job: { id: string; type: string; status: JobStatus; startedAt: number | null } | null;
}

/** Everything `explainJob` looks at. */
export interface WhyFacts {
  now: number;
  job: JobRecord;
  /** Pauses in force now, of any scope. */
  pauses: readonly Pause[];
  nodes: readonly ListedNode[];
  /** A node silent for longer than this counts as gone. */
  nodeSilentMs: number;
  blockers: readonly Blocker[];
  /** Ready jobs of its queue and type, itself included; null: not counted. */
  ready: Count | null;
  /** Jobs under lease by node and type, at this instant; what a node says of itself is as old as its last heartbeat. */
  running: CountsReply['running'];
}

/** Why no worker has taken a job that is due. */
export type WorkerProblem =
  | 'no-node'
  | 'unhandled-type'
  | 'older-version'
  | 'other-queues'
  | 'not-ready'
  | 'busy'
  | 'must-run-alone'
  | 'none';

/** What a job waits for, in a form for programs. */
export type WaitingFor =
  | { kind: 'time'; until: Date }
  | { kind: 'retry'; until: Date }
  | {
      kind: 'pause';
      scope: Pause['scope'];
      name: string | null;
      by: string;
      note: string | null;
      since: Date;
      until: Date | null;
    }
  | { kind: 'gate'; gate: GateKind; ref: string; jobId: string | null }
  | { kind: 'worker'; problem: WorkerProblem; nodes: string[] };

/** The answer to "why": a sentence for people, the rest for programs. */
export interface Why {
  id: string;
  type: string;
  status: JobStatus;
  /** What became of the job, or what it waits for and when it should start; one or more full sentences. */
  sentence: string;
  /** The first thing in its way; null when it runs or is over. */
  waitingFor: WaitingFor | null;
  /** Everything in its way, the first one first. */
  waitingForAll: WaitingFor[];
  /** When it should start by what is known now; null when that cannot be said, when it runs or is over. */
  expectedStartAt: Date | null;
  /** Attempts spent, and the one that runs. */
  attempts: number;
  maxAttempts: number;
  /** Where it runs or ran last. */
  node: string | null;
  leaseUntilAt: Date | null;
  timeoutMs: number | null;
  error: JobError | null;
  /** The store's instant of this answer. */
  asOf: Date;
}

/** Says why a job is where it is. Every status and every reason has its sentence. */
export function explainJob(facts: WhyFacts): Why {
  const { job, now } = facts;
  const answer = answerFor(facts);
  return {
    id: job.id,
    type: job.type,
    status: job.status,
    sentence: answer.sentences.join(' '),
    waitingFor: answer.waitingFor[0] ?? null,
    waitingForAll: answer.waitingFor,
    expectedStartAt: answer.expectedStartAt === null ? null : new Date(answer.expectedStartAt),
    attempts: job.status === 'RUNNING' ? job.spent + 1 : job.spent,
    maxAttempts: job.maxAttempts,
    node: job.node ?? lastAttempt(job)?.node ?? null,
    leaseUntilAt: job.leaseUntilAt === null ? null : new Date(job.leaseUntilAt),
    timeoutMs: job.policy.timeoutMs,
    error: job.error,
    asOf: new Date(now),
  };
}

interface Answer {
  sentences: string[];
  waitingFor: WaitingFor[];
  expectedStartAt: number | null;
}

function answerFor(facts: WhyFacts): Answer {
  switch (facts.job.status) {
    case 'SCHEDULED':
      return scheduled(facts);
    case 'PENDING':
      return pending(facts);
    case 'BLOCKED':
      return blocked(facts);
    case 'RETRYING':
      return retrying(facts);
    case 'RUNNING':
      return over(running(facts));
    case 'COMPLETED':
      return over(completed(facts));
    case 'FAILED':
      return over(failed(facts));
    case 'CANCELLED':
      return over(cancelled(facts));
    case 'EXPIRED':
      return over(expired(facts));
  }
}

function over(sentences: string[]): Answer {
  return { sentences, waitingFor: [], expectedStartAt: null };
}

// ----------------------------------------------------------------------------------------- waiting jobs

function scheduled(facts: WhyFacts): Answer {
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

function retrying(facts: WhyFacts): Answer {
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

function pending(facts: WhyFacts): Answer {
  const { job, now } = facts;
  const waits = now - job.dueAt;
  const due = waitingForWorker(facts);
  const opening = `${named(job)} is due since ${at(job.dueAt)}${waits >= 1000 ? ` (${formatDuration(waits)} ago)` : ''} and waits for a worker.`;
  return { ...due, sentences: [opening, ...due.sentences] };
}

function blocked(facts: WhyFacts): Answer {
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

/** Asks from the widest reason to the narrowest, so that the answer names what a person has to change first. */
function workerProblem(facts: WhyFacts): { problem: WorkerProblem; nodes: ListedNode[]; sentence: string } {
  const { job, now } = facts;
  const live = facts.nodes.filter((node) => now - node.heartbeatAt <= facts.nodeSilentMs);
  const workers = live.filter((node) => node.roles.includes('worker'));
  if (workers.length === 0) {
    const gone = facts.nodes.length - live.length;
    const rest = gone > 0 ? ` (${gone} silent for more than ${formatDuration(facts.nodeSilentMs)})` : '';
    return { problem: 'no-node', nodes: [], sentence: `No live node works on this store${rest}; start one.` };
  }
  const handles = workers.filter((node) => node.tasks.some((task) => task.type === job.type));
  if (handles.length === 0) {
    return {
      problem: 'unhandled-type',
      nodes: [],
      sentence: `No live node handles type "${job.type}"; ${plural(workers.length, 'live node')} handle${workers.length === 1 ? 's' : ''} ${typesOf(workers)}.`,
    };
  }
  const current = handles.filter((node) =>
    node.tasks.some((task) => task.type === job.type && task.version >= job.version),
  );
  if (current.length === 0) {
    return {
      problem: 'older-version',
      nodes: handles,
      sentence: `It was created for version ${job.version} of task "${job.type}"; the live nodes have only older ones.`,
    };
  }
  const open = current.filter((node) => node.queues === null || node.queues.includes(job.queue));
  if (open.length === 0) {
    return {
      problem: 'other-queues',
      nodes: current,
      sentence: `The live nodes that handle "${job.type}" do not take from queue "${job.queue}".`,
    };
  }
  const ready = open.filter((node) => node.notReady === null && node.drainRequestedAt === null);
  if (ready.length === 0) {
    const reasons = open.map((node) => `"${node.id}": ${node.notReady ?? 'it is draining'}`).join('; ');
    return {
      problem: 'not-ready',
      nodes: open,
      sentence: `The nodes that could run it take no work (${reasons}).`,
    };
  }
  const runs = ({ id }: ListedNode, type?: string) =>
    facts.running
      .filter((one) => one.node === id && (type === undefined || one.type === type))
      .reduce((sum, { count }) => sum + count, 0);
  if (mustRunAlone(job) && !ready.some((node) => runs(node) === 0)) {
    return {
      problem: 'must-run-alone',
      nodes: ready,
      sentence: `It lost its node ${job.begunLosses} times, so it must run alone in its process, and no node is idle yet.`,
    };
  }
  const roomy = ready.filter((node) => runs(node) < node.concurrency);
  const free = roomy.filter((node) => {
    const limit = node.tasks.find((task) => task.type === job.type)?.concurrency ?? null;
    return limit === null || runs(node, job.type) < limit;
  });
  if (free.length === 0 && roomy.length > 0) {
    return {
      problem: 'busy',
      nodes: ready,
      sentence: `Task "${job.type}" runs as often at a time as its concurrency allows on ${plural(roomy.length, 'live node')}.`,
    };
  }
  if (free.length === 0) {
    const queued =
      facts.ready === null
        ? ''
        : `; ${countText(facts.ready)} of its type ${facts.ready.count === 1 ? 'is' : 'are'} ready`;
    return {
      problem: 'busy',
      nodes: ready,
      sentence: `Every concurrency slot of the ${plural(ready.length, 'node')} that could run it is taken${queued}.`,
    };
  }
  return {
    problem: 'none',
    nodes: free,
    sentence: `${plural(free.length, 'live node')} can run it now; it should start at once.`,
  };
}

function typesOf(nodes: ListedNode[]): string {
  const all = nodes.flatMap((node) => node.tasks.map((task) => task.type));
  // What a server brings along is nobody's typing mistake.
  const types = [...new Set(all)].filter((type) => !type.startsWith(builtInPrefix)).sort();
  if (types.length === 0) return 'no task';
  // Ten names are enough to see a typing mistake; a long list would bury the sentence.
  const shown = types.slice(0, 10).map((type) => `"${type}"`);
  return types.length > 10 ? `${shown.join(', ')} and ${types.length - 10} more` : shown.join(', ');
}

// ---------------------------------------------------------------------------------------------- pauses

function pausesOf({ pauses, job, now }: WhyFacts): Pause[] {
  return pauses.filter((pause) => {
    if (pause.until !== null && pause.until.getTime() <= now) return false;
    if (pause.scope === 'all') return true;
    return pause.scope === 'queue' ? pause.name === job.queue : pause.name === job.type;
  });
}

function pauseSentence(pause: Pause): string {
  const what =
    pause.scope === 'all'
      ? 'Everything'
      : pause.scope === 'queue'
        ? `Queue "${pause.name}"`
        : `Type "${pause.name}"`;
  const note = pause.note === null ? '' : `, who noted "${pause.note}"`;
  const until = pause.until === null ? 'until it is resumed' : `until ${pause.until.toISOString()}`;
  return `${what} is paused since ${pause.since.toISOString()} by ${pause.by}${note}, ${until}.`;
}

function pauseWait(pause: Pause): WaitingFor {
  return {
    kind: 'pause',
    scope: pause.scope,
    name: pause.name,
    by: pause.by,
    note: pause.note,
    since: pause.since,
    until: pause.until,
  };
}

function startAfterPauses(from: number, pauses: Pause[]): number | null {
  let start = from;
  for (const pause of pauses) {
    if (pause.until === null) return null;
    start = Math.max(start, pause.until.getTime());
  }
  return start;
}

// -------------------------------------------------------------------------------- running and over

function running({ job, now }: WhyFacts): string[] {
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

function completed({ job }: WhyFacts): string[] {
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

function failed({ job }: WhyFacts): string[] {
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

function cancelled({ job }: WhyFacts): string[] {
  const by = job.cancelledBy === null ? '' : ` by ${job.cancelledBy}`;
  const when = job.finishedAt === null ? '' : ` at ${at(job.finishedAt)}`;
  const started = job.attempt > 0 ? `in attempt ${job.attempt}` : 'before it started';
  const reason = job.reason === null || job.reason === 'cancelled' ? '' : ` (${job.reason})`;
  return [`${named(job)} was cancelled${when}${by}, ${started}${reason}.`];
}

function expired({ job }: WhyFacts): string[] {
  const when = job.finishedAt === null ? '' : ` at ${at(job.finishedAt)}`;
  const deadline =
    job.expireAt === null
      ? ''
      : `: it was due at ${at(job.dueAt)} and had to start within ${formatDuration(Math.max(0, job.expireAt - job.dueAt))}, by ${at(job.expireAt)}, and no worker started it in time`;
  return [`${named(job)} expired${when}${deadline}.`];
}

// ---------------------------------------------------------------------------------------------- words

function lastAttempt(job: JobRecord): AttemptRecord | undefined {
  return job.attempts.at(-1);
}

function cause(job: JobRecord, last: AttemptRecord | undefined): string {
  const error = last?.error ?? job.error;
  switch (last?.reason ?? job.reason) {
    case 'timeout':
      return `it ran longer than its timeout of ${job.policy.timeoutMs === null ? 'none' : formatDuration(job.policy.timeoutMs)}`;
    case 'retry-asked':
      return `its handler asked to be run again${errorText(error)}`;
    default:
      return error === null ? 'the error was not stored' : `${error.name}: ${firstLine(error.message)}`;
  }
}

function errorText(error: JobError | null): string {
  return error === null ? '' : ` (${error.name}: ${firstLine(error.message)})`;
}

function firstLine(message: string): string {
  const [line = ''] = message.split('\n', 1);
  // A sentence is for one line of a terminal; the whole message is in `error`. No half of a surrogate pair is left of it.
  const cut = line.length > 200 ? `${line.slice(0, 200).replace(/[\uD800-\uDBFF]$/, '')}…` : line;
  return cut.replace(/[.!]+$/, '');
}

function named(job: JobRecord): string {
  return `Job "${job.id}" (type "${job.type}")`;
}

function at(instant: number): string {
  return new Date(instant).toISOString();
}

function distance(instant: number, now: number): string {
  const ms = instant - now;
  return ms >= 0 ? `in ${formatDuration(ms)}` : `${formatDuration(-ms)} ago`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function countText({ count, capped }: Count): string {
  return capped ? `${count} or more` : `${count}`;
}
