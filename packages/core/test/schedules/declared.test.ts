import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Duly, type DulyOptions, type EveryDefinition } from '../../src/index.ts';
import { compareReleases } from '../../src/schedule/release.ts';

/** Programs on one file. Each declares what it is told and starts as a scheduler, so that nothing runs. */
function programs(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-declared-'));
  const file = join(folder, 'duly.db');
  const all: Duly[] = [];
  t.after(async () => {
    await Promise.all(all.map((duly) => duly.stop({ drain: 0 })));
    rmSync(folder, { recursive: true, force: true });
  });
  const open = (options: DulyOptions = {}): Duly => {
    const duly = new Duly({
      store: `sqlite:${file}`,
      app: 'studio',
      logger: false,
      ...options,
    });
    all.push(duly);
    return duly;
  };
  return {
    file,
    open,
    async start(
      declared: Record<string, EveryDefinition | EveryDefinition[]>,
      options?: DulyOptions,
    ): Promise<Duly> {
      const duly = open(options);
      for (const [name, every] of Object.entries(declared)) duly.task({ name, every, run: () => {} });
      await duly.start({ roles: ['scheduler'] });
      return duly;
    },
  };
}

const far = { cron: '0 0 1 1 *' };
const statusesOf = async (duly: Duly) =>
  Object.fromEntries((await duly.schedules.list()).schedules.map(({ name, status }) => [name, status]));

test('what is declared is added at start, once, whoever starts', async (t) => {
  const { start } = programs(t);
  const declared = {
    report: { ...far, timezone: 'Asia/Kolkata', input: { a: 1 } },
    clean: [{ rate: '1h' }, { ...far, name: 'yearly' }],
  };
  const all = await Promise.all(Array.from({ length: 5 }, () => start(declared, { release: '1' })));
  const { schedules } = await (all[0] as Duly).schedules.list();
  assert.deepEqual(
    schedules.map(({ name, app, release, generation }) => [name, app, release, generation]),
    [
      ['clean', 'studio', '1', 1],
      ['report', 'studio', '1', 1],
      ['yearly', 'studio', '1', 1],
    ],
  );
  assert.deepEqual(schedules[1]?.input, { a: 1 });
  const audit = await (all[0] as Duly).audit({ limit: 100 });
  assert.equal(audit.filter(({ action }) => action === 'create').length, 3);
});

test('a new release edits, and keeps the cursor when the rule is the same', async (t) => {
  const { start } = programs(t);
  const one = await start({ report: { rate: '1h' } }, { release: '1' });
  const before = await one.schedules.get('report');
  await one.stop();
  const two = await start({ report: { rate: '1h', missed: 'skip' } }, { release: '2' });
  const after = await two.schedules.get('report');
  assert.deepEqual([after.policies.missed, after.release, after.nextSlot], ['skip', '2', before.nextSlot]);
  const three = await start({ report: { rate: '2h', missed: 'skip' } }, { release: '3' });
  assert.notDeepEqual((await three.schedules.get('report')).nextSlot, before.nextSlot);
});

test('an old release started beside a new one changes nothing', async (t) => {
  const { start } = programs(t);
  const fresh = await start({ report: { cron: '0 6 1 1 *' } }, { release: '10' });
  const old = await start({ report: { cron: '0 5 1 1 *' }, gone: far }, { release: '9' });
  const report = await fresh.schedules.get('report');
  assert.deepEqual([report.rule.cron, report.release], ['0 6 1 1 *', '10']);
  assert.equal((await old.schedules.diff()).find(({ name }) => name === 'report')?.action, 'keep');
  // What only the old one declares is added: it runs, and it wants it.
  assert.equal((await fresh.schedules.get('gone')).status, 'active');
});

