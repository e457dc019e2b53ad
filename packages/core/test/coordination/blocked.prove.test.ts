// Real processes: a holder whose main thread is blocked for longer than its lock lives.
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { Duly } from '../../src/index.ts';
import { freeze, isStopped } from '../processes/freeze.ts';
import type { HolderNews } from './blocked-holder.ts';

const child = new URL('./blocked-holder.ts', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'duly-blocked-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const postgres = await testPostgresUrl();
let count = 0;
const file = (): string => join(folder, `${++count}.db`);

type What = 'lock' | 'leader' | 'once';

function startHolder(
  t: TestContext,
  { store, what, ttlMs, block }: { store: string; what: What; ttlMs: number; block: string | number },
) {
  const one = fork(child, [store, what, String(ttlMs), String(block)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const news: HolderNews[] = [];
  const waiting = new Set<() => void>();
  one.on('message', (message: HolderNews) => {
    news.push(message);
    for (const look of [...waiting]) look();
  });
  t.after(async () => {
    if (one.exitCode !== null || one.signalCode !== null) return;
    one.kill('SIGKILL');
    await once(one, 'exit');
  });
  return {
    process: one,
    news<Kind extends HolderNews['kind']>(kind: Kind): Promise<Extract<HolderNews, { kind: Kind }>> {
      return new Promise((resolve) => {
        const look = (): void => {
          const found = news.find((message) => message.kind === kind);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found as never);
        };
        waiting.add(look);
        look();
      });
    },
  };
}

/** Another process's client on the same store. */
function openOther(t: TestContext, store: string): Duly {
  const duly = new Duly({ store, logger: false });
  t.after(() => duly.stop());
  return duly;
}

for (const [engine, createStore] of [
  ['sqlite', () => `sqlite:${file()}`],
  ['postgres', () => inSchema(postgres, freshSchema())],
] as const) {
  test(`${engine}: a holder that blocks its event loop for three ttl keeps its lock`, async (t) => {
    const store = createStore();
    const holder = startHolder(t, { store, what: 'lock', ttlMs: 1_000, block: 3_000 });
    await holder.news('held');
    const taken = openOther(t, store).lock('busy', { wait: 'forever' }, () => 'mine');
    assert.deepEqual(await holder.news('on'), { kind: 'on', aborted: false, isLeader: null });
    assert.deepEqual(await holder.news('done'), { kind: 'done', kept: true });
    assert.equal((await taken).acquired, true);
  });

  test(`${engine}: a leader that blocks its event loop for three ttl stays the leader`, async (t) => {
    const store = createStore();
    const holder = startHolder(t, { store, what: 'leader', ttlMs: 1_000, block: 3_000 });
    await holder.news('held');
    const other = openOther(t, store).leader('busy', { ttl: 1_000 });
    let hasResigned = false;
    const followed = other.elected().then(() => assert.ok(hasResigned, 'two processes led at the same time'));
    assert.deepEqual(await holder.news('on'), { kind: 'on', aborted: false, isLeader: true });
    hasResigned = true;
    await followed;
    await other.resign();
  });

  test(`${engine}: once() runs nowhere else while its caller blocks its event loop`, async (t) => {
    const store = createStore();
    const holder = startHolder(t, { store, what: 'once', ttlMs: 1_000, block: 3_000 });
    await holder.news('held');
    const other = openOther(t, store).once('busy', { ttl: 1_000 }, () => assert.fail('ran twice'));
    assert.deepEqual(await holder.news('on'), { kind: 'on', aborted: false, isLeader: null });
    assert.equal(await other, null);
  });

  for (const what of ['lock', 'leader'] as const) {
    test(`${engine}: a ${what} lost in a frozen process is known in the turn that goes on`, async (t) => {
      const store = createStore();
      const flag = join(folder, `${++count}.flag`);
      const holder = startHolder(t, { store, what, ttlMs: 1_000, block: flag });
      await holder.news('held');
      freezeOn(store, holder.process);
      const other = openOther(t, store);
      if (what === 'lock') await other.lock('busy', { wait: 'forever' }, () => null);
      else await other.leader('busy').elected();
      writeFileSync(flag, '');
      holder.process.kill('SIGCONT');
      const isLeader = what === 'leader' ? false : null;
      assert.deepEqual(await holder.news('on'), { kind: 'on', aborted: true, isLeader });
    });
  }
}

function freezeOn(store: string, one: ChildProcess): void {
  if (store.startsWith('sqlite:')) freeze(one, store.slice('sqlite:'.length));
  else {
    one.kill('SIGSTOP');
    while (!isStopped(one.pid as number));
  }
}

test('inline, where no thread renews, a lock lost in a block is known in the turn that goes on', async (t) => {
  const store = `sqlite:${file()}`;
  const holder = startHolder(t, { store: `${store}?inline=1`, what: 'lock', ttlMs: 500, block: 1_500 });
  await holder.news('held');
  const taken = await openOther(t, store).lock('busy', { wait: 'forever' }, () => 'mine');
  assert.equal(taken.acquired, true);
  assert.deepEqual(await holder.news('on'), { kind: 'on', aborted: true, isLeader: null });
  assert.deepEqual(await holder.news('done'), { kind: 'done', kept: false });
});
