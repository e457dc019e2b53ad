// Run by Bun: the server as its fetch handler. Tells its address and a key, and goes when its input ends.
import { Duly } from '@duly/core';
import { createServer } from '../../src/index.ts';

declare const Bun: { serve(options: object): { port: number } };

const duly = new Duly({ store: process.argv[2] as string, logger: false });
const server = createServer({ duly, basePath: '/duly' });
await server.start();
const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: server.fetch });
const { key } = await server.keys.create({ scope: 'admin', by: 'test' });
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, key })}\n`);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
