/** Which runs of a schedule were unfinished at any point of a history, told by the history alone. */
import type { ActiveRun, Origin } from '../../packages/core/src/contract/engine.ts';
import { isTerminal, type JobStatus } from '../../packages/core/src/contract/job-status.ts';
import type { StoredRetry } from '../../packages/core/src/lifecycle/retry.ts';
import type { CreatedJob, Evidence, HistoryEvent } from '../history.ts';

interface Turn {
  /** Index of the event after which it holds. */
  index: number;
  at: number;
  status: JobStatus;
  /** It was over, and was brought back. */
  isBack?: boolean;
}

interface Run {
  job: CreatedJob;
  turns: Turn[];
  /** When it was asked to cancel while it ran; brought back, it is not any more. */
  asked: { index: number; at: number | null }[];
}

/** The end of a run without an event of its own: its start deadline passed, or an attempt failed after its job was asked to cancel. */
interface SilentEnd {
  at: number;
  status: JobStatus;
}

/** A run as the history knows it. */
export interface SeenRuns {
  active: ActiveRun[];
  /** How a run ended, if it is over and still known. */
  endOf(id: string): { id: string; status: JobStatus; finishedAt: number } | null;
}

/** Where a reader may have looked: right after an event, by the store's clock. */
export interface Moment {
  index: number;
  at: number;
}

/** The runs of all schedules over a history. */
export class Runs {
  readonly #events: readonly HistoryEvent[];
  readonly #bySchedule = new Map<string, Run[]>();
  readonly #byId = new Map<string, Run>();
  readonly #deleted = new Map<string, number>();
  readonly #silentEnds: Map<string, SilentEnd[]>;

