import type { Clock } from '../../base/clock.ts';

/** Replaces the time that a call may take, from now on. */
export type Allow = (ms: number) => void;

/**
 * Runs `use` for at most `ms`, or as long as it allows itself. After that it rejects and calls `giveUp`,
 * because a server that was cut off without a message never answers.
 */
export function withinTime<Result>(
  clock: Clock,
  ms: number,
  use: (allow: Allow) => Promise<Result>,
  giveUp: (afterMs: number) => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const limit = (limitMs: number) =>
      clock.after(limitMs, () => {
        giveUp(limitMs);
        reject(new Error(`no answer within ${limitMs} ms`));
      });
    let timer = limit(ms);
    const allow = (limitMs: number): void => {
      timer.cancel();
      timer = limit(limitMs);
    };
    use(allow)
      .then(resolve, reject)
      .finally(() => timer.cancel());
  });
}
