import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineMaintenance, maintainWithGit, type Step, steps } from './repository-maintenance.ts';

function createMaintenance() {
  const t = createTestDuly({ start: '2027-01-15T12:00:00Z' });
  const broken = new Set<string>();
  const done: { path: string; step: Step; at: Date }[] = [];
  const maintenance = defineMaintenance(t, async (path, step) => {
    if (broken.has(path)) throw new Error('The disk is full.');
    done.push({ path, step, at: t.now });
  });
  return { t, broken, done, maintenance };
}

test('each repository has its own minute of two hours, the same every night', async () => {
  const { t, done, maintenance } = createMaintenance();
  const paths = Array.from({ length: 50 }, (_, i) => `/srv/git/${i}.git`);
  for (const path of paths) await maintenance.add(path);
  const [first, second] = [await t.advance('1 day'), await t.advance('1 day')];
  assert.deepEqual([first.length, second.length], [50, 50]);
  const startsOf = (ran: typeof first) => ran.map(({ at }) => at.getTime());
  const begin = Date.parse('2027-01-16T00:00:00Z');
  for (const at of startsOf(first))
    assert.ok(at >= begin && at < begin + 7_200_000, new Date(at).toISOString());
  assert.ok(new Set(startsOf(first)).size > 45, 'no herd');
  assert.deepEqual(
    startsOf(second),
    startsOf(first).map((at) => at + 86_400_000),
  );
  assert.deepEqual(
    done.filter(({ path }) => path === paths[7]).map(({ step }) => step),
    [...steps, ...steps],
  );
  await t.stop();
});

test('flagged after three failed nights in a row, and no more once a night goes well', async () => {
  const { t, broken, maintenance } = createMaintenance();
  await maintenance.add('web');
  await maintenance.add('api');
  const events: string[] = [];
  t.on('schedule.flagged', ({ name }) => void events.push(`flagged ${name}`));
  t.on('schedule.recovered', ({ name }) => void events.push(`recovered ${name}`));
  broken.add('api');
  await t.advance('2 days');
  assert.deepEqual(await maintenance.flagged(), []);
  broken.clear();
  await t.advance('1 day');
  broken.add('api');
  await t.advance('2 days');
  assert.deepEqual(await maintenance.flagged(), [], 'two, one that went well, two');
  await t.advance('1 day');
  assert.deepEqual(await maintenance.flagged(), [{ path: 'api', failureCount: 3 }]);
  await t.advance('1 day');
  assert.deepEqual(await maintenance.flagged(), [{ path: 'api', failureCount: 4 }], 'it goes on');
  broken.clear();
  await t.advance('1 day');
  assert.deepEqual(await maintenance.flagged(), []);
  assert.deepEqual(events, ['flagged maintenance api', 'recovered maintenance api']);
  await t.stop();
});

test('a night on which nobody was there is not made up for by day', async () => {
  const { t, done, maintenance } = createMaintenance();
  await maintenance.add('web');
  await t.outage('22h');
  await t.advance('2h');
  assert.deepEqual(done, []);
  await t.advance('1 day');
  assert.equal(done.length, steps.length);
  await t.stop();
});

test('git does it', async (context) => {
  const path = mkdtempSync(join(tmpdir(), 'duly-example-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', path, ...args], {
      env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
      encoding: 'utf8',
    });
  git('init', '-q');
  writeFileSync(join(path, 'a.txt'), 'a');
  git('add', '.');
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'first');
  const t = createTestDuly({ patience: '30s' });
  const maintenance = defineMaintenance(t, maintainWithGit);
  await maintenance.add(path);
  const [ran] = await t.advance('1 day');
  assert.equal(ran?.status, 'COMPLETED', ran?.error?.message);
  assert.match(git('count-objects', '-v'), /^in-pack: 3$/m);
  rmSync(join(path, '.git/HEAD'));
  const [failed] = await t.advance('1 day');
  assert.equal(failed?.status, 'RETRYING');
  await t.stop();
});
