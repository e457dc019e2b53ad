import { DulyError } from '@duly/core';
import { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { own } from '../auth/tenant.ts';
import type { ServerContext } from '../http/context.ts';
import { toProblem } from '../http/problem.ts';
import { presentJob } from '../jobs/job-presenter.ts';
import { invalidRequest } from '../request/issues.ts';
import { name } from '../schemas/answers.ts';
import { eventFilterSchema, filterFor, readPlace } from '../schemas/event-filter.ts';
import { readJobPlace } from './job-stream.ts';
import type { LiveStream } from './live-stream.ts';
import type { LiveSocket } from './socket.ts';

const watchName = z.string().max(100);
const after = z.string().max(100).optional();
const jobWatch = z.strictObject({ watch: watchName, job: name, logs: z.boolean().optional(), after });
const filterWatch = z.strictObject({ watch: watchName, filter: eventFilterSchema, after });
const unwatch = z.strictObject({ unwatch: watchName });
type WatchMessage = z.infer<typeof jobWatch> | z.infer<typeof filterWatch>;
type Message = WatchMessage | z.infer<typeof unwatch>;

// Enough for a page full of jobs; more is a mistake of a program.
const watchesMax = 100;

/** The watches that are open on one WebSocket. */
export interface SocketWatches {
  /** Processes one message of the peer. Resolves when it is answered; an error is an answer too. */
  take(text: string): Promise<void>;
  /** Closes all of them. */
  close(): void;
}

/** Creates the watches of a WebSocket. None is open at first. */
export function createSocketWatches(
  context: ServerContext,
  { socket, caller }: { socket: LiveSocket; caller: Caller },
): SocketWatches {
  const streams = new Map<string, LiveStream>();

  /** Resolves when the connection has taken it. The next event is created then, so a slow reader holds one of each watch. */
  function send(message: object): Promise<void> {
    return new Promise((resolve) => socket.send(JSON.stringify(message), () => resolve()));
  }

  function sendError(named: string | null, error: unknown): Promise<void> {
    return send({ watch: named, event: 'error', id: null, data: toProblem(error) });
  }

  /** Opens a watch and answers once it is open; its events follow. */
  async function watch(message: WatchMessage): Promise<void> {
    const { watch: named } = message;
    if (streams.has(named)) throw refused(`A watch named "${named}" is open already.`);
    if (streams.size >= watchesMax) throw refused(`${watchesMax} watches are open on this connection.`);
    // Its place is taken at once: another message of the same name may come while it is opened.
    streams.set(named, closedStream);
    const stream = await openStream(context, caller, message).catch((error: unknown) => {
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
    report(named, stream).catch((error: unknown) => sendError(named, error));
  }

  /** Sends the events of a stream until it ends. */
  async function report(named: string, stream: LiveStream): Promise<void> {
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

  async function processMessage(text: string): Promise<void> {
    const message = readMessage(text);
    if (!('unwatch' in message)) return watch(message);
    streams.get(message.unwatch)?.close();
    streams.delete(message.unwatch);
  }

  return {
    take: (text) =>
      context.duly
        .as(caller.actor, () => processMessage(text))
        .catch((error: unknown) => sendError(watchOf(text), error)),
    close() {
      for (const stream of streams.values()) stream.close();
      streams.clear();
    },
  };
}

const closedStream: LiveStream = { next: async () => null, more: () => null, place: () => null, close() {} };

/** Opens what a message asks for; null: a job's stream that has nothing more to send. */
async function openStream(
  context: ServerContext,
  caller: Caller,
  message: WatchMessage,
): Promise<LiveStream | null> {
  if ('job' in message) {
    return context.live.jobStream({
      actor: caller.actor,
      tenant: caller.tenant,
      id: message.job,
      after: readJobPlace(message.after),
      logs: message.logs ?? true,
      show: (job) => presentJob(context, caller, own(caller, job)),
    });
  }
  return context.live.eventStream({
    actor: caller.actor,
    filter: filterFor(caller, message.filter),
    after: readPlace(message.after),
  });
}

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
