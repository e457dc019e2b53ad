import type { Clock } from '../base/clock.ts';
import { replyElapsed } from '../base/reply-elapsed.ts';
import type { ExchangeReply } from '../contract/engine.ts';

type DueReply = Pick<ExchangeReply, 'now' | 'nextDueAt'>;

/** When the next job falls due, by the newest reply of the store. Exchanges that are sent side by side share it. */
export interface NextDue {
  /** Learns from a reply, unless a newer one is known. `isMore`: more jobs are due already than it brought. */
  learn(reply: DueReply, options: { isMore: boolean; sentElapsed: number; arrivedElapsed: number }): void;
  /** By the monotonic clock; null: none is known, or there is more to do than to wait for it. */
  dueElapsed(): number | null;
  /** How long to wait after this reply, if nothing is due: null as long as possible. */
  waitMs(reply: DueReply): number | null;
}

/** Creates it; nothing is known yet. */
export function createNextDue(clock: Pick<Clock, 'elapsed'>): NextDue {
  /** The store's instant of the newest reply. */
  let newestAt = 0;
  let dueElapsed: number | null = null;

  return {
    learn({ now, nextDueAt }, { isMore, sentElapsed, arrivedElapsed }) {
      if (now < newestAt) return;
      newestAt = now;
      const isCalm = !isMore && nextDueAt !== null && nextDueAt > now;
      dueElapsed = isCalm ? replyElapsed(sentElapsed, arrivedElapsed) + nextDueAt - now : null;
    },
    dueElapsed: () => dueElapsed,
    waitMs({ now, nextDueAt }) {
      // The newest reply counts: the job that an older one announced may be claimed by now.
      if (dueElapsed === null) return now < newestAt && nextDueAt !== null ? 0 : null;
      return Math.max(0, dueElapsed - clock.elapsed());
    },
  };
}