test('what a newer release no longer declares is disabled with a note, and comes back with its declaration', async (t) => {
  const { start } = programs(t);
  const one = await start({ report: far, clean: far }, { release: '1' });
  const two = await start({ report: far }, { release: '2' });
  const clean = await two.schedules.get('clean');
  assert.deepEqual([clean.status, clean.drift?.kind, clean.nextRunAt], ['disabled', 'undeclared', null]);
  assert.equal(clean.disabled?.note, 'release "2" no longer declares it');
  // The old one restarts: what is disabled stays so for it as well, until a release that is not older declares it again.
  await one.stop();
  await start({ report: far, clean: far }, { release: '1' });
  assert.equal((await two.schedules.get('clean')).status, 'disabled');
  await start({ report: far, clean: far }, { release: '3' });
  assert.deepEqual(await statusesOf(two), { clean: 'active', report: 'active' });
  assert.equal((await two.schedules.get('clean')).drift, null);
});

test('without a release nothing is disabled: it is shown as drift', async (t) => {
  const { start } = programs(t);
  await start({ report: far, clean: far });
  const less = await start({ report: far });
  const clean = await less.schedules.get('clean');
  assert.deepEqual([clean.status, clean.drift?.kind], ['active', 'undeclared']);
  const again = await start({ report: far, clean: far });
  assert.equal((await again.schedules.get('clean')).drift, null);
});

test('a process that declares less, of the same release, takes nothing from one that runs', async (t) => {
  const { open } = programs(t);
  const whole = open({ release: '5' });
  for (const name of ['report', 'clean']) whole.task({ name, every: far, run: () => {} });
  await whole.start();
  const part = open({ release: '5' });
  part.task({ name: 'report', every: far, run: () => {} });
  await part.start();
  assert.deepEqual(await statusesOf(part), { clean: 'active', report: 'active' });
  await whole.stop();
  const alone = open({ release: '5' });
  alone.task({ name: 'report', every: far, run: () => {} });
  await alone.start();
  assert.deepEqual(await statusesOf(part), { clean: 'disabled', report: 'active' });
});

test('schedules of other apps and dynamic ones are never touched', async (t) => {
  const { start } = programs(t);
  const other = await start({ report: far }, { app: 'shop', release: '1' });
  await other.schedules.put({ task: 'report', name: 'mine', rate: '1h' });
  const studio = await start({}, { release: '9' });
  assert.deepEqual(await studio.schedules.apply([], { prune: true }), []);
  assert.deepEqual(await statusesOf(studio), { mine: 'active', report: 'active' });
});

test("a person's override survives deploys, shows as drift, and is taken back by revert", async (t) => {
  const { start } = programs(t);
  const one = await start({ report: { cron: '0 6 * * *', missed: 'skip' } }, { release: '1', actor: 'ada' });
  const edited = await one.schedules.edit('report', { cron: '0 7 * * *' }, { note: 'until May' });
  assert.equal(edited.rule.cron, '0 7 * * *');
  assert.deepEqual(
    { ...edited.drift, at: null },
    {
      kind: 'overridden',
      fields: [{ field: 'cron', declared: '0 6 * * *', stands: '0 7 * * *' }],
      by: 'ada',
      at: null,
      note: 'until May',
    },
  );
  const two = await start({ report: { cron: '0 5 * * *', missed: 'all' } }, { release: '2' });
  const after = await two.schedules.get('report');
  assert.deepEqual([after.rule.cron, after.policies.missed, after.release], ['0 7 * * *', 'all', '2']);
  assert.deepEqual(after.drift?.fields, [{ field: 'cron', declared: '0 5 * * *', stands: '0 7 * * *' }]);
  const reverted = await two.schedules.revert('report');
  assert.deepEqual([reverted.rule.cron, reverted.drift], ['0 5 * * *', null]);
});

test("a person's pause survives deploys", async (t) => {
  const { start } = programs(t);
  const one = await start({ report: far }, { release: '1' });
  await one.schedules.pause('report', { note: 'wait' });
  const two = await start({ report: { ...far, missed: 'skip' } }, { release: '2' });
  assert.deepEqual(await statusesOf(two), { report: 'paused' });
  const three = await start({}, { release: '3' });
  assert.equal((await three.schedules.get('report')).status, 'paused');
});

