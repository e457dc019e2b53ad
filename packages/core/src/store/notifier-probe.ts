import type { Clock } from '../base/clock.ts';
import { createLoop } from '../base/loop.ts';
import type { Random } from '../base/random.ts';
import type { Engine } from '../contract/engine.ts';

/** Proves that notifications arrive, and so decides how long a node may sleep. */
export interface NotifierProbe {
  start(): void;
  /** 30 s while notifications are proven to arrive, else 1 s: a node that no notification wakes must poll. */
  maxSleepMs(): number;
  stop(): Promise<void>;
}

const provenSleepMs = 30_000;
const unprovenSleepMs = 1_000;
const probeEveryMs = 30_000;
// The next probe needs a moment to arrive, and until then the last one still counts.
const transitMs = 2_000;

/** Creates a notifier probe: it sends a notification every 30 s and waits for its own to arrive. */
export function createNotifierProbe(options: {
  engine: Pick<Engine, 'probe' | 'subscribe' | 'info'>;
  clock: Clock;
  random: Random;
  onError(error: unknown): void;
}): NotifierProbe {
  const { engine, clock, random, onError } = options;
  const { wake, durable } = engine.info();
  // A store that is lost with this process has no other process to be notified by. Where notifications come only from this
  // process, a probe would prove nothing about the others.
  const needsProof = wake === 'push';
  const isAlone = !durable;
  let receivedElapsed = Number.NEGATIVE_INFINITY;
  let unsubscribe: (() => void) | null = null;

  const loop = createLoop({
    clock,
    random,
    onError,
    maxWaitMs: probeEveryMs,
    async pass() {
      await engine.probe();
      return probeEveryMs;
    },
  });

  return {
    start() {
      if (!needsProof || unsubscribe !== null) return;
      unsubscribe = engine.subscribe((notification) => {
        if (notification.kind === 'probe') receivedElapsed = clock.elapsed();
        if (notification.kind === 'disconnected') receivedElapsed = Number.NEGATIVE_INFINITY;
      });
      loop.start();
    },
    maxSleepMs() {
      if (isAlone) return provenSleepMs;
      if (!needsProof) return unprovenSleepMs;
      return clock.elapsed() - receivedElapsed <= probeEveryMs + transitMs ? provenSleepMs : unprovenSleepMs;
    },
    async stop() {
      unsubscribe?.();
      await loop.stop();
    },
  };
}
