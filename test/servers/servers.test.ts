import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startPgBouncer } from './pgbouncer.ts';
import { freshSchema, inSchema, startPostgres, testPostgresUrl } from './postgres.ts';
import { startWire } from './wire.ts';

const url = await testPostgresUrl();

async function query(address: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

it('a server keeps its data over an immediate stop when it is durable', async () => {
  const server = await startPostgres({ durable: true });
  try {
    await query(server.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await server.halt('immediate');
    await assert.rejects(query(server.url, 'SELECT 1'), { code: 'ECONNREFUSED' });
    await server.restart();
    assert.deepEqual(await query(server.url, 'SELECT n FROM kept'), [{ n: 1 }]);
    assert.deepEqual(await query(server.url, 'SHOW fsync'), [{ fsync: 'on' }]);
  } finally {
    await server.stop();
  }
  assert.ok(!existsSync(server.folder), 'its folder is gone');
});

it('a server that is killed closes its connections, keeps its data and starts again at once', async () => {
  const server = await startPostgres({ durable: true });
  const client = new pg.Client({ connectionString: server.url });
  const lost = once(client, 'error');
  // It may report the end of the server and the end of the connection.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('CREATE TABLE kept AS SELECT 1 AS n');
    await server.halt('kill');
    await lost;
    await server.restart();
    assert.deepEqual(await query(server.url, 'SELECT n FROM kept'), [{ n: 1 }]);
  } finally {
    await server.stop();
  }
});

it('a server ends with the process that started it, also when that is killed', async () => {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./fixtures/start-and-wait.ts', import.meta.url))],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = await once(createInterface(child.stdout), 'line');
  const { pid, folder } = JSON.parse(line) as { pid: number; folder: string };
  assert.ok(isAlive(pid));
  child.kill('SIGKILL');
  // Nothing tells when a stranger's child is gone but looking.
  for (let looks = 0; (isAlive(pid) || existsSync(folder)) && looks < 200; looks++) await wait(50);
  assert.ok(!isAlive(pid), 'the server is gone');
  assert.ok(!existsSync(folder), 'its folder is gone');
});

it('a pooler in transaction mode gives each transaction another connection', async () => {
  const bouncer = await startPgBouncer(url);
  const client = new pg.Client({ connectionString: bouncer.url });
  const other = new pg.Client({ connectionString: bouncer.url });
  try {
    await client.connect();
    await other.connect();
    const backend = 'SELECT pg_backend_pid() AS pid';
    await other.query('BEGIN');
    const [held] = (await other.query(backend)).rows;
    const [mine] = (await client.query(backend)).rows;
    assert.notEqual(mine.pid, held.pid);
    await other.query('COMMIT');
    const seen = new Set<number>();
    for (let turn = 0; turn < 4; turn++) seen.add((await client.query(backend)).rows[0].pid);
    assert.ok(seen.size > 1, 'one client, several connections of the server');
  } finally {
    await client.end();
    await other.end();
    await bouncer.stop();
  }
});

it('every schema of a test is its own', () => {
  const [one, other] = [freshSchema(), freshSchema()];
  assert.notEqual(one, other);
  assert.equal(inSchema('postgres://h/d', one), `postgres://h/d?schema=${one}`);
  assert.equal(inSchema('postgres://h/d?a=1', one), `postgres://h/d?a=1&schema=${one}`);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

it('a wire loses packets without a word, and is mended', async (t) => {
  const wire = startWire();
  if (wire === null) return t.skip('this user cannot make network namespaces here');
  const server = createServer((socket) => socket.on('error', () => {}).pipe(socket));
  let child: ChildProcess | null = null;
  try {
    server.listen(0, wire.hostAddress);
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const [program, ...before] = wire.command as [string, ...string[]];
    // Says "said" when it has sent something, and repeats what comes back.
    const script = `const s = require('net').connect(${port}, '${wire.hostAddress}'); process.stdin.on('data', (d) => s.write(d, () => console.log('said'))); s.on('data', (d) => console.log('heard ' + d)); s.on('connect', () => console.log('connected'));`;
    child = spawn(program, [...before, process.execPath, '-e', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface(child.stdout as NodeJS.ReadableStream);
    const next = async () => String((await once(lines, 'line'))[0]);
    assert.equal(await next(), 'connected');
    wire.lose('both ways');
    const said = next();
    child.stdin?.write('one');
    assert.equal(await said, 'said');
    const received = next();
    assert.equal(await Promise.race([received, wait(500, 'nothing')]), 'nothing');
    wire.mend();
    // The connection is the same: TCP has sent it again.
    assert.equal(await received, 'heard one');
  } finally {
    child?.kill('SIGKILL');
    server.close();
    wire.stop();
  }
});
