// What would be published, installed as a stranger would: no workspace, no source, no driver.
// The published packages are looked over by publint and attw, which are installed beside this file once (test/install-beside.ts).
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, type TestContext, test } from 'node:test';
import { root } from '../../scripts/source-text.ts';
import { installBeside } from '../install-beside.ts';
import { freshSchema, inSchema, testPostgresUrl } from '../servers/postgres.ts';
import { finalCommands, readCompose, readDockerfile, runUnder, type Service } from './image.ts';

const packages = {
  core: '@duly/core',
  conformance: '@duly/conformance',
  server: '@duly/server',
  duly: 'duly',
};
const folder = mkdtempSync(join(tmpdir(), 'duly-packed-'));
after(() => rmSync(folder, { recursive: true, force: true }));

// The Node of this test goes first: `npx duly` and npm would take the machine's own.
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function tarballOf(name: keyof typeof packages): string {
  const { version } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
  return join(folder, `${packages[name].replace('@', '').replace('/', '-')}-${version}.tgz`);
}

/** A project of a stranger, with nothing in it. */
function strangerFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  writeFileSync(
    join(path, 'package.json'),
    JSON.stringify({ name: 'stranger', private: true, type: 'module' }),
  );
  return path;
}

before(() => {
  run(process.execPath, [join(root, 'scripts/build.ts')], root);
  const folders = Object.keys(packages).map((name) => join(root, 'packages', name, 'dist'));
  run('npm', ['pack', '--silent', '--pack-destination', folder, ...folders], folder);
});

/** Runs a tool that is installed beside, and answers with what it printed; fails where it ends with another code than 0. */
function lookedOver(t: TestContext, script: string, args: string[]): string | null {
  const missing = installBeside(new URL('./', import.meta.url));
  if (missing !== null) {
    t.skip(missing);
    return null;
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: import.meta.dirname,
    env: { ...env, NO_COLOR: '1' },
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  return stdout;
}

for (const [name, published] of Object.entries(packages)) {
  test(`publint finds nothing to say about ${published}`, (t) => {
    const tarball = tarballOf(name as keyof typeof packages);
    const said = lookedOver(t, 'node_modules/publint/src/cli.js', ['--strict', tarball]);
    if (said !== null) assert.match(said, /All good!/);
  });

  // ES modules only: what needs require() is told so by Node itself.
  test(`attw finds the types of ${published} from ES modules and bundlers`, (t) => {
    const tarball = tarballOf(name as keyof typeof packages);
    const said = lookedOver(t, 'node_modules/@arethetypeswrong/cli/dist/index.js', [
      ...['--profile', 'esm-only', '--format', 'json'],
      tarball,
    ]);
    if (said === null) return;
    const { analysis } = JSON.parse(said);
    assert.equal(analysis.packageName, published);
    const problems = analysis.problems.filter(
      ({ resolutionKind = '' }) => resolutionKind !== 'node10' && resolutionKind !== 'node16-cjs',
    );
    assert.deepEqual(problems, []);
  });
}

const program = `
import { Duly } from '@duly/core';
import { readSchemaStatus } from '@duly/core/internal';
import { createTestDuly } from '@duly/core/testing';
import { openSqliteEngine } from '@duly/core/sqlite';

const duly = new Duly({ store: 'sqlite:./duly.db' });
const hello = duly.task({ name: 'hello', run: ({ input }) => 'Hello ' + input });
const loud = duly.task({ name: 'loud', isolate: true, run: ({ input }) => input.toUpperCase() });
await duly.start();
const results = [await (await hello.now('Ada')).result(), await (await loud.now('ada')).result()];
await duly.stop();

const t = createTestDuly();
const later = t.task({ name: 'later', run: () => 'on virtual time' });
await later.in('400 days', null);
const ran = await t.advance('401 days');
// No driver is installed here: whoever asks for PostgreSQL is told what to install.
const { code, hint } = await readSchemaStatus('postgres://localhost/none').catch((error) => error);
console.log(JSON.stringify({ driver: [code, hint], results, ran: ran.map(({ result }) => result), engine: typeof openSqliteEngine }));
await t.stop();
`;

test('the packed library installs alone and runs: a thread for the store, a thread for an isolated task, virtual time', () => {
  const stranger = strangerFolder('library');
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarballOf('core')], stranger);
  writeFileSync(join(stranger, 'program.js'), program);
  const output = run(process.execPath, ['program.js'], stranger);
  assert.deepEqual(JSON.parse(output), {
    driver: ['driver_missing', 'Run: npm install pg'],
    results: ['Hello Ada', 'ADA'],
    ran: ['on virtual time'],
    engine: 'function',
  });
});

/** Skips where a registry was needed and could not be reached; fails where it did not succeed for another reason. */
function isSkipped(t: TestContext, { status, stderr }: { status: number | null; stderr: string }): boolean {
  const unreachable = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/.exec(stderr);
  if (status !== 0 && unreachable !== null) {
    t.skip(`dependencies could not be installed from the npm registry (${unreachable[0]})`);
    return true;
  }
  assert.equal(status, 0, stderr);
  return false;
}

