import type { Clock } from '../base/clock.ts';
import { createLoop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import type { Engine } from '../contract/engine.ts';

/** Proves that hints arrive, and so decides how long a node may sleep. */
export interface Echo {
  start(): void;
  /** 30 s while hints are proven, else 1 s: a node that no hint can wake must look by itself. */
  maxSleepMs(): number;
  stop(): Promise<void>;
}

const provenSleepMs = 30_000;
const unprovenSleepMs = 1_000;
const ringEveryMs = 30_000;
// The echo of the next ring needs a moment to come back, and until then the last one still counts.
const wayMs = 2_000;

/** Makes an echo: rings every 30 s and listens for its own ring. */
export function createEcho(options: {
  engine: Pick<Engine, 'ring' | 'wakeups' | 'info'>;
  clock: Clock;
  random: Random;
  onError(error: unknown): void;
}): Echo {
  const { engine, clock, random, onError } = options;
  const { wake, durable } = engine.info();
  // A store that dies with this process has no other process to hear from. Where hints come only from this process an echo
  // would prove nothing about the others.
  const needsProof = wake === 'push';
  const isAlone = !durable;
  let heardElapsed = Number.NEGATIVE_INFINITY;
  let off: (() => void) | null = null;

  const loop = createLoop({
    clock,
    random,
    onError,
    maxWaitMs: ringEveryMs,
    async pass() {
      await engine.ring();
      return ringEveryMs;
    },
  });

  return {
    start() {
      if (!needsProof || off !== null) return;
      off = engine.wakeups((hint) => {
        if (hint === 'echo') heardElapsed = clock.elapsed();
        if (hint === 'deaf') heardElapsed = Number.NEGATIVE_INFINITY;
      });
      loop.start();
    },
    maxSleepMs() {
      if (isAlone) return provenSleepMs;
      if (!needsProof) return unprovenSleepMs;
      return clock.elapsed() - heardElapsed <= ringEveryMs + wayMs ? provenSleepMs : unprovenSleepMs;
    },
    async stop() {
      off?.();
      await loop.stop();
    },
  };
}
