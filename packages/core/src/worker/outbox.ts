import type { Clock } from '../base/clock.ts';
import type { Events } from '../base/emitter.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, Engine, ReportBody, Settlement } from '../contract/engine.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import { settlementOf } from '../lifecycle/settle.ts';
import type { Heartbeats } from '../store/heartbeats.ts';
import type { Completion } from './attempt.ts';
import { joinReports } from './reporter.ts';
import { settleInTransaction } from './settle-in-transaction.ts';
import type { WorkerEvents } from './worker-events.ts';

/** The settlement of a decided attempt. */
export interface Outgoing {
  job: ClaimedJob;
  settlement: Settlement;
  /** When its attempt was decided, by the monotonic clock. */
  decidedElapsed: number;
}

/** The settlements of one exchange. */
export interface Batch {
  readonly settle: readonly Outgoing[];
  /** Whether it holds one settlement alone, because one of many was refused. */
  readonly isIsolated: boolean;
}

/** What was reported and has not arrived yet: a promise while a report is on its way. */
type LastReport = ReportBody | null | Promise<ReportBody | null>;

/** Settlements of one worker until the store has recorded or refused them. */
export interface Outbox {
  /** Sends the outcome of an attempt with one of the next exchanges. */
  send(job: ClaimedJob, outcome: Outcome, report: LastReport): void;
  /** Finds out what became of a job that its handler completed in a transaction of the user's own. */
  sendCompleted(job: ClaimedJob, outcome: Outcome, completion: Completion, report: LastReport): void;
  /** Takes the settlements of the next exchange. Each batch must be passed to `recorded` or `refused`. */
  takeBatch(): Batch;
  /** Reports the store's answers, in the order of the batch. */
  recorded(batch: Batch, answers: readonly ('done' | 'lost')[]): void;
  /**
   * The store refused the exchange. If it had several parts (`isMixed`: a claim too), each settlement is sent again alone; a settlement that
   * was alone is dropped.
   */
  refused(batch: Batch, options: { isMixed: boolean }): void;
  /** Whether settlements are sent one by one, to find a refused one. Such an exchange carries nothing else. */
  isIsolating(): boolean;
  /** The settlements that wait for an exchange, oldest first. */
  waiting(): readonly Outgoing[];
  /** Outcomes that do not wait for an exchange: of their last report, or of the user's transaction. */
  unfinishedCount(): number;
  /** Stops asking a store that is away about completions in transactions. */
  giveUp(): void;
}

/** What an outbox is made of. */
export interface OutboxOptions {
  engine: Pick<Engine, 'exchange' | 'get'>;
  clock: Clock;
  random: Random;
  tasks: ReadonlyMap<string, Pick<ResolvedTask, 'retry'>>;
  heartbeats: Pick<Heartbeats, 'drop' | 'followsStoreCalls'>;
  events: Pick<Events<WorkerEvents>, 'emit'>;
  /** Called when a settlement waits for an exchange. */
  onWaiting(): void;
  /** Called when an outcome needs no exchange any more. */
  onFinished(): void;
}

const batchMax = 2_000;

/** Creates the outbox of one worker. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { engine, clock, random, tasks, heartbeats, events, onWaiting, onFinished } = options;
  const waiting: Outgoing[] = [];
  let unfinishedCount = 0;
  /** After a refusal, this many settlements are sent one by one. */
  let isolatingCount = 0;
  const gaveUp = new AbortController();
  const backoffOf = ({ type }: ClaimedJob) => tasks.get(type)?.retry.custom ?? null;

  function push(job: ClaimedJob, outcome: Outcome, report: ReportBody | null): void {
    const settlement = settlementOf({ job, outcome, report, random, backoff: backoffOf(job) });
    waiting.push({ job, settlement, decidedElapsed: clock.elapsed() });
    onWaiting();
  }

  async function settleCompleted(
    job: ClaimedJob,
    outcome: Outcome,
    completion: Completion,
    left: ReportBody | null,
  ): Promise<void> {
    const settlement = await settleInTransaction({
      ...{ engine, clock, random, job, outcome, completion },
      report: joinReports(completion.report, left),
      backoff: backoffOf(job),
      onError: (error) =>
        events.emit('error', { error, doing: 'settling a job that was completed in a transaction' }),
      signal: gaveUp.signal,
    });
    heartbeats.drop([{ id: job.id, fence: job.fence }]);
    if (settlement === null) events.emit('lost', { job, settlement: completion.settlement });
    else emitSettled(events, job, settlement);
    unfinishedCount--;
    onFinished();
  }

  function endIsolated({ isIsolated }: Batch): void {
    if (isIsolated) isolatingCount = Math.max(0, isolatingCount - 1);
  }

  return {
    send(job, outcome, report) {
      if (!(report instanceof Promise)) {
        push(job, outcome, report);
        return;
      }
      unfinishedCount++;
      void report.then((body) => {
        unfinishedCount--;
        push(job, outcome, body);
      });
    },
    sendCompleted(job, outcome, completion, report) {
      unfinishedCount++;
      void Promise.resolve(report).then((left) => settleCompleted(job, outcome, completion, left));
    },
    takeBatch() {
      const isIsolated = isolatingCount > 0;
      return { settle: waiting.splice(0, isIsolated ? 1 : batchMax), isIsolated };
    },
    recorded(batch, answers) {
      endIsolated(batch);
      const { settle } = batch;
      if (settle.length > 0 && heartbeats.followsStoreCalls !== true) {
        heartbeats.drop(settle.map(({ job }) => job));
      }
      for (const [place, { job, settlement }] of settle.entries()) {
        if (answers[place] === 'lost') events.emit('lost', { job, settlement });
        else emitSettled(events, job, settlement);
      }
    },
    refused(batch, { isMixed }) {
      const [only] = batch.settle;
      if (only === undefined) return;
      if (batch.settle.length > 1 || isMixed) {
        waiting.unshift(...batch.settle);
        isolatingCount += batch.settle.length;
        return;
      }
      // Its lease ends, and the job is then judged as lost.
      endIsolated(batch);
      heartbeats.drop([{ id: only.job.id, fence: only.job.fence }]);
      events.emit('lost', only);
    },
    isIsolating: () => isolatingCount > 0,
    waiting: () => waiting,
    unfinishedCount: () => unfinishedCount,
    giveUp: () => gaveUp.abort(),
  };
}

function emitSettled(events: OutboxOptions['events'], job: ClaimedJob, settlement: Settlement): void {
  events.emit('settled', { job, status: settlement.to, settlement });
  if (settlement.error !== null) events.emit('failed', { job, status: settlement.to, settlement });
}
