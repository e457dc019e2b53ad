import type { ContestantPlace } from './contestant.ts';
import type { Progress } from './progress.ts';
import type { PeerFigure, Result } from './result.ts';
import type { EngineRoom } from './room.ts';
import { type Entrant, openSession, Refused, type Session } from './session.ts';
import { median } from './statistics.ts';

/** What every measure is given. */
export interface Setup {
  room: EngineRoom;
  duly: Entrant;
  /** Empty when the run is without peers. */
  peers: readonly Entrant[];
  /** Whether anybody but Duly and bare is asked for: libraries in the same process too, which need no install. */
  hasPeers: boolean;
  isQuick: boolean;
  /** How often each contestant takes its turn. */
  rounds: number;
  futureCount: number;
  /** How long the sustained load lasts. */
  minutes: number;
  progress: Progress;
  /** Folder for CPU profiles of processes that a measure starts by itself; undefined: none. */
  profile?: string | undefined;
}

/** A measure: one or more lines of the table. */
export interface Measure {
  name: string;
  /** In a sentence, for the progress and the docs. */
  title: string;
  run(setup: Setup): Promise<Result[]>;
}

/** One turn of one contestant on a place of its own: a figure, or several by name. */
export type Turn<Figures extends Record<string, number>> = (
  session: Session,
  place: ContestantPlace,
  entrant: Entrant,
) => Promise<Figures | null>;

/** How rounds are run. */
export interface RoundOptions {
  /** Rounds that peers take part in; the rest is between Duly and bare. Peers are slow and far away. */
  peerRounds?: number;
  /** A place to copy instead of an empty one, for Duly and bare. */
  from?: ContestantPlace;
  hasBare?: boolean;
}

/** The figures of all rounds by contestant. */
export interface Rounds<Figures> {
  of(name: string): Figures[];
  /** Why a contestant took no part. */
  refusals: ReadonlyMap<string, string>;
}

/**
 * Lets the contestants take turns, round after round, each on a fresh place in a fresh process. The order turns around with every
 * round: noise of the machine hits all of them alike, and nobody always follows the same neighbour.
 */
export async function runRounds<Figures extends Record<string, number>>(
  setup: Setup,
  turn: Turn<Figures>,
  { peerRounds = 1, from, hasBare = true }: RoundOptions = {},
): Promise<Rounds<Figures>> {
  const { room, duly, rounds, progress } = setup;
  const peers = from === undefined ? setup.peers : [];
  const figures = new Map<string, Figures[]>();
  const refusals = new Map<string, string>();
  for (let round = 0; round < rounds; round++) {
    const entrants = [duly, ...(hasBare ? [room.bare] : []), ...(round < peerRounds ? peers : [])];
    if (round % 2 === 1) entrants.reverse();
    for (const entrant of entrants) {
      if (refusals.has(entrant.name)) continue;
      progress.step(`round ${round + 1} of ${rounds}, ${entrant.name}`);
      const place =
        from === undefined || !(entrant === duly || entrant === room.bare)
          ? await room.createPlace()
          : await room.copyPlace(from);
      try {
        const session = await openSession(entrant, place);
        try {
          const one = await turn(session, place, entrant);
          if (one === null) refusals.set(entrant.name, 'not offered');
          else figures.set(entrant.name, [...(figures.get(entrant.name) ?? []), one]);
        } finally {
          await session.close();
        }
      } catch (error) {
        // Without Duly or bare there is nothing to say; a peer that cannot is part of the table.
        if (entrant === duly || entrant === room.bare) throw error;
        refusals.set(entrant.name, error instanceof Refused ? error.message : firstLine(error));
      } finally {
        await place.remove();
      }
    }
  }
  return { of: (name) => figures.get(name) ?? [], refusals };
}

function firstLine(error: unknown): string {
  return String((error as Error)?.message ?? error).split('\n', 1)[0] as string;
}

/** What a line of the table is made of, beside the figures. */
export type LineOf = Pick<Result, 'measure' | 'title' | 'unit' | 'isMoreBetter' | 'target'>;

/** Puts one figure of the rounds into a line: medians, and the median of the rounds' own ratios. */
export function lineOf<Figures extends Record<string, number>>(
  { room, duly, peers }: Setup,
  rounds: Rounds<Figures>,
  figure: keyof Figures & string,
  line: LineOf,
): Result {
  const values = (name: string) =>
    rounds
      .of(name)
      .map((one) => one[figure])
      .filter((value): value is Figures[keyof Figures & string] => value !== undefined) as number[];
  const ours = values(duly.name);
  const bare = values(room.bare.name);
  const ratios = ours.slice(0, bare.length).map((value, round) => value / (bare[round] as number));
  return {
    ...line,
    duly: middle(ours),
    bare: middle(bare),
    ratio: middle(ratios),
    peers: peers.map(({ name }): PeerFigure => {
      const value = middle(values(name));
      return value === null
        ? { name, value, note: rounds.refusals.get(name) ?? 'not offered' }
        : { name, value };
    }),
    details: { duly: ours, bare, ratios },
  };
}

function middle(values: readonly number[]): number | null {
  return values.length === 0 ? null : median(values);
}
