/** The faults of the connections to PostgreSQL in one world, decided by its seed. */
import type { Script } from '../script.ts';
import { createDice } from '../world.ts';
import type { NetworkFault } from './fault-proxy.ts';

/** The network of a world. */
export interface Network {
  /** The fault of a call that is sent at this instant; null for none. */
  faultAt(elapsed: number): NetworkFault | null;
  /** Whether an outage is a crash of the server. Otherwise only its connections are cut. */
  isCrash(): boolean;
}

const faults: readonly NetworkFault[] = [
  'cut before the request',
  'cut in the request',
  'cut before the reply',
  'cut before the reply',
  'cut in the reply',
  'late request',
  'late reply',
  'reply in pieces',
];
// Chances per call: in quiet times, and in the spans in which the network is bad.
const quietChance = 0.002;
const stormChance = 0.12;
const stormMs = { min: 500, max: 6_000 };
const stormsMax = 3;
// The server crashes in one world of this many: a crash and a restart take about a second of real time.
const crashEvery = 12;
const outageCrashChance = 0.25;

/** Draws the network of a world. No fault happens after the script's last step. */
export function drawNetwork({ seed, lastsMs }: Pick<Script, 'seed' | 'lastsMs'>): Network {
  const dice = createDice(seed * 13 + 5);
  const storms = Array.from({ length: dice.below(stormsMax + 1) }, () => {
    const from = dice.below(lastsMs);
    return { from, to: from + dice.between(stormMs.min, stormMs.max) };
  });
  let crashAt = seed % crashEvery === 0 ? dice.below(lastsMs) : Number.POSITIVE_INFINITY;
  return {
    isCrash: () => dice.chance(outageCrashChance),
    faultAt(elapsed) {
      if (elapsed >= lastsMs) return null;
      if (elapsed >= crashAt) {
        crashAt = Number.POSITIVE_INFINITY;
        return 'crash before the reply';
      }
      const isStorm = storms.some(({ from, to }) => elapsed >= from && elapsed < to);
      return dice.chance(isStorm ? stormChance : quietChance) ? dice.one(faults) : null;
    },
  };
}