test('diff tells what apply does, and apply with prune removes', async (t) => {
  const { start } = programs(t);
  const duly = await start({ report: { cron: '0 6 * * *' }, clean: far }, { release: '1' });
  const wanted = [
    { task: 'report', cron: '0 7 * * *', queue: 'slow' },
    { task: 'fresh', rate: '5m' },
  ];
  const short = (diffs: Awaited<ReturnType<typeof duly.schedules.diff>>) =>
    diffs.map(({ name, action, fields }) => [
      name,
      action,
      fields
        .map(({ field }) => field)
        .sort()
        .join(),
    ]);
  const plan = [
    ['report', 'edit', 'cron,queue'],
    ['fresh', 'add', ''],
  ];
  assert.deepEqual(short(await duly.schedules.diff(wanted)), [...plan, ['clean', 'disable', '']]);
  assert.deepEqual(short(await duly.schedules.apply(wanted, { prune: true })), [
    ...plan,
    ['clean', 'remove', ''],
  ]);
  assert.deepEqual(short(await duly.schedules.diff(wanted)), [
    ['report', 'none', ''],
    ['fresh', 'none', ''],
  ]);
  assert.deepEqual(await statusesOf(duly), { fresh: 'active', report: 'active' });
});

test('a task that is defined after the start has its schedules applied', async (t) => {
  const { start } = programs(t);
  const duly = await start({});
  duly.task({ name: 'late', every: far, run: () => {} });
  await duly.next('call', ({ verb }) => verb === 'applySchedules');
  assert.deepEqual(await statusesOf(duly), { late: 'active' });
});

test('a node that only works applies nothing', async (t) => {
  const { open } = programs(t);
  const duly = open();
  duly.task({ name: 'report', every: far, run: () => {} });
  await duly.start({ roles: ['worker'] });
  assert.deepEqual(await statusesOf(duly), {});
});

test('where only one has a release, the declaration that comes last is taken', async (t) => {
  const { start } = programs(t);
  await start({ report: { cron: '0 6 * * *' } }, { release: '7' });
  const duly = await start({ report: { cron: '0 7 * * *' } });
  const report = await duly.schedules.get('report');
  assert.deepEqual([report.rule.cron, report.release], ['0 7 * * *', null]);
});

test('a schedule that cannot be read here is told, left alone, and keeps no node from starting', async (t) => {
  const { start, open, file } = programs(t);
  await start({ report: far, clean: far });
  const db = new DatabaseSync(file);
  db.exec(`UPDATE schedules SET spec = '{"v":99}' WHERE name = 'report'`);
  db.close();
  const duly = open();
  const told: unknown[] = [];
  duly.on('error', ({ error }) => told.push(error));
  for (const name of ['report', 'clean'])
    duly.task({ name, every: { ...far, missed: 'skip' }, run: () => {} });
  await duly.start({ roles: ['scheduler'] });
  assert.equal((told[0] as { code: string }).code, 'schema_too_new');
  assert.equal((await duly.schedules.get('clean')).policies.missed, 'skip');
  assert.deepEqual(await statusesOf(duly), { clean: 'active' }, 'the others are still listed');
  await assert.rejects(duly.schedules.get('report'), { code: 'schema_too_new' });
});

test('releases are compared by their numbers', () => {
  const order = ['1.2.0-rc.1', '1.2.0', 'v1.10.0', '2.0.0'];
  for (const [i, one] of order.entries()) {
    for (const [j, other] of order.entries()) {
      assert.equal(Math.sign(compareReleases(one, other)), Math.sign(i - j), `${one} ${other}`);
    }
  }
  assert.ok(compareReleases('build-9', 'build-10') < 0);
  assert.ok(compareReleases('2027-01-15', '2027-02-01') < 0);
  assert.equal(compareReleases('1.0.0+a', '1.0.0+b'), 0);
});
