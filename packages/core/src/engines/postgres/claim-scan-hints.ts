import type { Clock } from '../../base/clock.ts';
import type { ClaimRequest } from '../../contract/engine.ts';

/** A lane and the lowest rank of its live jobs. */
export interface Lane {
  type: string;
  version: number;
  queue: string;
  rank: number;
}

/** What the scan of a claim found in the lanes. The store reports it after a long scan, and for every claim with hints. */
export interface LaneScan {
  /** Whether the scan began at the lowest rank. */
  isFull: boolean;
  /** Pages of jobs that the scan read. */
  pages: number;
  isAllPromoted: boolean;
  lanes: Lane[];
}

// Scan from 1 s below the last known rank, so that late commits are still found.
const slackMs = 1_000;
// About what a page costs. Pages are counted because the clock of a busy machine measures other processes too.
const pageMs = 0.01;
// A full scan may take a tenth of the time while there is work, and a quarter while a claim finds none.
const busyFactor = 10;
const idleFactor = 4;
// Asking for more lanes one by one costs more than a full scan.
const lanesMax = 200;

/**
 * The rank at which claims of this process begin to scan each lane. While a transaction of another session stays open, index entries of
 * settled jobs remain below the live ones, and a full scan steps over all of them. Hints only choose where to scan first: jobs below them
 * (high priority, late commit) are found by the next full scan, at most ten times later than a full scan takes.
 */
export class ClaimScanHints {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** Lanes of jobs that this process created or claimed, so that lanes which are empty now are known too. */
  readonly #lanes = new Map<string, Lane>();
  #dueAt: number | null = null;
  /** When the last full scan ended and how long it took; null: full scans are too short to save anything. */
  #full: { elapsed: number; tookMs: number } | null = null;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** Remembers a lane in which this process created or claimed jobs. */
  noteLane({ type, version, queue }: Omit<Lane, 'rank'>): void {
    const key = keyOf(type, version, queue);
    if (this.#lanes.size < lanesMax && !this.#lanes.has(key)) {
      this.#lanes.set(key, { type, version, queue, rank: Number.MIN_SAFE_INTEGER });
    }
  }

  /** The claim as it is sent: with hints if they save something. */
  sent(claim: ClaimRequest, { isFull = false } = {}): object {
    if (isFull || this.#full === null || this.#lanes.size >= lanesMax) return claim;
    if (this.#sinceFullMs() > busyFactor * this.#full.tookMs) return claim;
    const types = new Set(claim.tasks.map(({ type }) => type));
    const lanes = [...this.#lanes.values()].filter(({ type }) => types.has(type));
    return { ...claim, scanHints: { lanes, dueAt: this.#dueAt } };
  }

  /** Updates the hints from the reply to a claim. */
  update(claim: ClaimRequest, now: number, scanned: LaneScan | null | undefined): void {
    if (scanned === null || scanned === undefined) {
      // The store reports nothing after a short full scan.
      if (this.#full !== null && this.#sinceFullMs() > busyFactor * this.#full.tookMs) this.#full = null;
      return;
    }
    for (const lane of scanned.lanes) this.noteLane(lane);
    const liveRanks = new Map(
      scanned.lanes.map((lane) => [keyOf(lane.type, lane.version, lane.queue), lane.rank]),
    );
    const tasks = new Map(claim.tasks.map((task) => [task.type, task]));
    for (const [key, lane] of this.#lanes) {
      const task = tasks.get(lane.type);
      const rank = liveRanks.get(key);
      // A lane that was not scanned (a paused task, say) looks like an empty one. Its hint is not above what is created now, and a full
      // scan finds the jobs below.
      if (rank !== undefined) lane.rank = rank;
      else if (task !== undefined && lane.version <= task.version) lane.rank = now - slackMs;
    }
    if (scanned.isFull) this.#full = { elapsed: this.#clock.elapsed(), tookMs: scanned.pages * pageMs };
    this.#dueAt = scanned.isAllPromoted ? now - slackMs : null;
  }

  /** How long to wait before a full scan, after a claim with hints found nothing; 0: it may happen now. */
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
