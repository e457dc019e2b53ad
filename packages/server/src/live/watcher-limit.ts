import { DulyError } from '@duly/core';

/** Bounds the watchers of one server, and how many of them one key may have. */
export interface WatcherLimit {
  /** Counts a watcher of this caller until the returned function is called. Throws `too_many_watchers`. */
  admit(actor: string): () => void;
}

/** Creates the limit. `count` is how many watchers the server has. */
export function createWatcherLimit({
  watchersMax,
  count,
}: {
  watchersMax: number;
  count(): number;
}): WatcherLimit {
  // A quarter each, so that one key cannot lock out the others.
  const keyWatchersMax = Math.max(1, Math.floor(watchersMax / 4));
  const countOf = new Map<string, number>();

  function release(actor: string): void {
    const left = (countOf.get(actor) ?? 1) - 1;
    if (left === 0) countOf.delete(actor);
    else countOf.set(actor, left);
  }

  return {
    admit(actor) {
      const keyCount = countOf.get(actor) ?? 0;
      if (keyCount >= keyWatchersMax) {
        throw new DulyError('too_many_watchers', {
          message: `The key has ${keyWatchersMax} watchers on this server, the most that one key may have.`,
          hint: 'Close streams that are not needed, or follow many jobs with one stream of GET /api/events.',
          details: { watchersMax, keyWatchersMax },
        });
      }
      if (count() >= watchersMax) {
        throw new DulyError('too_many_watchers', {
          message: `${watchersMax} watchers are connected to this server, and it takes no more.`,
          hint: 'Come back later, or ask another server of the same store.',
          details: { watchersMax, keyWatchersMax },
        });
      }
      countOf.set(actor, keyCount + 1);
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        release(actor);
      };
    },
  };
}
