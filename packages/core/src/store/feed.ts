import type { Clock, Timer } from '../base/clock.ts';
import type { ChangesReply, Engine } from '../contract/engine.ts';
import { isStoreTrouble } from './batcher.ts';

/** A page of the feed: what changed, in order, and the place to go on from. */
export type FeedPage = Pick<ChangesReply, 'changes' | 'position' | 'gap'>;

/** Follows the feed from one place on. Its pages are taken one at a time; one that is slow costs no memory and misses nothing. */
export interface FeedFollower {
  /** The next page; the first comes at once and names the place, also when nothing changed. null: it was closed. */
  next(): Promise<FeedPage | null>;
  close(): void;
}

/** The store's feed of changes, for any number of followers with one tail: they cost the store what one costs. */
export interface Feed {
  /** `after` null: from when its first page is there on. `idleMs`: how late it may hear of changes elsewhere while nothing else happens. */
  follow(after: number | null, idleMs?: () => number): FeedFollower;
  /** Something has just changed in this process: looks soon instead of at the end of its wait. */
  nudge(): void;
  /** Ends all followers with this error; null: without one. */
  close(error: unknown): void;
}

// Reads are at least this far apart: a store in which much happens is read in pages and not change by change.
const gapMsMin = 20;
// While nothing changes the tail looks ever later: an end in a quiet store is seen within a fifth of a second, for five small reads a second. Whoever
// can wait for longer says so; the least patient decides.
const idleMsDefault = 200;
const failureWaitMs = 250;
const pageSize = 1_000;
/** Changes that wait for one follower. Beyond it they are left in the store, where it reads them when it comes to it. */
export const bufferedMax = 10_000;

/** Makes a feed. It asks nothing while nobody follows. */
export function createFeed(engine: Pick<Engine, 'changes' | 'subscribe'>, clock: Clock): Feed {
  return new TailedFeed(engine, clock);
}

/** One follower's place and what waits for it. */
class Follower implements FeedFollower {
  readonly #feed: TailedFeed;
  /** Everything up to here is in its pages; null: not known yet. */
  position: number | null;
  readonly idleMs: () => number;
  /** Gets what the tail reads. Otherwise it reads what it has not seen from the store, when it is asked for. */
  isLive = false;
  #pages: FeedPage[] = [];
  #count = 0;
  #isFirst = true;
  #waiting: PromiseWithResolvers<FeedPage | null> | null = null;
  #end: { error: unknown } | null = null;

  constructor(feed: TailedFeed, after: number | null, idleMs: () => number) {
    this.#feed = feed;
    this.position = after;
    this.idleMs = idleMs;
  }

  /** Whether it should be read for now. */
  get isBehind(): boolean {
    return !this.isLive && this.#waiting !== null;
  }

  next(): Promise<FeedPage | null> {
    const page = this.#pages.shift();
    if (page !== undefined) {
      this.#count -= page.changes.length;
      return Promise.resolve(page);
    }
    if (this.#end !== null) {
      return this.#end.error === null ? Promise.resolve(null) : Promise.reject(this.#end.error);
    }
    this.#waiting ??= Promise.withResolvers();
    this.#feed.run();
    return this.#waiting.promise;
  }

