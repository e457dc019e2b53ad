import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Duly } from '../../src/index.ts';

for (const rrule of ['FREQ=DAILY', 'FREQ=HOURLY', 'FREQ=SECONDLY;INTERVAL=10']) {
  test(`a process without the RRULE library shows, pauses, resumes and deletes a schedule that needs it: ${rrule}`, (t) =>
    playWithout(rrule, t));
}

async function playWithout(rrule: string, t: TestContext): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'duly-unreadable-'));
  const store = `sqlite:${join(folder, 'duly.db')}`;
  const duly = new Duly({ store, logger: false });
  t.after(async () => {
    await duly.stop({ drain: 0 });
    rmSync(folder, { recursive: true, force: true });
  });
  // Far ahead: no slot is to pass while the test runs.
  const startAt = '2090-01-01T00:00:00Z';
  for (const name of ['recurring', 'gone']) {
    await duly.schedules.put({ type: 'report', name, rrule, startAt, timezone: 'Europe/Rome' });
  }
  await duly.schedules.put({ type: 'report', name: 'plain', cron: '0 0 * * *' });
  const before = await duly.schedules.get('recurring');

  const reported = inFolderWithoutPackages(
    folder,
    `const { schedules, nextCursor } = await duly.schedules.list();
     const { unreadable, words, rule, nextRunAt, status, timezone } = await duly.schedules.get('recurring');
     const paused = await duly.schedules.pause('recurring', { note: 'for now' });
     const resumed = await duly.schedules.resume('recurring');
     const slots = await duly.schedules.slots('recurring');
     await duly.schedules.pause('recurring', { until: '2099-01-01' });
     await duly.schedules.delete('gone');
     const gone = await duly.schedules.get('gone', { deleted: true });
     const codes = [];
     for (const act of [
       () => duly.why('recurring', '2027-01-01'),
       () => duly.schedules.trigger('recurring'),
       () => duly.schedules.edit('recurring', { note: 'x' }),
     ]) codes.push(await act().then(() => null, (error) => error.code));
     return { names: schedules.map(({ name }) => name), nextCursor, unreadable, words, rule: rule.rrule, nextRunAt, status, timezone,
       paused: [paused.status, paused.paused.note], resumed: resumed.status, slots, gone: gone.status, codes };`,
    store,
  );
  assert.deepEqual(reported, {
    names: ['gone', 'plain', 'recurring'],
    nextCursor: null,
    unreadable: {
      code: 'rrule_library_missing',
      message: 'A recurrence rule (RRULE) needs the package "rrule-temporal", which is not installed.',
      hint: 'Run: npm install rrule-temporal',
    },
    words: 'The rule cannot be read here: rrule_library_missing.',
    rule: rrule,
    nextRunAt: null,
    status: 'active',
    timezone: 'Europe/Rome',
    paused: ['paused', 'for now'],
    resumed: 'active',
    slots: [],
    gone: 'deleted',
    codes: ['rrule_library_missing', 'rrule_library_missing', 'rrule_library_missing'],
  });

  // Where the rule can be read, it goes on as it was.
  const { paused } = await duly.schedules.get('recurring');
  assert.equal(paused?.until?.toISOString(), '2098-12-31T23:00:00.000Z');
  const after = await duly.schedules.resume('recurring');
  assert.deepEqual([after.status, after.nextSlot, after.unreadable], ['active', before.nextSlot, null]);
}

test('a process without the RRULE library deletes a schedule, and what had come is decided all the same', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-unreadable-'));
  const store = `sqlite:${join(folder, 'duly.db')}`;
  const duly = new Duly({ store, logger: false });
  t.after(async () => {
    await duly.stop({ drain: 0 });
    rmSync(folder, { recursive: true, force: true });
  });
  const definition = {
    type: 'report',
    name: 'gone',
    rrule: 'FREQ=SECONDLY',
    startAt: '2026-01-01T00:00:00Z',
  };
  const { nextSlot } = await duly.schedules.put(definition);
  const slot = nextSlot as Date;
  // Nobody decides: until the store's clock has passed the slot and one more, it is `pending`.
  while ((await duly.why('gone', slot)).asOf.getTime() <= slot.getTime() + 1_000);
  inFolderWithoutPackages(
    folder,
    `return duly.schedules.delete('gone', { note: 'off' }).then(() => null);`,
    store,
  );

  const [line, ...others] = await duly.schedules.slots('gone');
  assert.deepEqual(others, []);
  assert.deepEqual([line?.slot, line?.status, line?.reason, line?.count], [slot, 'missed', 'deleted', null]);
  const second = new Date(slot.getTime() + 1_000);
  for (const at of [slot, second]) {
    const { status, reason, sentence } = await duly.why('gone', at);
    assert.deepEqual([status, reason], ['missed', 'deleted']);
    assert.match(sentence, /^It did not run: it had come and was not decided when the schedule was deleted/);
  }
  assert.equal((await duly.why('gone', new Date(slot.getTime() + 500))).status, 'none');
  assert.equal((await duly.why('gone', line?.to as Date)).status, 'none');

  await duly.schedules.put({ type: 'report', name: 'gone', cron: '0 0 * * *' });
  const { status, sentence } = await duly.why('gone', second);
  assert.equal(status, 'missed');
  assert.match(
    sentence,
    /It was a slot of an earlier schedule of this name, which was deleted at .* \("off"\)\.$/,
  );
});

/** Runs a program on a copy of the source where Node finds no packages. */
function inFolderWithoutPackages(folder: string, program: string, store: string): unknown {
  cpSync(join(import.meta.dirname, '../../src'), join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'main.ts'),
    `import { Duly } from './src/index.ts';
     const duly = new Duly({ store: process.argv[2], logger: false });
     const told = await (async () => { ${program} })();
     await duly.stop();
     console.log(JSON.stringify(told));`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, ['main.ts', store], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout);
}
