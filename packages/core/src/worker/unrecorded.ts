import type { Clock } from '../base/clock.ts';
import type { Outgoing } from './outbox.ts';

/** Outcomes that the store has not recorded yet. */
export interface Unrecorded {
  count(): number;
  /** Whether there are too many of them, or one waits for too long. */
  isBehind(): boolean;
}

/** What they are read from. */
export interface UnrecordedOptions {
  clock: Pick<Clock, 'elapsed'>;
  /** Outcomes that are on their way or wait for an exchange; in each list the oldest is the first. */
  lists(): (readonly Outgoing[])[];
  /** Outcomes in none of the lists. */
  unfinishedCount(): number;
}

// While outcomes cannot be recorded no job is taken: a crash would repeat all of them. Two full exchanges and
// what ends meanwhile are usual.
const countMax = 6_000;
const ageMsMax = 2_000;

/** Creates it. */
export function createUnrecorded({ clock, lists, unfinishedCount }: UnrecordedOptions): Unrecorded {
  const count = (): number => lists().reduce((sum, list) => sum + list.length, unfinishedCount());
  return {
    count,
    isBehind() {
      if (count() > countMax) return true;
      const since = clock.elapsed() - ageMsMax;
      return lists().some(([oldest]) => oldest !== undefined && oldest.decidedElapsed < since);
    },
  };
}
