import type { EngineRoom } from '../room.ts';
import { lineOf, type Measure, runRounds } from '../rounds.ts';
import type { Session } from '../session.ts';

/** Fills and drains once to warm up, and once for the figure: no-ops in a second, and the processor time for each. */
export async function drainOnce(
  session: Session,
  { room, count }: { room: EngineRoom; count: number },
): Promise<{ perSecond: number; processorMs: number } | null> {
  if (!session.has('drain')) return null;
  const warmUp = Math.ceil(count / 10);
  await session.ask('fill', warmUp);
  await session.ask('drain', warmUp);
  await session.ask('fill', count);
  const processorMs = async () => (await session.ask('processorMs')) + ((await room.processorMs?.()) ?? 0);
  const beforeMs = await processorMs();
  const tookMs = await session.ask('drain', count);
  return { perSecond: (count / tookMs) * 1_000, processorMs: ((await processorMs()) - beforeMs) / count };
}

/** How fast no-ops are run and recorded, each ending in history. */
export const drain: Measure = {
  name: 'drain',
  title: 'drain no-ops, history kept',
  async run(setup) {
    const count = setup.isQuick ? 8_000 : 40_000;
    // A peer that runs some hundred jobs a second need not run 40,000 of them to show it.
    const peerCount = setup.isQuick ? 100 : 2_000;
    const own = new Set([setup.duly.name, setup.room.bare.name]);
    const rounds = await runRounds(setup, (session, _, entrant) =>
      drainOnce(session, {
        room: setup.room,
        count: own.has(entrant.name) || entrant.isFast === true ? count : peerCount,
      }),
    );
    return [
      lineOf(setup, rounds, 'perSecond', {
        measure: 'drain',
        title: `drain ${count.toLocaleString('en-US')} no-ops, history kept`,
        unit: 'per second',
        isMoreBetter: true,
        target: setup.room.targets.drain,
      }),
      lineOf(setup, rounds, 'processorMs', {
        measure: 'drain',
        title: '  processor time for each, store included',
        unit: 'ms',
        isMoreBetter: false,
        target: null,
      }),
    ];
  },
};
