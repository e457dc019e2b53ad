import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Duly, type DulyOptions, type EveryDefinition } from '../../src/index.ts';
import { resolveTask } from '../../src/jobs/task-options.ts';
import { compareReleases } from '../../src/schedules/definition/app-release.ts';
import {
  type DeclaredInput,
  planDeclared,
  type StoredSchedule,
  specOf,
} from '../../src/schedules/definition/declared.ts';
import { readDraft } from '../../src/schedules/definition/definition.ts';
import { scheduleIdOf } from '../../src/schedules/definition/identity.ts';
import { scene } from './setup.ts';

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

/** A stored schedule `clean`. */
function storedClean({ release, isDisabled }: { release: string; isDisabled: boolean }): StoredSchedule {
  const task = resolveTask({ name: 'clean', run: () => {} }, () => null);
  const draft = readDraft(far, { task, app: 'studio', now: 0, inputBytesMax: 1_000 });
  const pause = { at: 0, untilAt: null, note: null, cause: 'disabled' as const, by: null };
  return {
    record: { id: scheduleIdOf(draft), name: draft.name, tenant: draft.tenant, version: 1 },
    spec: specOf(draft, { release, override: null, drift: null }),
    state: { pause: isDisabled ? pause : null },
  };
}

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

test('a lower release that declares it takes the mark away', async (t) => {
  const { start } = programs(t);
  await (await start({ report: far, clean: far }, { release: '2' })).stop();
  const lesser = await start({ report: far }, { release: '1' });
  assert.equal((await lesser.schedules.get('clean')).drift?.kind, 'undeclared');
  await lesser.stop();
  const lower = await start({ report: far, clean: far }, { release: '1' });
  const clean = await lower.schedules.get('clean');
  assert.deepEqual([clean.status, clean.drift, clean.release], ['active', null, '2']);
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

test('a scheduler that declares more is seen, also by one that starts at the same moment', async (t) => {
  const { start } = programs(t);
  const whole = await start({ report: far, clean: far }, { release: '5' });
  const part = await start({ report: far }, { release: '5' });
  assert.deepEqual(await statusesOf(part), { clean: 'active', report: 'active' });
  const [diff] = (await part.schedules.diff()).filter(({ name }) => name === 'clean');
  assert.match(diff?.note ?? '', /^not declared here: another node of the same release declares it$/);
  const nodes = await part.nodes();
  assert.deepEqual(nodes.map(({ release, declares }) => [release, declares?.length]).sort(), [
    ['5', 1],
    ['5', 2],
  ]);
  await Promise.all([whole.stop(), part.stop()]);

  await Promise.all([
    start({ report: far }, { release: '5' }),
    start({ report: far, clean: far }, { release: '5' }),
    start({ report: far }, { release: '5' }),
  ]);
  const last = await start({ report: far }, { release: '5' });
  assert.deepEqual(await statusesOf(last), { clean: 'active', report: 'active' });
});

test('a node of an older release, or one that only has the task, does not keep what the newest no longer declares', async (t) => {
  const { start, open } = programs(t);
  await start({ report: far, clean: far }, { release: '4' });
  const handler = open({ release: '5' });
  for (const name of ['report', 'clean']) handler.task({ name, run: () => {} });
  await handler.start({ roles: ['worker'] });
  const five = await start({ report: far }, { release: '5' });
  assert.deepEqual(await statusesOf(five), { clean: 'disabled', report: 'active' });
});

test('what was disabled in the moment in which a node came up that declares it goes on', () => {
  const known = storedClean({ release: '5', isDisabled: true });
  const input = { release: '5', declared: [], stored: [known], prune: false, now: 0 };
  const stepWith = (elsewhere: DeclaredInput['elsewhere']) => planDeclared({ ...input, elsewhere })[0];
  const step = stepWith([{ release: '5', declares: [known.record.id] }]);
  assert.deepEqual([step?.step, step?.step === 'edit' && step.enables], ['edit', true]);
  assert.equal(stepWith([{ release: '5', declares: null }])?.step, 'edit', 'it may declare anything');
  for (const elsewhere of [
    [],
    [{ release: '5', declares: [] }],
    [{ release: '4', declares: [known.record.id] }],
    [{ release: null, declares: [known.record.id] }],
  ]) {
    assert.equal(stepWith(elsewhere)?.step, 'none', JSON.stringify(elsewhere));
  }
});

test('schedules of other apps and dynamic ones are never touched', async (t) => {
  const { start } = programs(t);
  const other = await start({ report: far }, { app: 'shop', release: '1' });
  await other.schedules.put({ type: 'report', name: 'mine', rate: '1h' });
  const studio = await start({}, { release: '9' });
  assert.deepEqual(await studio.schedules.apply([], { prune: true }), []);
  assert.deepEqual(await statusesOf(studio), { mine: 'active', report: 'active' });
});

test('what one process declares is applied by another without its code, to the last option of its tasks', async (t) => {
  const { open } = programs(t);
  const coded = open({ release: '3' });
  coded.task({
    name: 'report',
    version: 4,
    queue: 'night',
    priority: 7,
    retry: { attempts: 9, backoff: 'linear', delay: '3s', maxDelay: '1m', jitter: 0.5 },
    timeout: 'none',
    grace: '1m',
    startDeadline: '2h',
    retention: '2 days',
    deadRetention: '9 days',
    every: [
      { ...far, input: { a: 1 } },
      { rate: '1h', name: 'hourly', startDeadline: '5m' },
    ],
    run: () => {},
  });
  coded.task({ name: 'bill', delivery: 'at-most-once', every: '0 6 1 * *', run: () => {} });
  coded.task({ name: 'unscheduled', run: () => {} });
  const { app, release, schedules, tasks } = await coded.schedules.declared();
  assert.deepEqual([app, release, schedules.length, tasks.length], ['studio', '3', 3, 2]);

  const other = open({ app: 'server' });
  // Something else goes by the same name here.
  other.task({ name: 'bill', version: 2, run: () => {} });
  const how = { app, release: '3', tasks };
  const created = await other.schedules.apply(JSON.parse(JSON.stringify(schedules)), how);
  assert.deepEqual(new Set(created.map(({ action }) => action)), new Set(['add']));
  assert.deepEqual(
    (await coded.schedules.diff()).map(({ action, fields }) => [action, fields]),
    [
      ['none', []],
      ['none', []],
      ['none', []],
    ],
  );
  const { tasks: _, ...without } = how;
  const [first] = await other.schedules.diff(schedules, without);
  assert.equal(first?.action, 'edit', 'without what is said of the tasks it is not the same');
  await assert.rejects(other.schedules.apply(undefined, { tasks }), { code: 'invalid_option' });
  await assert.rejects(other.schedules.apply(schedules, { ...how, tasks: 'report' as never }), {
    code: 'invalid_option',
  });
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
});

test("a person's override that contradicts a new declaration stays whole, and the comparison says so", async (t) => {
  const { open, start } = programs(t);
  const one = await start({ report: far }, { release: '1' });
  await one.schedules.edit('report', { overlap: 'cancelOther' }, { note: 'it hangs' });
  await one.stop();
  const two = open({ release: '2' });
  two.task({ name: 'report', every: { cron: '0 4 * * *', missed: 'all' }, run: () => {} });
  const [step] = await two.schedules.diff();
  assert.match(
    step?.note ?? '',
    /^changed by \S+, which contradicts what is declared now: it stays whole as it is until it is reverted$/,
  );
  await two.start({ roles: ['scheduler'] });
  const kept = await two.schedules.get('report');
  assert.deepEqual(
    [kept.rule.cron, kept.policies.missed, kept.policies.overlap, kept.release, kept.drift?.kind],
    [far.cron, 'latest', 'cancelOther', '2', 'overridden'],
  );
  assert.deepEqual(
    (await two.schedules.diff()).map(({ action }) => action),
    ['none'],
  );
  const reverted = await two.schedules.revert('report');
  assert.deepEqual(
    [reverted.rule.cron, reverted.policies.missed, reverted.policies.overlap],
    ['0 4 * * *', 'all', 'bufferAll'],
  );
});

test("a disabled schedule still knows what was declared below a person's changes", async (t) => {
  const { start } = programs(t);
  const one = await start({ report: far }, { release: '1' });
  await one.schedules.edit('report', { cron: '0 1 * * *' });
  await one.stop();
  const two = await start({}, { release: '2' });
  const gone = await two.schedules.get('report');
  assert.deepEqual([gone.status, gone.drift?.kind, gone.rule.cron], ['disabled', 'undeclared', '0 1 * * *']);
  assert.deepEqual(gone.drift?.fields, [{ field: 'cron', declared: far.cron, stands: '0 1 * * *' }]);
  const edited = await two.schedules.edit('report', { priority: 5 });
  assert.deepEqual([edited.drift?.kind, edited.drift?.fields.length], ['undeclared', 2]);
  const reverted = await two.schedules.revert('report');
  assert.deepEqual(
    [reverted.status, reverted.drift?.kind, reverted.rule.cron, reverted.priority],
    ['disabled', 'undeclared', far.cron, 0],
  );
});

test('what is no longer declared is disabled while it is paused too, and goes back to its pause', async (t) => {
  const { start } = programs(t);
  const one = await start({ report: far, clean: far }, { release: '1', actor: 'ada' });
  await one.schedules.pause('report', { note: 'wait' });
  const [gone] = (await one.schedules.diff([{ type: 'clean', ...far }])).filter(
    ({ name }) => name === 'report',
  );
  assert.deepEqual(
    [gone?.action, gone?.note],
    ['disable', 'release "1" no longer declares it; it was paused'],
  );
  const two = await start({ clean: far }, { release: '2' });
  const report = await two.schedules.get('report');
  assert.equal(report.status, 'disabled');
  assert.equal(report.disabled?.note, 'release "2" no longer declares it; it was paused');
  assert.deepEqual([report.paused?.cause, report.paused?.note, report.paused?.by], ['person', 'wait', 'ada']);
  assert.ok(report.disabled.at >= (report.paused?.at as Date));
  await start({ report: far, clean: far }, { release: '3' });
  const back = await two.schedules.get('report');
  assert.deepEqual([back.status, back.disabled, back.paused?.note], ['paused', null, 'wait']);
  assert.equal((await two.schedules.resume('report')).status, 'active');
});

test('a disabled schedule is not resumed, and a pause of it waits for its declaration', async (t) => {
  const { start } = programs(t);
  await start({ report: far, clean: far }, { release: '1' });
  const two = await start({ clean: far }, { release: '2' });
  await assert.rejects(two.schedules.resume('report'), { code: 'schedule_disabled' });
  assert.equal((await two.schedules.pause('report', { note: 'later' })).status, 'disabled');
  await assert.rejects(two.schedules.resume('report'), { code: 'schedule_disabled' });
  assert.equal((await two.schedules.get('report')).status, 'disabled');
  await start({ report: far, clean: far }, { release: '2' });
  const back = await two.schedules.get('report');
  assert.deepEqual([back.status, back.paused?.note], ['paused', 'later']);
});

test('a pause that ended while the schedule was disabled does not come back', async (test) => {
  const { t } = scene(test, { release: '1' });
  const declared = [{ type: 'report', name: 'nightly', rate: '1h', onResume: 'skip' as const }];
  await t.schedules.apply(declared);
  for (const until of ['2027-01-15T12:00:00Z', '2027-01-16T12:00:00Z']) {
    await t.schedules.pause('nightly', { until });
    await t.schedules.apply([]);
    assert.equal((await t.schedules.get('nightly')).paused?.cause, 'person');
    await t.advance('5h');
    const { status, paused } = await t.schedules.get('nightly');
    const isOver = t.now > new Date(until);
    assert.deepEqual([status, paused?.cause], ['disabled', isOver ? 'disabled' : 'person']);
    await t.schedules.apply(declared);
    assert.equal((await t.schedules.get('nightly')).status, isOver ? 'active' : 'paused');
  }
});

test('what a newer release has confirmed as gone is not brought back by one in between', async (t) => {
  const { start } = programs(t);
  await start({ report: far, clean: far }, { release: '1' });
  await start({ clean: far }, { release: '2' });
  const four = await start({ clean: far }, { release: '4' });
  assert.equal((await four.schedules.get('report')).release, '4');
  await start({ report: far, clean: far }, { release: '3' });
  assert.equal((await four.schedules.get('report')).status, 'disabled');
  await start({ clean: far }, { release: '3' });
  assert.equal((await four.schedules.get('report')).release, '4', 'and never lowered');
  await start({ report: far, clean: far }, { release: '4' });
  assert.equal((await four.schedules.get('report')).status, 'active');
});

test('without a release nothing of a release is changed, and its release stays', async (t) => {
  const { start } = programs(t);
  await start({ report: { cron: '0 6 * * *' }, clean: far }, { release: '2' });
  const none = await start({ report: { cron: '0 6 * * *' } });
  assert.equal((await none.schedules.get('report')).release, '2');
  const other = await start({ report: { cron: '0 7 * * *' } });
  const report = await other.schedules.get('report');
  assert.deepEqual([report.rule.cron, report.release], ['0 6 * * *', '2']);
  const [diff] = await other.schedules.diff();
  assert.deepEqual(
    [diff?.action, diff?.fields, diff?.note],
    [
      'keep',
      [{ field: 'cron', stored: '0 6 * * *', declared: '0 7 * * *' }],
      'release "2" declared it, and this process has no release',
    ],
  );
  // An older release that never knew it takes it away no more than before.
  await start({ clean: far }, { release: '1' });
  assert.deepEqual(await statusesOf(other), { clean: 'active', report: 'active' });
  // Whoever declares it takes the mark away, whatever its release.
  assert.equal((await other.schedules.get('report')).drift?.kind, 'undeclared');
  const again = await start({ report: { cron: '0 6 * * *' } });
  const declared = await again.schedules.get('report');
  assert.deepEqual([declared.drift, declared.release], [null, '2']);
});

test('prune removes nothing that a higher release declared, and without a release nothing of a release', async (t) => {
  const { start } = programs(t);
  const two = await start({ report: far, clean: far }, { release: '2' });
  const one = await start({ report: far }, { release: '1' });
  const pruned = async (duly: Duly) =>
    (await duly.schedules.apply(undefined, { prune: true }))
      .filter(({ name }) => name !== 'report')
      .map(({ name, action, note }) => [name, action, note]);
  assert.deepEqual(await pruned(one), [
    ['clean', 'keep', 'not removed: release "2" declared it, and this is release "1"'],
  ]);
  const none = await start({ report: far, loose: far });
  const less = await start({ report: far });
  assert.deepEqual(await pruned(less), [
    ['clean', 'keep', 'not removed: release "2" declared it, and this process has no release'],
    ['loose', 'remove', 'no longer declared'],
  ]);
  assert.deepEqual(await statusesOf(none), { clean: 'active', report: 'active' });
  await two.stop();
  const three = await start({ report: far }, { release: '3' });
  assert.deepEqual(await pruned(three), [['clean', 'remove', 'no longer declared']]);
});

test('a release that declares the same is noted, and no edit', async (t) => {
  const { start, open } = programs(t);
  await start({ report: far }, { release: '1' });
  const two = open({ release: '2' });
  const declared = [{ type: 'report', ...far }];
  const [diff] = await two.schedules.diff(declared);
  assert.deepEqual([diff?.action, diff?.fields, diff?.note], ['none', [], null]);
  await two.schedules.apply(declared);
  assert.equal((await two.schedules.get('report')).release, '2');
  const [newest] = await two.audit({ limit: 1 });
  assert.equal(newest?.action, 'release');
});

test('diff tells what apply does, and apply with prune removes', async (t) => {
  const { start } = programs(t);
  const duly = await start({ report: { cron: '0 6 * * *' }, clean: far }, { release: '1' });
  const wanted = [
    { type: 'report', cron: '0 7 * * *', queue: 'slow' },
    { type: 'fresh', rate: '5m' },
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

test('what was declared without a release is taken over by the first one', async (t) => {
  const { start } = programs(t);
  await start({ report: { cron: '0 6 * * *' } });
  const duly = await start({ report: { cron: '0 7 * * *' } }, { release: '7' });
  const report = await duly.schedules.get('report');
  assert.deepEqual([report.rule.cron, report.release], ['0 7 * * *', '7']);
});

test('a schedule that cannot be read here is told, left alone, and keeps no node from starting', async (t) => {
  const { start, open, file } = programs(t);
  await start({ report: far, clean: far });
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec(`UPDATE specs SET spec = '{"v":99}' WHERE seq = (SELECT seq FROM schedules WHERE name = 'report')`);
  db.close();
  const duly = open();
  const reported: unknown[] = [];
  duly.on('error', ({ error }) => reported.push(error));
  for (const name of ['report', 'clean'])
    duly.task({ name, every: { ...far, missed: 'skip' }, run: () => {} });
  await duly.start({ roles: ['scheduler'] });
  assert.equal((reported[0] as { code: string }).code, 'schema_too_new');
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
