/**
 * The store's thread: holds the engine's connection, runs its verbs, and renews leases. It keeps doing so while a
 * handler blocks the main loop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { openEngine } from '../engines/open.ts';
import { toPlainError } from '../errors.ts';
import { systemRandom } from '../random.ts';
import { type Beats, createBeats } from '../worker/beats.ts';
import type { FromThread, ToThread } from './messages.ts';

const port = parentPort as NonNullable<typeof parentPort>;
const post = (message: FromThread) => port.postMessage(message);
const { url } = workerData as { url: string };

const beats = new Map<number, Beats>();

/** When the ping that is still unanswered was sent, by the monotonic clock; null: none is. */
let pingElapsed: number | null = null;

/** How long the main loop has not turned, as far as pings tell. */
function sinceTurnMs(): number {
  if (pingElapsed !== null) return systemClock.elapsed() - pingElapsed;
  pingElapsed = systemClock.elapsed();
  post({ kind: 'ping' });
  return 0;
}

try {
  const engine = await openEngine(url);
  engine.wakeups((hint) => post({ kind: 'hint', hint }));
  port.on('message', (message: ToThread) => {
    void serve(engine, message);
  });
  post({ kind: 'open', info: engine.info() });
} catch (error) {
  post({ kind: 'refused', error: toPlainError(error) });
}

async function serve(engine: Engine, message: ToThread): Promise<void> {
  switch (message.kind) {
    case 'call':
      await answer(message.id, () =>
        (engine[message.verb] as (input: unknown) => Promise<unknown>)(message.input),
      );
      break;
    case 'ring':
      await answer(message.id, () => engine.ring());
      break;
    case 'close':
      for (const one of beats.values()) one.close();
      await answer(message.id, () => engine.close());
      port.close();
      break;
    case 'pong':
      pingElapsed = null;
      break;
    case 'beats-open':
      openBeats(engine, message);
      break;
    case 'beats-hold':
      beats.get(message.beats)?.hold(message.leases);
      break;
    case 'beats-drop':
      beats.get(message.beats)?.drop(message.leases);
      break;
    case 'beats-check':
      beats.get(message.beats)?.check();
      break;
    case 'beats-close':
      beats.get(message.beats)?.close();
      beats.delete(message.beats);
      break;
    case 'beats-begin':
      await begin(message);
      break;
  }
}

async function answer(id: number, call: () => Promise<unknown>): Promise<void> {
  try {
    post({ kind: 'reply', id, reply: await call() });
  } catch (error) {
    post({ kind: 'error', id, error: toPlainError(error) });
  }
}

function openBeats(engine: Engine, message: Extract<ToThread, { kind: 'beats-open' }>): void {
  const { node, leaseMs, beatMs } = message;
  beats.set(
    message.beats,
    createBeats({
      engine,
      clock: systemClock,
      random: systemRandom,
      node,
      leaseMs,
      beatMs,
      sinceTurnMs,
      onBeat: (news) => post({ kind: 'beat', beats: message.beats, news }),
      onError: (error) => post({ kind: 'beats-error', beats: message.beats, error: toPlainError(error) }),
    }),
  );
}

async function begin({ beats: which, id, lease }: Extract<ToThread, { kind: 'beats-begin' }>): Promise<void> {
  try {
    const state = (await beats.get(which)?.begin(lease)) ?? 'lost';
    post({ kind: 'begun', id, state });
  } catch (error) {
    post({ kind: 'error', id, error: toPlainError(error) });
  }
}