  constructor(evidence: Evidence) {
    this.#events = evidence.events;
    this.#silentEnds = allEnds(evidence.final);
    const accepted = new Set<string>();
    // Whether a run that is asked to cancel ends at once depends on whether it runs, so they come in their place.
    const unnoted = evidence.isComplete ? [] : unnotedClaims(evidence);
    for (const [index, event] of evidence.events.entries()) {
      const { at } = event;
      while ((unnoted[0]?.at ?? Number.POSITIVE_INFINITY) < at) {
        const claim = unnoted.shift() as (typeof unnoted)[number];
        if (!isTerminal(this.#byId.get(claim.id)?.turns.at(-1)?.status ?? 'COMPLETED'))
          this.#turn(claim.id, { index: index - 1, at: claim.at, status: 'RUNNING' });
      }
      switch (event.kind) {
        case 'fired':
        case 'applied': {
          if (event.result !== 'fired' && event.result !== 'applied') break;
          for (const { id, mode } of event.cancel) this.#ask(id, mode, index, at);
          if (event.kind === 'applied' && event.spec === null) this.#unschedule(event.scheduleId, index, at);
          for (const job of event.jobs) this.#add(job, index, at);
          break;
        }
        case 'claimed':
          this.#turn(event.id, { index, at, status: 'RUNNING' });
          break;
        case 'settled':
          // What was sent again after an unknown outcome may be the first that arrived.
          if (event.result === 'done' && !accepted.has(`${event.id}/${event.fence}`)) {
            accepted.add(`${event.id}/${event.fence}`);
            this.#turn(event.id, { index, at, status: event.to });
          }
          break;
        case 'changed':
          if (event.verb === 'delete' || event.verb === 'discard') {
            if (event.result === 'changed') this.#deleted.set(event.id, index);
          } else if (event.verb === 'retry' && event.result === 'changed') {
            this.#turn(event.id, { index, at, status: event.status ?? 'PENDING', isBack: true });
            this.#byId.get(event.id)?.asked.push({ index, at: null });
          } else if (event.verb === 'terminate' && event.result === 'changed') {
            this.#turn(event.id, { index, at, status: 'CANCELLED' });
          } else if (event.verb === 'cancel' && event.result === 'changed') {
            this.#turn(event.id, { index, at, status: 'CANCELLED' });
          } else if (event.verb === 'cancel' && event.result === 'asked') {
            this.#byId.get(event.id)?.asked.push({ index, at });
          }
          break;
      }
    }
    if (!evidence.isComplete) this.#addUnnoted(evidence);
    this.#dropNotedEnds();
  }

  #dropNotedEnds(): void {
    for (const [id, ends] of this.#silentEnds) {
      const turns = this.#byId.get(id)?.turns ?? [];
      const isNoted = (end: SilentEnd): boolean =>
        turns.some(({ at, status }) => at === end.at && isTerminal(status));
      const unnoted = ends.filter((end) => !isNoted(end));
      this.#silentEnds.set(id, unnoted);
    }
  }

  /** What a process that was killed did not note any more, by the jobs' own record. */
  #addUnnoted({ events, final }: Evidence): void {
    const settled = new Set<number>();
    for (const event of events) {
      if (event.kind === 'settled' && event.result === 'done') settled.add(event.fence);
    }
    const indexAt = (at: number): number => {
      let [low, high] = [0, events.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((events[middle]?.at ?? at) <= at) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    };
    for (const job of final.jobs) {
      if (job.slot === null) continue;
      const { id, type, policy, serial, tenant, slot, origin, createdAt, attempts } = job;
      const { queue, version, priority, maxAttempts } = job;
      if (!this.#byId.has(id)) {
        const created = {
          id,
          type,
          dueAt: job.dueAt,
          timeoutMs: policy.timeoutMs,
          retry: policy.retry as StoredRetry,
          gates: [],
          startDeadlineMs: job.expireAt === null ? null : job.expireAt - job.dueAt,
          input: job.input,
          ...{ queue, version, priority, maxAttempts },
          // Not told by a job; nobody asks for it here.
          rankOffsetMs: 0,
          delivery: policy.delivery,
          serial,
          tenant,
          child: null,
          dedupe: null,
          origin,
        };
        const { scheduleId, generation, slotAt, fireId, allow = false, details } = slot;
        const createdSlot = { scheduleId, generation, slotAt, fireId, allow, details };
        this.#add({ ...created, slot: createdSlot }, indexAt(createdAt), createdAt);
      }
      const turns = this.#byId.get(id)?.turns as Turn[];
      for (const [i, { fence, startedAt, endedAt }] of attempts.entries()) {
        const isKnown = turns.some(({ at, status }) => at === startedAt && status === 'RUNNING');
        if (!isKnown) turns.push({ index: indexAt(startedAt), at: startedAt, status: 'RUNNING' });
        if (settled.has(fence) || endedAt === null) continue;
        const status = i === attempts.length - 1 ? job.status : 'RETRYING';
        turns.push({ index: indexAt(endedAt), at: endedAt, status });
      }
      turns.sort((one, other) => one.index - other.index || one.at - other.at);
    }
    // The store tells of the oldest, in the order in which they were made; those made by one pass have rising ids.
    for (const runs of this.#bySchedule.values()) {
      const createdIndex = ({ turns: [created] }: Run): number => created?.index ?? 0;
      runs.sort(
        (one, other) => createdIndex(one) - createdIndex(other) || (one.job.id < other.job.id ? -1 : 1),
      );
    }
  }

  /** The points in a span of events at which a run of the schedule changed, and its ends: where a reader may have looked. */
  pointsBetween(scheduleId: string, fromIndex: number, toIndex: number): number[] {
    const points = new Set([fromIndex, toIndex]);
    for (const run of this.#bySchedule.get(scheduleId) ?? []) {
      for (const { index } of run.turns) if (index > fromIndex && index < toIndex) points.add(index);
    }
    for (const index of this.#deleted.values()) if (index > fromIndex && index < toIndex) points.add(index);
    return [...points].sort((one, other) => one - other);
  }

  /** The same points with every instant that differs: the clock goes on between two events, and a run may end silently meanwhile. */
  momentsBetween(scheduleId: string, from: Moment, to: Moment): Moment[] {
    const instants = [from.at, to.at];
    for (const run of this.#bySchedule.get(scheduleId) ?? [])
      for (const { at } of this.#silentEnds.get(run.job.id) ?? [])
        if (at > from.at && at < to.at) instants.push(at);
    const points = this.pointsBetween(scheduleId, from.index, to.index);
    return points.flatMap((index, i) => {
      const next = points[i + 1];
      const firstAt = Math.max(from.at, this.#events[index]?.at ?? 0);
      const lastAt = next === undefined ? to.at : (this.#events[next]?.at ?? to.at);
      const within = instants.filter((at) => at > firstAt && at <= lastAt);
      return [...new Set([firstAt, ...within])].map((at) => ({ index, at }));
    });
  }

  /** Instants of silent ends, which may be seen or not by a reader of the same millisecond. */
  isAmbiguous(scheduleId: string, at: number): boolean {
    return (this.#bySchedule.get(scheduleId) ?? []).some((run) =>
      this.#silentEnds.get(run.job.id)?.some((end) => end.at === at),
    );
  }

  /**
   * What a reader saw right after an event. `isLate`: it saw what happened silently in the same millisecond. The runs of a claimed
   * schedule are in the order in which they were stored.
   */
  seenAt(scheduleId: string, { index, at }: Moment, isLate: boolean): SeenRuns {
    const active: ActiveRun[] = [];
    for (const run of this.#bySchedule.get(scheduleId) ?? []) {
      const status = this.#statusOf(run, index, at, isLate);
      if (status === null || isTerminal(status) || run.job.slot?.allow === true) continue;
      active.push({
        id: run.job.id,
        status,
        slotAt: run.job.slot?.slotAt ?? null,
        origin: run.job.origin as Origin,
        dueAt: run.job.dueAt,
        cancelRequestedAt: run.asked.filter((one) => one.index <= index).at(-1)?.at ?? null,
      });
    }
    return {
      active,
      endOf: (id) => {
        const run = this.#byId.get(id);
        if (run === undefined) return null;
        const status = this.#statusOf(run, index, at, isLate);
        if (status === null || !isTerminal(status)) return null;
        const last = run.turns.filter((turn) => turn.index <= index).at(-1) as Turn;
        const finishedAt = isTerminal(last.status) ? last.at : (this.#silentEndAfter(run, last)?.at ?? at);
        return { id, status, finishedAt };
      },
    };
  }

  /** The same runs in the order of a list: runs that were stored in one millisecond are ordered by id. */
  asListed(active: readonly ActiveRun[]): ActiveRun[] {
    const storedAt = ({ id }: ActiveRun): number => this.#byId.get(id)?.turns[0]?.at ?? 0;
    return [...active].sort((one, other) => storedAt(one) - storedAt(other) || (one.id < other.id ? -1 : 1));
  }

  #statusOf(run: Run, index: number, at: number, isLate: boolean): JobStatus | null {
    const deletedIndex = this.#deleted.get(run.job.id);
    if (deletedIndex !== undefined && deletedIndex <= index) return null;
    const last = run.turns.filter((turn) => turn.index <= index).at(-1);
    if (last === undefined) return null;
    if (isTerminal(last.status)) return last.status;
    const end = this.#silentEndAfter(run, last);
    const isOver = end !== undefined && (isLate ? end.at <= at : end.at < at);
    return isOver ? end.status : last.status;
  }

  /** The silent end that follows a turn. A run that was brought back ended before, at the latest in the same millisecond. */
  #silentEndAfter({ job }: Run, { at, isBack = false }: Turn): SilentEnd | undefined {
    return this.#silentEnds.get(job.id)?.find((end) => end.at > at || (end.at === at && !isBack));
  }

  #add(job: CreatedJob, index: number, at: number): void {
    const run: Run = { job, turns: [{ index, at, status: 'PENDING' }], asked: [] };
    this.#byId.set(job.id, run);
    const id = job.slot?.scheduleId;
    if (id !== undefined) this.#bySchedule.set(id, [...(this.#bySchedule.get(id) ?? []), run]);
  }

  #turn(id: string, turn: Turn): void {
    this.#byId.get(id)?.turns.push(turn);
  }

  #ask(id: string, mode: 'ask' | 'terminate', index: number, at: number): void {
    const run = this.#byId.get(id);
    const status = run?.turns.at(-1)?.status;
    if (run === undefined || status === undefined || isTerminal(status) || this.#wasOver(run, at)) return;
    if (mode === 'terminate' || status !== 'RUNNING') this.#turn(id, { index, at, status: 'CANCELLED' });
    else run.asked.push({ index, at });
  }

  /** A deleted schedule's unstarted jobs go with it. */
  #unschedule(scheduleId: string, index: number, at: number): void {
    for (const run of this.#bySchedule.get(scheduleId) ?? []) {
      const status = run.turns.at(-1)?.status;
      if (status !== 'PENDING' || !this.#isUnstarted(run.turns) || this.#wasOver(run, at)) continue;
      this.#turn(run.job.id, { index, at, status: 'CANCELLED' });
    }
  }

  /** Whether it had ended silently before. */
  #wasOver(run: Run, at: number): boolean {
    const end = this.#silentEndAfter(run, run.turns.at(-1) as Turn);
    return end !== undefined && end.at < at;
  }

  #isUnstarted(turns: Turn[]): boolean {
    return turns.every(({ status }) => status !== 'RUNNING');
  }
}

/** All ends of runs. The feed also has those of runs that were deleted or brought back since. */
function allEnds({ feed, jobs }: Evidence['final']): Map<string, SilentEnd[]> {
  const ends = new Map<string, SilentEnd[]>();
  const add = (id: string, end: SilentEnd): void => void ends.set(id, [...(ends.get(id) ?? []), end]);
  if (feed !== undefined) {
    for (const { id, at, event, status } of feed)
      if (event !== 'deleted' && isTerminal(status)) add(id, { at, status });
    return ends;
  }
  for (const { id, finishedAt, status } of jobs) if (finishedAt !== null) add(id, { at: finishedAt, status });
  return ends;
}

/** Claims of the runs of schedules that a killed process did not note, by the jobs' own record, in their order. */
function unnotedClaims({ events, final }: Evidence): { id: string; at: number }[] {
  const noted = new Set<string>();
  for (const event of events) if (event.kind === 'claimed') noted.add(`${event.id}/${event.at}`);
  return final.jobs
    .filter(({ slot }) => slot !== null)
    .flatMap(({ id, attempts }) => attempts.map(({ startedAt }) => ({ id, at: startedAt })))
    .filter(({ id, at }) => !noted.has(`${id}/${at}`))
    .sort((one, other) => one.at - other.at);
}
