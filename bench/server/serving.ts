// The server of the load test, and `now()` in its process for comparison.
import { createServer as createHttpServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duly } from '@duly/core';
import { toJobJson } from '@duly/core/internal';
import { createServer, listen } from '@duly/server';
import { elapsed } from '../contestant.ts';
import { type Calls, serveCalls } from './parts.ts';

const duly = new Duly({ store: process.argv[2] as string, logger: false });
const task = duly.task({ name: 'bench', run: () => {} });
const server = createServer({ duly, rateLimit: false });
const listening = await listen(server, { port: 0 });
const { key } = await server.keys.create({ scope: 'admin', by: 'bench' });

// What Node's own server costs that reads a body and answers as many bytes, and does nothing: no server in front of now() can be faster.
const answer = JSON.stringify({ id: 'x'.repeat(1_000) });
const floor = await bareServer(() => answer);
// The least that a server can do that makes a job and shows it: no key, no check of what was sent, nothing but one route.
const bare = await bareServer(async ({ input }) => {
  const handle = await task.now(input as { n: number });
  return JSON.stringify(toJobJson(await handle.created()));
});

type Answer = (body: { input: unknown }) => string | Promise<string>;

async function bareServer(reply: Answer): Promise<Server> {
  const http = createHttpServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', async () => {
      const body = await reply(JSON.parse(text));
      const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
      response.writeHead(201, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return http;
}

function urlOf(http: Server): string {
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** What the server's process can be asked. */
export interface ServingCalls extends Calls {
  /** `floorUrl`: where Node's own server answers without doing anything. `bareUrl`: where it makes a job and does nothing else. */
  address(): Promise<{ url: string; key: string; floorUrl: string; bareUrl: string }>;
  /** `now()` with so many in flight; answers how long it took. */
  now(count: number, inFlight: number): Promise<number>;
  /** Jobs that wait for a worker. */
  create(type: string, count: number): Promise<string[]>;
  /** Memory after a collection, in bytes, the calls of the store and the processor time so far, all threads together. */
  state(): Promise<{
    heapBytes: number;
    rssBytes: number;
    calls: number;
    byVerb: Record<string, number>;
    processorMs: number;
  }>;
  close(): Promise<void>;
}

const calls: ServingCalls = {
  address: async () => ({
    url: listening.url,
    key,
    floorUrl: urlOf(floor),
    bareUrl: urlOf(bare),
  }),
  async now(count, inFlight) {
    let n = 0;
    const caller = async (): Promise<void> => {
      while (n < count) await task.now({ n: n++ });
    };
    const from = elapsed();
    await Promise.all(Array.from({ length: inFlight }, caller));
    return elapsed() - from;
  },
  async create(type, count) {
    const handles = await duly.taskNamed(type).nowMany(Array.from({ length: count }, (_, n) => ({ n })));
    return handles.map(({ id }) => id);
  },
  async state() {
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    const counted = Object.values(duly.calls() ?? {}).reduce((sum, count) => sum + count, 0);
    const { user, system } = process.cpuUsage();
    const byVerb = duly.calls() ?? {};
    return {
      ...{ heapBytes: heapUsed, rssBytes: rss, calls: counted, byVerb },
      processorMs: (user + system) / 1_000,
    };
  },
  async close() {
    for (const http of [floor, bare]) {
      http.closeAllConnections();
      http.close();
    }
    await listening.close();
    await duly.stop({ drain: 0 });
  },
};
serveCalls(calls);
