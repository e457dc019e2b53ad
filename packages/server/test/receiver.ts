/** A real HTTP server on loopback that keeps what it is sent, and lets a test wait for it. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** What was sent. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what is there
  json: any;
}

/** Something that webhooks and targets are sent to. */
export interface Receiver {
  url: string;
  port: number;
  received: Received[];
  /** The n-th request, from 1, once it is there. */
  nth(n: number): Promise<Received>;
}

/** How to answer the n-th request, from 1; a status alone is an answer without a body. */
export type Answering = (
  n: number,
  request: Received,
) => number | { status: number; headers?: Record<string, string>; body?: string };

/** Starts one. */
export async function startReceiver(t: TestContext, answering: Answering = () => 200): Promise<Receiver> {
  const received: Received[] = [];
  const waiting: { n: number; resolve(request: Received): void }[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const one: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      text,
      json: /json/.test(request.headers['content-type'] ?? '') ? JSON.parse(text) : null,
    };
    received.push(one);
    const answer = answering(received.length, one);
    const { status, headers = {}, body = '' } = typeof answer === 'number' ? { status: answer } : answer;
    response.writeHead(status, headers).end(body);
    for (const { n, resolve } of waiting) if (received.length >= n) resolve(received[n - 1] as Received);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    nth: (n) =>
      received.length >= n
        ? Promise.resolve(received[n - 1] as Received)
        : new Promise((resolve) => waiting.push({ n, resolve })),
  };
}
