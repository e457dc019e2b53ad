import type { Clock } from '../../base/clock.ts';
import type { ClaimRequest } from '../../contract/engine.ts';

/** A lane and the lowest rank that lives in it. */
export interface Lane {
  type: string;
  version: number;
  queue: string;
  rank: number;
}

/** What a claim found out about the lanes; the store tells it when a look was long, and whenever it was asked with floors. */
export interface Looked {
  /** Whether it looked from the bottom. */
  isFull: boolean;
  /** Pages of jobs that it read to find out. */
  pages: number;
  isAllPromoted: boolean;
  lanes: Lane[];
}

// Whoever looks up from where nothing has been for so long meets all that was made meanwhile, also by transactions that took a moment.
const slackMs = 1_000;
// What a page costs, about. By the count and not by the clock, which on a busy machine tells who else was running.
const pageMs = 0.01;
// A look from the bottom may take a tenth of the time while there is work, and a quarter while there seems to be none.
const busyFactor = 10;
const idleFactor = 4;
// More are not worth asking for one by one.
const lanesMax = 200;

/**
 * Where claims of this process begin to look. While somebody's transaction is old, entries of jobs that are long gone stay in the indexes
 * below the living, and every look from the bottom steps over all of them. So the lowest living rank of each lane is kept in mind, and the
 * next claims begin there. It is only where to look first: what came in below (a high priority, a commit that came late) is found by the next
 * look from the bottom, which is never further away than ten times what it costs.
 */
export class Floors {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** Lanes that jobs were made for or taken from here, so that those that are empty now are known too. */
  readonly #lanes = new Map<string, Lane>();
  #dueAt: number | null = null;
  /** When the last look from the bottom ended, and how long it took; null: they take no time worth saving. */
  #full: { elapsed: number; tookMs: number } | null = null;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** Jobs of this lane were made or taken here. */
  meet({ type, version, queue }: Omit<Lane, 'rank'>): void {
    const key = keyOf(type, version, queue);
    if (this.#lanes.size < lanesMax && !this.#lanes.has(key)) {
      this.#lanes.set(key, { type, version, queue, rank: Number.MIN_SAFE_INTEGER });
    }
  }

  /** A claim as it is sent: with floors, where they save something. */
  sent(claim: ClaimRequest, { isFull = false } = {}): object {
    if (isFull || this.#full === null || this.#lanes.size >= lanesMax) return claim;
    if (this.#sinceFullMs() > busyFactor * this.#full.tookMs) return claim;
    const types = new Set(claim.tasks.map(({ type }) => type));
    const lanes = [...this.#lanes.values()].filter(({ type }) => types.has(type));
    return { ...claim, floors: { lanes, dueAt: this.#dueAt } };
  }

  /** Learns from an answer. */
  learn(claim: ClaimRequest, now: number, looked: Looked | null | undefined): void {
    if (looked === null || looked === undefined) {
      // A look from the bottom that was quick says nothing.
      if (this.#full !== null && this.#sinceFullMs() > busyFactor * this.#full.tookMs) this.#full = null;
      return;
    }
    for (const lane of looked.lanes) this.meet(lane);
    const living = new Map(
      looked.lanes.map((lane) => [keyOf(lane.type, lane.version, lane.queue), lane.rank]),
    );
    const tasks = new Map(claim.tasks.map((task) => [task.type, task]));
    for (const [key, lane] of this.#lanes) {
      const task = tasks.get(lane.type);
      const rank = living.get(key);
      // A lane that was not looked at, because its task is paused for instance, is told of by its absence like an empty one: it begins no
      // higher than what is made now, and what waits in it is found from the bottom.
      if (rank !== undefined) lane.rank = rank;
      else if (task !== undefined && lane.version <= task.version) lane.rank = now - slackMs;
    }
    if (looked.isFull) this.#full = { elapsed: this.#clock.elapsed(), tookMs: looked.pages * pageMs };
    this.#dueAt = looked.isAllPromoted ? now - slackMs : null;
  }

  /** After a claim with floors that found nothing: how long to wait before it may look from the bottom; 0: it may now. */
  waitMs(): number {
    if (this.#full === null) return 0;
    return Math.max(0, idleFactor * this.#full.tookMs - this.#sinceFullMs());
  }

  #sinceFullMs(): number {
    return this.#full === null ? Number.POSITIVE_INFINITY : this.#clock.elapsed() - this.#full.elapsed;
  }
}

function keyOf(type: string, version: number, queue: string): string {
  return `${version} ${queue.length} ${queue}${type}`;
}