  /** Takes in what is new of a page. */
  give({ changes, position, gap }: FeedPage): void {
    const from = this.position ?? Number.NEGATIVE_INFINITY;
    const isNew = gap || changes[0] === undefined || changes[0].position > from;
    const fresh = isNew ? changes : changes.filter((change) => change.position > from);
    this.position = gap ? position : Math.max(position, from);
    if (fresh.length === 0 && !gap && !this.#isFirst) return;
    this.#isFirst = false;
    const page = { changes: fresh, position: this.position, gap };
    if (this.#waiting !== null) {
      this.#waiting.resolve(page);
      this.#waiting = null;
      return;
    }
    this.#pages.push(page);
    this.#count += fresh.length;
    if (this.#count > bufferedMax) this.isLive = false;
  }

  end(error: unknown): void {
    if (this.#end !== null) return;
    this.#end = { error };
    if (this.#waiting === null) return;
    if (error === null) this.#waiting.resolve(null);
    else this.#waiting.reject(error);
    this.#waiting = null;
  }

  close(): void {
    this.#pages = [];
    this.end(null);
    this.#feed.leave(this);
  }
}

class TailedFeed implements Feed {
  readonly #engine: Pick<Engine, 'changes' | 'subscribe'>;
  readonly #clock: Clock;
  readonly #followers = new Set<Follower>();
  /** How far the tail has read; null: it does not run. */
  #position: number | null = null;
  #isRunning = false;
  #end: { error: unknown } | null = null;
  #gapMs = gapMsMin;
  /** When the tail last read. */
  #readElapsed = Number.NEGATIVE_INFINITY;
  #isNudged = false;
  /** Makes the present wait end after so long, if that is sooner; null: the tail does not wait. */
  #setAlarm: ((ms: number) => void) | null = null;

  constructor(engine: Pick<Engine, 'changes' | 'subscribe'>, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  follow(after: number | null, idleMs: () => number = () => idleMsDefault): Follower {
    const follower = new Follower(this, after, idleMs);
    if (this.#end !== null) follower.end(this.#end.error);
    else this.#followers.add(follower);
    return follower;
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
    // Nobody is left: the tail ends now and not after its wait, so that it keeps no process alive.
    if (this.#followers.size === 0) this.#setAlarm?.(0);
  }

  nudge(): void {
    this.#isNudged = true;
    this.#setAlarm?.(Math.max(0, this.#readElapsed + gapMsMin - this.#clock.elapsed()));
  }

  close(error: unknown): void {
    this.#end = { error };
    for (const follower of [...this.#followers]) follower.end(error);
    this.#followers.clear();
    this.#setAlarm?.(0);
  }

  /** Runs as long as somebody follows. */
  run(): void {
    if (this.#isRunning) {
      if (this.#hasBehind()) this.nudge();
      return;
    }
    this.#isRunning = true;
    void this.#loop().finally(() => {
      this.#isRunning = false;
      this.#position = null;
      // Somebody came while it ended.
      if (this.#hasBehind()) this.run();
    });
  }

  #hasBehind(): boolean {
    for (const follower of this.#followers) if (follower.isBehind) return true;
    return false;
  }

  async #loop(): Promise<void> {
    const off = this.#engine.subscribe(({ kind }) => {
      if (kind === 'jobs' || kind === 'cancel') this.nudge();
    });
    try {
      while (this.#followers.size > 0) {
        try {
          await this.#pass();
        } catch (error) {
          if (!isStoreTrouble(error)) {
            for (const follower of [...this.#followers]) follower.end(error);
            this.#followers.clear();
            return;
          }
          // A store that is away for a moment. Every place is kept, so nothing is missed.
          await this.#wait(failureWaitMs);
        }
      }
    } finally {
      off();
    }
  }

  async #pass(): Promise<void> {
    if (this.#position === null) {
      const { position } = await this.#engine.changes({ after: null, limit: 1 });
      this.#position = position;
    }
    this.#join(this.#position);
    const served = await this.#serveBehind();
    this.#isNudged = false;
    this.#readElapsed = this.#clock.elapsed();
    const page = await this.#engine.changes({ after: this.#position, limit: pageSize });
    this.#position = page.position;
    for (const follower of this.#followers) if (follower.isLive) follower.give(page);
    if (served || page.changes.length >= pageSize) return;
    const isQuiet = page.changes.length === 0 && !this.#isNudged;
    this.#gapMs = isQuiet ? Math.min(this.#gapMs * 1.5, this.#idleMs()) : gapMsMin;
    await this.#wait(Math.max(0, this.#readElapsed + this.#gapMs - this.#clock.elapsed()));
  }

  /** As long as the least patient of all who follow can wait. */
  #idleMs(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const follower of this.#followers) least = Math.min(least, follower.idleMs());
    return Math.max(gapMsMin, least);
  }

  /** Those that came without a place begin where the tail is: at this moment, or a little before. */
  #join(position: number): void {
    for (const follower of this.#followers) {
      if (follower.position !== null) continue;
      follower.isLive = true;
      follower.give({ changes: [], position, gap: false });
    }
  }

  /**
   * Reads one page for those who are behind, beginning with the one that is furthest. All whose place lies on it go along, so a thousand
   * that come back together after a restart cost what one costs. Tells whether there is more to read for them.
   */
  async #serveBehind(): Promise<boolean> {
    const behind = [...this.#followers].filter((follower) => follower.isBehind);
    if (behind.length === 0) return false;
    const tail = this.#position as number;
    const after = Math.min(...behind.map((follower) => follower.position as number));
    if (after > tail) {
      // A place that this store has not reached: it belongs to another store, or to one that was put back from a copy.
      const { position } = await this.#engine.changes({ after: null, limit: 1 });
      for (const follower of behind) {
        follower.isLive = true;
        if ((follower.position as number) > position)
          follower.give({ changes: [], position: tail, gap: true });
      }
      return false;
    }
    const page = await this.#engine.changes({ after, limit: pageSize });
    // Read after the tail's place was: an empty page says that there is nothing up to there.
    const isAtTail = page.position >= tail || page.changes.length === 0;
    const position = isAtTail ? Math.max(page.position, tail) : page.position;
    for (const follower of behind) {
      if ((follower.position as number) > position) continue;
      // What the tail reads a second time is left out.
      if (isAtTail) follower.isLive = true;
      follower.give({ ...page, position });
    }
    return behind.some((follower) => !follower.isLive);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      let untilElapsed = Number.POSITIVE_INFINITY;
      let timer: Timer | null = null;
      const end = (): void => {
        this.#setAlarm = null;
        timer?.cancel();
        resolve();
      };
      this.#setAlarm = (afterMs) => {
        const atElapsed = this.#clock.elapsed() + afterMs;
        if (atElapsed >= untilElapsed) return;
        untilElapsed = atElapsed;
        timer?.cancel();
        if (afterMs <= 0) end();
        else timer = this.#clock.after(afterMs, end);
      };
      this.#setAlarm(ms);
    });
  }
}
