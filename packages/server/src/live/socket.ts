import type { Clock, Timer } from '@duly/core';
import type { Caller } from '../auth/caller.ts';
import type { ServerContext } from '../http/context.ts';
import { createBucket } from '../request/rate-limit.ts';
import { createSocketWatches } from './socket-watches.ts';

// A client opens its watches at once and changes few of them later.
const messageRate = { perSecond: 50, burst: 200 };
// The peer has this long to read why it was closed.
const closeMs = 1_000;

/** Close codes of RFC 6455. */
const goingAway = 1001;
const policyViolation = 1008;

// One unanswered ping may be this process's own fault: after a stall, the heartbeat comes before the answer is read.
const unansweredMax = 3;

/** The part of a WebSocket that is used, so that users of this package compile without the types of `ws`. */
export interface LiveSocket {
  readonly readyState: number;
  readonly OPEN: number;
  send(text: string, sent: () => void): void;
  ping(): void;
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  terminate(): void;
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown;
  on(event: 'ping' | 'pong' | 'close' | 'error', listener: () => void): unknown;
}

/** Serves the streams of one WebSocket until it is closed. */
export function serveSocket(
  context: ServerContext,
  { socket, caller, mayWatch }: { socket: LiveSocket; caller: Caller; mayWatch(): Promise<boolean> },
): void {
  const { clock, options } = context;
  const watches = createSocketWatches(context, { socket, caller });
  const flood = createFloodGuard(context, { socket, caller });
  const heartbeat = startHeartbeat(socket, { clock, everyMs: options.heartbeatMs, mayWatch });
  let takenCount = 0;

  socket.on('message', (bytes, isBinary) => {
    if (!flood.admitFrame()) return;
    const text = isBinary ? '' : String(bytes);
    // Nothing more is read until the answer is sent: a peer that asks and does not read would fill the memory.
    takenCount++;
    socket.pause();
    void watches.take(text).finally(() => {
      takenCount--;
      if (takenCount === 0 && !flood.isRefused()) socket.resume();
    });
  });
  // The library answers pings. They count as messages, because frames without a payload are cheap to send.
  socket.on('ping', () => void flood.admitFrame());
  // An answer to the server's own ping is free: a busy key must not lose its idle connections.
  socket.on('pong', () => {
    if (!heartbeat.takeAnswer()) flood.admitFrame();
  });
  socket.on('close', () => {
    heartbeat.stop();
    watches.close();
  });
  socket.on('error', () => socket.terminate());
}

/** Tells a WebSocket that the server stops, so that its client comes back later. */
export function dismissSocket(socket: LiveSocket): void {
  socket.close(goingAway, 'The server is stopping.');
}

/** Counts the frames of a peer, and closes the connection of one that sends too many. */
function createFloodGuard(
  { clock, rateLimits }: ServerContext,
  { socket, caller }: { socket: LiveSocket; caller: Caller },
) {
  const frames = rateLimits === null ? null : createBucket(messageRate, clock);
  let isRefused = false;

  /** Closes the connection. Nothing more is read from it, so it cannot delay others meanwhile. */
  function refuse(): void {
    isRefused = true;
    socket.pause();
    socket.close(policyViolation, 'rate_limited: too many messages.');
    clock.after(closeMs, () => socket.terminate(), { unref: true });
  }

  return {
    isRefused: () => isRefused,
    /** Counts a frame of the peer; false: it is not to be processed. */
    admitFrame(): boolean {
      if (isRefused) return false;
      if (frames?.take() !== false && rateLimits?.take(caller.actor) !== false) return true;
      refuse();
      return false;
    },
  };
}

/** Pings the peer at an interval. Ends the connection when the peer does not answer or may not watch any more. */
function startHeartbeat(
  socket: LiveSocket,
  { clock, everyMs, mayWatch }: { clock: Clock; everyMs: number; mayWatch(): Promise<boolean> },
) {
  let unansweredCount = 0;
  let timer: Timer = clock.after(everyMs, () => void beat(), { unref: true });

  async function beat(): Promise<void> {
    if (unansweredCount >= unansweredMax) {
      socket.terminate();
      return;
    }
    unansweredCount++;
    socket.ping();
    if (await mayWatch()) timer = clock.after(everyMs, () => void beat(), { unref: true });
    else socket.close(policyViolation, 'The key is not valid any more.');
  }

  return {
    /** Takes a pong of the peer; false: there was no ping to answer. */
    takeAnswer(): boolean {
      const isAnswer = unansweredCount > 0;
      unansweredCount = 0;
      return isAnswer;
    },
    stop: () => timer.cancel(),
  };
}
