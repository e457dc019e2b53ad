import { type Duration, parseDuration } from '../base/duration.ts';
import { type OptionNames, readOptions, readWholeNumber, refuseOption } from '../base/option-reader.ts';
import type { Change } from '../contract/engine.ts';
import type { Feed, FeedFollower, FeedPage } from '../store/feed.ts';

/** One change of one job, as `duly.changes()` tells it. */
export interface FeedChange extends Omit<Change, 'at'> {
  at: Date;
}

/** A page of changes, oldest first. */
export interface ChangesPage {
  changes: FeedChange[];
  /** The place after this page: to be given as `after` to go on from here, also after a restart. */
  position: number;
  /** Changes are missing before this page: they are past their retention. Read the jobs themselves again. */
  gap: boolean;
}

/** From where to follow the changes, and until when. */
export interface ChangesOptions {
  /** The `position` of the last page that was seen; left out: from when the first page is there on. */
  after?: number;
  /** Ends the iteration when aborted. */
  signal?: AbortSignal;
  /**
   * How late a change of another process may be told while nothing else happens: the longer, the less often a quiet store is asked. A function is asked before each
   * wait. Changes of this process, and new jobs, are told at once all the same. Default 200 ms.
   */
  idle?: Duration | (() => Duration);
}

const changesNames: OptionNames<ChangesOptions> = { after: true, signal: true, idle: true };

/** Follows a feed as an iterator of pages. */
export function readChanges(
  given: ChangesOptions | undefined,
  feed: () => Promise<Feed>,
): AsyncIterableIterator<ChangesPage> {
  const { after, signal, idle } = readOptions(given, 'changes()', changesNames);
  const idleMs = readIdle(idle);
  const from = after === undefined ? null : readWholeNumber(after, 'after', 0, Number.MAX_SAFE_INTEGER);
  if (signal !== undefined && !(signal instanceof AbortSignal))
    refuseOption('signal', signal, 'to be an AbortSignal');
  const ended: IteratorResult<ChangesPage> = { done: true, value: undefined };
  let isEnded = signal?.aborted ?? false;
  let following: Promise<FeedFollower> | null = null;

  function end(): void {
    isEnded = true;
    signal?.removeEventListener('abort', end);
    following?.then(
      (follower) => follower.close(),
      () => {},
    );
  }
  signal?.addEventListener('abort', end, { once: true });

  return {
    async next() {
      if (isEnded) return ended;
      following ??= feed().then((opened) => opened.follow(from, idleMs));
      try {
        const page = await (await following).next();
        if (page !== null) return { done: false, value: toPage(page) };
      } catch (error) {
        end();
        throw error;
      }
      end();
      return ended;
    },
    async return() {
      end();
      return ended;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function readIdle(idle: ChangesOptions['idle']): (() => number) | undefined {
  if (idle === undefined) return undefined;
  if (typeof idle === 'function') return () => parseDuration(idle(), 'idle');
  const ms = parseDuration(idle, 'idle');
  return () => ms;
}

function toPage({ changes, position, gap }: FeedPage): ChangesPage {
  return { changes: changes.map((change) => ({ ...change, at: new Date(change.at) })), position, gap };
}
