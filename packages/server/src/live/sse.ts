import { randomInt } from 'node:crypto';
import type { Clock, Timer } from '@duly/core';
import { standardHeaders } from '../request/standard-headers.ts';
import type { LiveEvent, LiveStream } from './live-stream.ts';

/** The media type of server-sent events. */
export const sseType = 'text/event-stream';

/** An event as it goes over the wire. JSON has no line breaks of its own. */
export function formatSse({ event, id, data }: LiveEvent): string {
  const lines = [`id: ${id}`];
  if (event !== null) lines.push(`event: ${event}`);
  if (data !== null) lines.push(`data: ${data}`);
  return `${lines.join('\n')}\n\n`;
}

/** How a stream is served. */
export interface SseOptions {
  clock: Clock;
  /** A comment is sent after so long without an event, so that nothing on the way takes the connection for dead. */
  heartbeatMs: number;
  /** Whether the watcher may still watch; asked about as often. Their key may have been revoked. */
  mayWatch(): Promise<boolean>;
  /** Aborted when the watcher has gone; taken before anything is waited for. Of one who went while the stream was opened nobody takes the answer, nor cancels it. */
  signal: AbortSignal;
}

// What is there already goes out together, up to about this many characters: each piece costs as much as a dozen small events.
const pieceLengthMax = 64 * 1024;

/**
 * Serves a stream as server-sent events. The next piece is made when the last one has been taken by the connection, so a reader that is
 * slow holds one piece and no more.
 */
export function sseResponse(
  stream: LiveStream,
  { clock, heartbeatMs, mayWatch, signal }: SseOptions,
): Response {
  const encoder = new TextEncoder();
  let pending: Promise<LiveEvent | null> | null = null;
  let timer: Timer | null = null;
  let isClosed = false;
  let checkedElapsed = clock.elapsed();

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    timer?.cancel();
    signal.removeEventListener('abort', close);
    stream.close();
  }

  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();

  function heartbeat(): Promise<'heartbeat'> {
    return new Promise((resolve) => {
      timer = clock.after(heartbeatMs, () => resolve('heartbeat'), { unref: true });
    });
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // A thousand watchers whose server was restarted must not come back in the same moment.
        controller.enqueue(encoder.encode(`retry: ${randomInt(1_000, 3_000)}\n\n`));
      },
      async pull(controller) {
        pending ??= stream.next();
        const event = await Promise.race([pending, heartbeat()]);
        timer?.cancel();
        if (isClosed) return;
        if (clock.elapsed() - checkedElapsed >= heartbeatMs) {
          checkedElapsed = clock.elapsed();
          if (!(await mayWatch())) {
            close();
            controller.close();
            return;
          }
        }
        if (event === 'heartbeat') {
          const place = stream.place();
          const text = place === null ? ': heartbeat\n\n' : `: heartbeat\nid: ${place}\n\n`;
          controller.enqueue(encoder.encode(text));
          return;
        }
        pending = null;
        const { text, last } = gather(stream, event);
        if (text !== '') controller.enqueue(encoder.encode(text));
        if (last === null || last.event === 'end') {
          close();
          controller.close();
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      ...standardHeaders,
      'Content-Type': sseType,
      // Proxies that gather an answer before they pass it on would keep all events back.
      'X-Accel-Buffering': 'no',
    },
  });
}

/** The text of an event and of those that are there already behind it, up to a piece; null: the stream is over. */
function gather(stream: LiveStream, event: LiveEvent | null): { text: string; last: LiveEvent | null } {
  if (event === null) return { text: '', last: null };
  let text = formatSse(event);
  let last = event;
  while (text.length < pieceLengthMax && last.event !== 'end') {
    const more = stream.more();
    if (more === null) break;
    last = more;
    text += formatSse(more);
  }
  return { text, last };
}
