/** Asks a process of the run how it is, again and again, as whoever restarts or pages asks it, and notes what it says. */
import { systemClock } from '../../packages/core/src/base/clock.ts';
import type { Duly } from '../../packages/core/src/index.ts';
import { readReadiness } from '../../packages/server/src/health/readiness.ts';
import type { HealthReport, HistoryEvent } from '../history.ts';

/** What is watched, and where it is noted. */
export interface HealthWatchOptions {
  duly: Duly;
  /** Also what the server would say of its readiness. */
  hasNodes: boolean;
  write(event: HistoryEvent): void;
  /** The store's time as this process knows it. */
  now(): number;
  /** Its name in the history. */
  node(): string;
}

// Shorter than the shortest outage of a run, so that the answer is given in it.
const patienceMs = 2_000;
const pauseMs = 700;

/** Watches until it is told to stop. It keeps no process alive. */
export function watchHealth({ duly, hasNodes, write, now, node }: HealthWatchOptions): { stop(): void } {
  let isOver = false;

  async function note(
    of: HealthReport['of'],
    look: () => Promise<Pick<HealthReport, 'isBad' | 'reasons'>>,
  ): Promise<void> {
    const askedAt = now();
    const reported = await look();
    if (!isOver) write({ kind: 'health', at: now(), node: node(), of, askedAt, ...reported });
  }

  async function look(): Promise<void> {
    await Promise.all([
      note('health', async () => {
        const { state, checks } = await duly.health({ patience: patienceMs });
        const reasons = checks.filter((check) => check.state === 'failing').map(({ name }) => name);
        return { isBad: state === 'failing', reasons };
      }),
      ...(hasNodes
        ? [
            note('readyz', async () => {
              const { ready, reasons } = await readReadiness({ duly, clock: systemClock });
              return { isBad: !ready, reasons };
            }),
          ]
        : []),
    ]);
    if (!isOver) systemClock.after(pauseMs, () => void look(), { unref: true });
  }

  void look();
  return {
    stop() {
      isOver = true;
    },
  };
}