test('the packed command installs in an empty project: "npx duly up" runs a job, and "duly init" what it wrote', async (t) => {
  const stranger = strangerFolder('command');
  const tarballs = Object.keys(packages).map((name) => tarballOf(name as keyof typeof packages));
  const patience = ['--fetch-retries=1', '--fetch-timeout=30000', '--fetch-retry-mintimeout=500'];
  const install = spawnSync(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', ...patience, ...tarballs],
    { cwd: stranger, env, encoding: 'utf8' },
  );
  if (isSkipped(t, install)) return;

  const duly = (...args: string[]): string => run('npx', ['--no-install', 'duly', ...args], stranger);
  const up = spawn(process.execPath, ['node_modules/duly/lib/bin.js', 'up', '--port', '0'], {
    cwd: stranger,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(up, 'exit');
  try {
    const lines: string[] = [];
    for await (const line of createInterface({ input: up.stdout })) {
      lines.push(line);
      if (/video_transcode completed/.test(line)) break;
    }
    assert.match(lines.join('\n'), /^Dashboard: http:\/\/127\.0\.0\.1:\d+$/m);
    assert.match(lines.join('\n'), /duly-first-key-/);
    const { data } = JSON.parse(duly('jobs', 'ls', '--status', 'completed', '-o', 'json'));
    assert.ok(data.some(({ type }: { type: string }) => type === 'video_transcode'));
    const address = /^Dashboard: (.*)$/m.exec(lines.join('\n'))?.[1] as string;
    const [file] = readdirSync(stranger).filter((name) => name.startsWith('duly-first-key-'));
    const headers = {
      Authorization: `Bearer ${readFileSync(join(stranger, file as string), 'utf8').trim()}`,
    };
    const page = await fetch(address, { headers });
    assert.ok(page.status < 400, `the dashboard answers ${page.status}`);
  } finally {
    up.kill('SIGTERM');
  }
  assert.deepEqual(await ended, [0, null]);

  duly('init');
  // The test that it wrote, on virtual time.
  run(process.execPath, ['--test'], stranger);
});

test('the Dockerfile and the compose file name what there is', () => {
  const instructions = readDockerfile();
  const scripts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts;
  for (const [, script] of instructions.flatMap(([, rest]) => [...rest.matchAll(/npm run (\S+)/g)]))
    assert.ok(Object.hasOwn(scripts, script as string), script);
  const { node } = JSON.parse(readFileSync(join(root, 'packages/duly/package.json'), 'utf8')).engines;
  for (const [name, rest] of instructions)
    if (name === 'FROM') assert.ok(Number(/^node:(\d+)/.exec(rest)?.[1]) > Number(/\d+/.exec(node)), rest);
  const { services, volumes } = readCompose();
  assert.deepEqual(Object.keys(services).sort(), ['postgres', 'server', 'worker']);
  for (const { build, volumes: mounts = [], depends_on: needs = {} } of Object.values(services)) {
    if (build !== undefined) assert.ok(existsSync(join(root, 'docker', build.context, build.dockerfile)));
    for (const [from] of mounts.map((mount) => mount.split(':')) as [string][])
      assert.ok(from.startsWith('./') ? existsSync(join(root, 'docker', from)) : from in volumes, from);
    for (const name of Object.keys(needs)) assert.ok(name in services, name);
  }
  // Only the server is reached from outside, and only from this machine unless somebody says otherwise.
  assert.deepEqual(
    Object.values(services).flatMap(({ ports = [] }) => ports),
    ['127.0.0.1:4600:4600'],
  );
});

test('what the image holds runs as the compose file says, given nothing but the address of a store', async (t) => {
  const image = join(folder, 'image');
  mkdirSync(join(image, 'packed'), { recursive: true });
  for (const name of Object.keys(packages)) {
    const tarball = tarballOf(name as keyof typeof packages);
    cpSync(tarball, join(image, 'packed', basename(tarball)));
  }
  try {
    runUnder(image, finalCommands(), { ...env, npm_config_prefer_offline: 'true' });
  } catch (error) {
    const { status, stderr } = error as { status: number; stderr: Buffer };
    if (isSkipped(t, { status, stderr: String(stderr) })) return;
  }
  cpSync(join(root, 'docker/tasks'), join(image, 'app/tasks'), { recursive: true });
  const { services } = readCompose();
  const store = inSchema(await testPostgresUrl(), freshSchema());
  const start = (name: string) => {
    const { command: given = '', environment = {} } = services[name] as Service;
    // Not on every address and not on the usual port: this is not a container.
    const command = given.replace('0.0.0.0', '127.0.0.1').replace('--port 4600', '--port 0');
    assert.deepEqual(Object.keys(environment), ['DULY_STORE']);
    const child = spawn(join(image, 'usr/local/bin/duly'), command.split(' '), {
      cwd: join(image, 'app'),
      env: { PATH: env.PATH, DULY_STORE: store },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    return { child, ended: once(child, 'exit'), lines: createInterface({ input: child.stdout }) };
  };
  const server = start('server');
  let address: URL | null = null;
  for await (const line of server.lines) {
    if (!line.startsWith('Dashboard: ')) continue;
    address = new URL(line.replace('Dashboard: ', ''));
    break;
  }
  const { origin, port } = address as URL;
  const [file] = readdirSync(join(image, 'app')).filter((name) => name.startsWith('duly-first-key-'));
  const key = readFileSync(join(image, 'app', file as string), 'utf8').trim();
  const worker = start('worker');
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
  };
  const body = JSON.stringify({ type: 'hello', input: 'Ada' });
  const created = (await (await fetch(`${origin}/api/jobs`, { method: 'POST', headers, body })).json()) as {
    id: string;
  };
  for await (const line of worker.lines) if (line.includes(`${created.id}  hello completed`)) break;
  const job = (await (await fetch(`${origin}/api/jobs/${created.id}`, { headers })).json()) as {
    result: string;
  };
  assert.equal(job.result, 'Hello Ada');
  const [, program, ...args] = (services.server as Service).healthcheck.test;
  run(
    program as string,
    args.map((arg) => arg.replace('4600', port)),
    folder,
  );
  for (const { child, ended } of [worker, server]) {
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  }
});
