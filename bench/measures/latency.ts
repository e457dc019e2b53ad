import type { ContestantPlace } from '../contestant.ts';
import { type LineOf, lineOf, type Measure, runRounds } from '../rounds.ts';
import type { Entrant } from '../session.ts';
import { openSession, type Session } from '../session.ts';
import { percentile } from '../statistics.ts';

/** How long it takes, as a middle and as a tail. */
export interface Latency extends Record<string, number> {
  /** The quiet moments of a noisy machine. */
  p10: number;
  p50: number;
  p99: number;
}

/** How many are measured, and how many come before, for code that runs in its first minute only half as fast. */
interface Counts {
  count: number;
  warmUp?: number;
}

/** From `now()` to the handler's start in the same process, idle in between. */
export async function latencyHere(
  session: Session,
  { count, warmUp = Math.ceil(count / 5) }: Counts,
): Promise<Latency | null> {
  if (!session.has('latencyHere')) return null;
  await session.ask('latencyHere', warmUp);
  const took = await session.ask('latencyHere', count);
  return { p10: percentile(took, 0.1), p50: percentile(took, 0.5), p99: percentile(took, 0.99) };
}

/** The same, in turns of its own, beside a bare commit that is asked for across a thread, as Duly asks its store. */
async function latencyAcross(session: Session, { count, warmUp }: Required<Counts>): Promise<Latency | null> {
  if (!session.has('latencyAcross')) return latencyHere(session, { count, warmUp });
  await session.ask('latencyAcross', warmUp);
  const took = await session.ask('latencyAcross', count);
  return { p10: percentile(took, 0.1), p50: percentile(took, 0.5), p99: percentile(took, 0.99) };
}

/** From `now()` in one process to the handler's start in another, idle in between. */
export async function latencyThere(
  session: Session,
  place: ContestantPlace,
  entrant: Entrant,
  { count, gapMs, by = 'send' }: { count: number; gapMs: number; by?: 'send' | 'sendInTransaction' },
): Promise<Latency | null> {
  if (!session.has('listen') || !session.has(by)) return null;
  const node = await openSession(entrant, place);
  try {
    await node.ask('listen');
    const warmUp = Math.ceil(count / 5);
    await session.ask(by, warmUp, gapMs);
    await node.ask('received', warmUp);
    const sent = await session.ask(by, count, gapMs);
    const received = await node.ask('received', count);
    const took = sent.map((at, n) => (received[n] as number) - at);
    return { p10: percentile(took, 0.1), p50: percentile(took, 0.5), p99: percentile(took, 0.99) };
  } finally {
    await node.close();
  }
}

const line: Omit<LineOf, 'title' | 'target'> = { measure: 'latency', unit: 'ms', isMoreBetter: false };

/** How soon a job starts on an idle node. */
export const latency: Measure = {
  name: 'latency',
  title: 'now() to handler start',
  async run(setup) {
    const count = setup.isQuick ? 40 : 300;
    // A peer that needs ten times as long for one shows it without.
    const own = new Set([setup.duly.name, setup.room.bare.name]);
    const warmUp = setup.isQuick ? 40 : 1_500;
    const here = await runRounds(setup, (session, _, { name }) =>
      latencyHere(session, { count, ...(own.has(name) && { warmUp }) }),
    );
    const across = await runRounds({ ...setup, peers: [] }, (session) =>
      latencyAcross(session, { count, warmUp }),
    );
    const there = await runRounds(setup, (session, place, entrant) =>
      latencyThere(session, place, entrant, { count, gapMs: 15 }),
    );
    return [
      lineOf(setup, here, 'p50', {
        ...line,
        title: 'now() to start, same process, p50',
        target: { text: '≤ 1.3 × one durable commit', of: 'ratio', atMost: 1.3 },
      }),
      lineOf(setup, here, 'p10', { ...line, title: 'now() to start, same process, p10', target: null }),
      lineOf(setup, here, 'p99', { ...line, title: 'now() to start, same process, p99', target: null }),
      lineOf({ ...setup, peers: [] }, across, 'p50', {
        ...line,
        title: 'the same in turns of its own, beside a commit asked for across a thread, p50',
        target: null,
      }),
      lineOf(setup, there, 'p50', {
        ...line,
        title: 'now() to start, another process, p50',
        target: { text: '≤ 1.3 × bare', of: 'ratio', atMost: 1.3 },
      }),
      lineOf(setup, there, 'p10', { ...line, title: 'now() to start, another process, p10', target: null }),
      lineOf(setup, there, 'p99', { ...line, title: 'now() to start, another process, p99', target: null }),
    ];
  },
};
