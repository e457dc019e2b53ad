// Next.js with the server mounted as docs/guides/server.md says, in a process of its own: its development server watches files and never lets go of the process.
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Duly } from '@duly/core';
import { createServer } from '../../src/index.ts';

/** What of Next.js is used; its types are not installed where types are checked. */
type Next = (options: { dev: boolean; quiet: boolean; dir: string; hostname: string }) => {
  prepare(): Promise<void>;
  getRequestHandler(): RequestListener;
};

const server = createServer({
  duly: new Duly({ store: 'sqlite::memory:', logger: false }),
  basePath: '/duly',
});
await server.start();
const { key } = await server.keys.create({ scope: 'admin', by: 'test' });
// The route in `next/app` finds it there.
Object.assign(globalThis, { dulyForNext: server });

const folder = new URL('./next/', import.meta.url);
// It tells of every request on standard output, where only the address is expected.
console.log = console.error;
const next = createRequire(new URL('package.json', folder))('next') as Next;
const app = next({ dev: true, quiet: true, dir: fileURLToPath(folder), hostname: '127.0.0.1' });
await app.prepare();
const http = createHttpServer(app.getRequestHandler());
http.listen(0, '127.0.0.1', () => {
  const { port } = http.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, key })}\n`);
});
process.stdin.on('end', () => process.exit()).resume();
