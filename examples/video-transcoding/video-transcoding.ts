import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Duly } from 'duly';
import { createClient } from 'duly/client';
import { createServer } from 'duly/server';
import { Hono } from 'hono';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { page } from './page.ts';

/** The sizes that each video is made in, smallest first. */
export const sizes = ['360p', '720p', '1080p', '4K'] as const;

/** Makes one size of a video and returns where it lies. `report` says how much of this size is done, 0 to 1. */
export type Transcode = (
  file: string,
  size: string,
  context: { signal: AbortSignal; report(part: number): Promise<void> },
) => Promise<string>;

/** The task: progress over all sizes. A size that is done is not made again by another attempt. */
export function defineTranscoding(duly: Duly, transcode: Transcode) {
  return duly.task({
    name: 'video_transcode',
    input: z.object({ file: z.string() }),
    retry: { attempts: 3, backoff: 'exponential' },
    timeout: '2h',
    run: async ({ input: { file }, signal, progress, once }) => {
      const created: Record<string, string> = {};
      for (const [done, size] of sizes.entries()) {
        const report = (part: number): Promise<void> =>
          progress(((done + part) / sizes.length) * 100, `Transcoding ${size}`, {
            step: done,
            of: sizes.length,
          });
        await report(0);
        created[size] = await once(size, () => transcode(file, size, { signal, report }));
      }
      return created;
    },
  });
}

/** What the webhook tells of a job that is over; there is more. */
export interface Reported {
  id: string;
  status: string;
  result: unknown;
}

/** The app as it is served: close it when you are done. */
export interface VideoApp {
  /** Like `http://127.0.0.1:41234`. */
  url: string;
  close(): Promise<void>;
}

/** Serves the app on this machine: a page, a route that takes a video, the webhook that tells of its end, and Duly's own API below `/duly`. */
export async function serveVideoApp(duly: Duly, onDone: (reported: Reported) => void): Promise<VideoApp> {
  const server = createServer({
    duly,
    basePath: '/duly',
    // The app calls itself here; a webhook to a private address is refused unless it is named.
    allowTargets: ['127.0.0.1'],
    // Whoever sees the page may look at jobs, and no more. An app with a sign-in of its own looks at its session here.
    authorize: (request) =>
      request.headers.has('authorization') ? null : { actor: 'visitor', scope: 'read', tenant: null },
  });
  const { key } = await server.keys.create({ scope: 'admin', by: 'video app' });
  const client = createClient({
    url: 'http://localhost/duly',
    key,
    fetch: (url, init) => server.fetch(new Request(url, init)),
  });
  const { secrets } = await client.call('GET /api/webhooks/secrets');
  const verified = (body: string, headers: Record<string, string>): Reported | null => {
    try {
      return new Webhook(secrets[0] as string).verify(body, headers) as Reported;
    } catch {
      return null;
    }
  };

  const app = new Hono()
    .get('/', (c) => c.html(page))
    .post('/videos', async (c) => {
      const { file } = await c.req.parseBody();
      const { id } = await client.call('POST /api/jobs', {
        body: { type: 'video_transcode', input: { file }, callback_url: `${url}/hooks/video` },
      });
      return c.json({ id }, 202);
    })
    .post('/hooks/video', async (c) => {
      const body = await c.req.text();
      const reported = verified(body, c.req.header());
      if (reported === null) return c.body(null, 401);
      onDone(reported);
      return c.body(null, 204);
    })
    .all('/duly/*', (c) => server.fetch(c.req.raw));

  const http = createHttpServer(getRequestListener(app.fetch));
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const url: string = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  await server.start();
  return {
    url,
    async close() {
      const closed = once(http, 'close');
      http.close();
      // Lets those go who watch a bar, so that their connections end.
      await server.stop();
      http.closeAllConnections();
      await closed;
    },
  };
}
