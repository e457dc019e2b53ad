import { DulyError, type Timer } from '@duly/core';
import { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { own } from '../auth/tenant.ts';
import type { ServerContext } from '../http/context.ts';
import { toProblem } from '../http/problem.ts';
import { presentJob } from '../jobs/job-presenter.ts';
import { invalidRequest } from '../request/issues.ts';
import { createBucket } from '../request/rate-limit.ts';
import { name } from '../schemas/answers.ts';
import { eventFilterSchema, filterFor, readPlace } from '../schemas/event-filter.ts';
import { readJobPlace } from './job-stream.ts';
import type { LiveStream } from './live-stream.ts';

const watchName = z.string().max(100);
const after = z.string().max(100).optional();
const jobWatch = z.strictObject({ watch: watchName, job: name, logs: z.boolean().optional(), after });
const filterWatch = z.strictObject({ watch: watchName, filter: eventFilterSchema, after });
const unwatch = z.strictObject({ unwatch: watchName });
type Message = z.infer<typeof jobWatch> | z.infer<typeof filterWatch> | z.infer<typeof unwatch>;

// Enough for a page full of jobs; more is a mistake of a program.
const watchesMax = 100;

// A client opens its watches at once and changes few of them later.
const messageRate = { perSecond: 50, burst: 200 };
// The peer has this long to read why it was closed.
const closeMs = 1_000;

/** Close codes of RFC 6455. */
const goingAway = 1001;
const policyViolation = 1008;

// One alone may be this process's own fault: after it stood still, the heartbeat comes before the answer is read.
const unansweredMax = 3;

/** The part of a WebSocket that is used. Whoever compiles against this package need not have the types of `ws`. */
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
  const { live, clock, options, duly } = context;
  const streams = new Map<string, LiveStream>();
  let unansweredCount = 0;
  let timer: Timer;

  /** Resolves when the connection has taken it: the next event is made then, so a slow reader holds one of each watch. */
  function send(message: object): Promise<void> {
    return new Promise((resolve) => socket.send(JSON.stringify(message), () => resolve()));
  }

  async function open(message: Exclude<Message, { unwatch: string }>): Promise<LiveStream | null> {
    if ('job' in message) {
      return live.jobStream({
        actor: caller.actor,
        tenant: caller.tenant,
        id: message.job,
        after: readJobPlace(message.after),
        logs: message.logs ?? true,
        show: (job) => presentJob(context, caller, own(caller, job)),
      });
    }
    return live.eventStream({
      actor: caller.actor,
      filter: filterFor(caller, message.filter),
      after: readPlace(message.after),
    });
  }

  /** Opens a watch and answers once it is open; its events follow. */
  async function watch(message: Exclude<Message, { unwatch: string }>): Promise<void> {
    const { watch: named } = message;
    if (streams.has(named)) throw refused(`A watch named "${named}" is open already.`);
    if (streams.size >= watchesMax) throw refused(`${watchesMax} watches are open on this connection.`);
    // Its place is taken at once: another message of the same name may come while it is opened.
    streams.set(named, closedStream);
    const stream = await open(message).catch((error: unknown) => {
      streams.delete(named);
      throw error;
    });
    const isWanted = socket.readyState === socket.OPEN && streams.has(named);
    if (stream === null || !isWanted) {
      stream?.close();
      streams.delete(named);
      if (isWanted) await send({ watch: named, event: 'end', id: message.after, data: null });
      return;
    }
    streams.set(named, stream);
    reportTo(named, stream).catch((error: unknown) => sendError(named, error));
  }

  async function reportTo(named: string, stream: LiveStream): Promise<void> {
    try {
      for (let event = await stream.next(); event !== null; event = await stream.next()) {
        const kind = event.event ?? (event.data === null ? 'place' : 'job');
        const data = event.data === null ? null : JSON.parse(event.data);
        await send({ watch: named, event: kind, id: event.id, data });
      }
    } finally {
      stream.close();
      if (streams.get(named) === stream) streams.delete(named);
    }
  }

  function sendError(named: string | null, error: unknown): Promise<void> {
    return send({ watch: named, event: 'error', id: null, data: toProblem(error) });
  }

  async function take(text: string): Promise<void> {
    const message = readMessage(text);
    if (!('unwatch' in message)) return watch(message);
    streams.get(message.unwatch)?.close();
    streams.delete(message.unwatch);
  }

  async function heartbeat(): Promise<void> {
    if (unansweredCount >= unansweredMax) {
      socket.terminate();
      return;
    }
    unansweredCount++;
    socket.ping();
    if (await mayWatch()) timer = clock.after(options.heartbeatMs, () => void heartbeat(), { unref: true });
    else socket.close(policyViolation, 'The key is not valid any more.');
  }

  let takenCount = 0;
  let isRefused = false;
  const messages = context.rateLimits === null ? null : createBucket(messageRate, clock);
  /** Closes a connection that floods. Nothing more is read from it, so it cannot delay others meanwhile. */
  function refuseFlood(): void {
    isRefused = true;
    socket.pause();
    socket.close(policyViolation, 'rate_limited: too many messages.');
    clock.after(closeMs, () => socket.terminate(), { unref: true });
  }

  /** Counts a frame of the peer; false: it is not to be processed. */
  function admitFrame(): boolean {
    if (isRefused) return false;
    if (messages?.take() !== false && context.rateLimits?.take(caller.actor) !== false) return true;
    refuseFlood();
    return false;
  }

  socket.on('message', (bytes, isBinary) => {
    if (!admitFrame()) return;
    const text = isBinary ? '' : String(bytes);
    // Nothing more is read until what was said is answered, and the answer on its way: whoever asks and does not listen would fill the memory.
    takenCount++;
    socket.pause();
    void duly
      .as(caller.actor, () => take(text))
      .catch((error: unknown) => sendError(watchOf(text), error))
      .finally(() => {
        takenCount--;
        if (takenCount === 0 && !isRefused) socket.resume();
      });
  });
  // The library answers pings, and frames without a payload are cheap to send: they cost as much as messages.
  socket.on('ping', () => void admitFrame());
  socket.on('pong', () => {
    // An answer to the server's own ping is free: a busy key must not lose its idle connections.
    if (unansweredCount > 0) unansweredCount = 0;
    else admitFrame();
  });
  socket.on('close', () => {
    timer.cancel();
    for (const stream of streams.values()) stream.close();
    streams.clear();
  });
  socket.on('error', () => socket.terminate());
  timer = clock.after(options.heartbeatMs, () => void heartbeat(), { unref: true });
}

/** Tells a WebSocket that the server stops, so that its client comes back later. */
export function dismissSocket(socket: LiveSocket): void {
  socket.close(goingAway, 'The server is stopping.');
}

const closedStream: LiveStream = { next: async () => null, more: () => null, place: () => null, close() {} };

function readMessage(text: string): Message {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw refused('A message is not JSON.');
  }
  const fields = typeof given === 'object' && given !== null ? given : {};
  const schema = 'unwatch' in fields ? unwatch : 'job' in fields ? jobWatch : filterWatch;
  const read = schema.safeParse(given);
  if (!read.success) throw invalidRequest('message', read.error);
  return read.data;
}

/** The name in a message that was refused, so that its sender knows which. */
function watchOf(text: string): string | null {
  try {
    const { watch } = JSON.parse(text) as { watch?: unknown };
    return typeof watch === 'string' ? watch.slice(0, 100) : null;
  } catch {
    return null;
  }
}

function refused(message: string): DulyError {
  return new DulyError('request_invalid', { message });
}
