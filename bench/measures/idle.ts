import type { IdleCost } from '../contestant.ts';
import type { PeerFigure, Result } from '../result.ts';
import type { Measure, Setup } from '../rounds.ts';
import { type Entrant, openSession, Refused, type Session } from '../session.ts';

/** Asks one contestant on a place of its own; why it could not, if it is a peer. */
async function askOne<Answer>(
  { room, duly }: Setup,
  entrant: Entrant,
  ask: (session: Session) => Promise<Answer>,
): Promise<Answer | string> {
  const place = await room.createPlace();
  try {
    const session = await openSession(entrant, place);
    try {
      return await ask(session);
    } finally {
      await session.close();
    }
  } catch (error) {
    if (entrant === duly || !(error instanceof Refused)) throw error;
    return error.message;
  } finally {
    await place.remove();
  }
}

/** What a node with nothing to do costs. All at once: each counts its own processor time, and none takes much. */
export const idle: Measure = {
  name: 'idle',
  title: 'an idle node',
  async run(setup) {
    const { duly, peers, isQuick, progress } = setup;
    // A multiple of the heartbeats and looks of a node, so that the window holds as many of each as any other.
    const forMs = isQuick ? 5_000 : 30_000;
    progress.step(`everyone, for ${forMs / 1_000} s`);
    const costOf = (session: Session) => session.ask('idle', forMs);
    const [cost, statements, ...peerCosts] = (await Promise.all([
      askOne(setup, duly, costOf),
      askOne(setup, duly, (session) => session.ask('idleStatements', forMs)),
      ...peers.map((peer) => askOne(setup, peer, costOf)),
    ])) as [IdleCost, number, ...(IdleCost | string)[]];
    // A short window holds a heartbeat or none, by chance: it says nothing about the cost of one.
    const judged = isQuick ? { notJudged: 'in so short a window' } : {};
    const rest = { measure: 'idle', isMoreBetter: false, bare: null, ratio: null } as const;
    const results: Result[] = [
      {
        ...rest,
        title: 'idle node: statements',
        unit: 'per second',
        duly: statements,
        peers: [],
        target: { text: '≤ 1 a second', of: 'value', atMost: 1, ...judged },
      },
      {
        ...rest,
        title: 'idle node: calls of the engine',
        unit: 'per second',
        duly: cost.callsPerSecond,
        peers: [],
        target: null,
      },
      {
        ...rest,
        title: 'idle node: processor',
        unit: '%',
        duly: cost.cpuPercent,
        peers: peers.map(({ name }, i): PeerFigure => {
          const one = peerCosts[i] as IdleCost | string;
          return typeof one === 'string' ? { name, value: null, note: one } : { name, value: one.cpuPercent };
        }),
        target: { text: '≤ 0.3 % of a core', of: 'value', atMost: 0.3, ...judged },
      },
    ];
    return results;
  },
};
