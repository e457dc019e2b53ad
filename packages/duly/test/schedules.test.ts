import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Duly } from '@duly/core';
import { createFolder } from './command.ts';

test('add makes a schedule, says it in words with its next runs, and changes it when asked again', async (t) => {
  const folder = createFolder(t);
  const add = ['schedules', 'add', 'digest', '--type', 'mail', '--timezone', 'Europe/Rome'];
  const created = await folder.duly(...add, '--cron', '0 8 * * MON');
  assert.equal(created.code, 0, created.err);
  const [title, words, ...runs] = created.out.trimEnd().split('\n');
  assert.match(title as string, /^Schedule "digest" is created \(sch_\w{26}\)\.$/);
  assert.equal(words, 'At 08:00 on Monday, in Europe/Rome.');
  assert.equal(runs.length, 3);
  for (const run of runs) assert.match(run, /^ {2}Mon \d{4}-\d{2}-\d{2} 08:00 \+0[12]:00 {2}in \d/);
  assert.match(created.err, /^warning: There was no store at "sqlite:\.\/duly\.db" yet; it was created\.\n/);
  assert.match(created.err, /warning: No scheduler runs on this store; slots wait for one\./);
  assert.match(
    created.err,
    /warning: No task "mail" is defined here; its jobs wait for a node that has it\./,
  );

  assert.match((await folder.duly(...add, '--cron', '0 8 * * MON')).out, /^Schedule "digest" was so already/);
  const edited = await folder.json(
    ...[...add, '--every', '10m', '--input', '{"user": {"firstName": "Ada"}}', '--missed', 'latest'],
    ...['--overlap', 'buffer-one', '--jitter', '30s', '--jitter-mode', 'per-fire', '--max-runs', '5'],
    ...['--on-resume', 'latest', '--start-deadline', '5m', '--pause-after-failures', '3', '--note', 'a note'],
    ...['--queue', 'slow', '--priority', '-5', '--metadata', 'team=growth', '--exclude', '2027-12-25'],
  );
  assert.equal(edited.result, 'edited');
  assert.equal(edited.id, /sch_\w+/.exec(title as string)?.[0]);
  assert.equal(edited.type, 'mail');
  assert.equal(edited.rate, 600_000);
  assert.deepEqual(edited.exclude, [{ dates: ['2027-12-25'] }]);
  assert.deepEqual(edited.input, { user: { firstName: 'Ada' } }, 'field names of users are theirs');
  assert.deepEqual(edited.metadata, { team: 'growth' });
  assert.equal(edited.queue, 'slow');
  assert.equal(edited.priority, -5);
  assert.equal(edited.next_slots.length, 3);
  const { policies } = edited;
  assert.equal(policies.overlap, 'bufferOne');
  assert.equal(policies.jitter_ms, 30_000);
  assert.equal(policies.jitter_mode, 'perFire');
  assert.equal(policies.max_runs, 5);
  assert.equal(policies.on_resume, 'latest');
  assert.equal(policies.start_deadline_ms, 300_000);
  assert.equal(policies.pause_after_failures, 3);

  const { data } = await folder.json('schedules', 'ls');
  assert.equal(data.length, 1);
  const { result: _result, next_slots: _slots, ...schedule } = edited;
  assert.deepEqual(data[0], schedule, 'a schedule has one shape everywhere');
  const shown = await folder.duly('schedules', 'show', 'digest');
  assert.match(shown.out, /^in words +Every 10 minutes, counted from its creation, except on 2027-12-25\.$/m);
  assert.match(shown.out, /^input +\{"user":\{"firstName":"Ada"\}\}$/m);
});

test('what is wrong with a rule is said with a code, and nothing is created', async (t) => {
  const folder = createFolder(t);
  const add = ['schedules', 'add', 'a', '--type', 'b'];
  const cases: [string[], string][] = [
    [[...add], 'usage'],
    [[...add, '--cron', '* * * * *', '--every', '1m'], 'usage'],
    [['schedules', 'add', 'a', '--cron', '* * * * *'], 'usage'],
    [[...add, '--cron', '61 * * * *'], 'invalid_cron'],
    [[...add, '--cron', '0 0 31 4 *'], 'invalid_cron'],
    [[...add, '--cron', '* * * * *', '--timezone', 'Europe/Rom'], 'invalid_timezone'],
    [[...add, '--every', '0s'], 'invalid_rule'],
    [[...add, '--every', 'soon'], 'invalid_duration'],
    [[...add, '--delay', '10m', '--overlap', 'skip'], 'policy_conflict'],
    [[...add, '--cron', '* * * * *', '--missed', 'all', '--overlap', 'skip'], 'policy_conflict'],
    [[...add, '--cron', '* * * * *', '--exclude', '* * * * *'], 'everything_excluded'],
    [[...add, '--cron', '* * * * *', '--dst-gap', 'jump'], 'invalid_option'],
    [[...add, '--cron', '* * * * *', '--max-runs', 'few'], 'usage'],
    [[...add, '--rrule', 'FREQ=SOMETIMES'], 'invalid_rrule'],
    [[...add, '--cron', '* * * * *', '--start-at', '2030-01-02', '--end-at', '2030-01-01'], 'invalid_rule'],
    [['schedules', 'preview'], 'usage'],
    [['schedules', 'preview', '--cron', '* * * * *', '--count', '0'], 'invalid_option'],
    [['schedules', 'preview', '--cron', '* * * * *', '--after', 'later'], 'invalid_instant'],
  ];
  for (const [args, expected] of cases) {
    const { code, out, err } = await folder.duly(...args, '-o', 'json');
    assert.equal(out, '', args.join(' '));
    const { error } = JSON.parse(err.trimEnd().split('\n').at(-1) as string);
    assert.equal(error.code, expected, `${args.join(' ')}: ${err}`);
    assert.equal(code, 2, `${args.join(' ')}: ${err}`);
  }
  assert.ok(!existsSync(join(folder.path, 'duly.db')), 'a call that is refused makes no store');
  const word = await folder.duly(...add, '--cron', '* * * * *', '--overlap', 'serialize');
  assert.match(word.err, /one of "skip", "allow", "buffer-one", .*\nhint: .*"buffer-all"/, 'as it is typed');
  const each = await folder.duly(...add, '--cron', '* * * * *', '--missed', 'all', '--overlap', 'skip');
  assert.match(
    each.err,
    /: --missed all promises .* --overlap skip takes .*\nhint: Write --overlap buffer-all /,
  );
  const bound = await folder.duly(...add, '--cron', '* * * * *', '--missed', 'skip', '--catch-up-limit', '5');
  assert.match(bound.err, /\nhint: Leave --catch-up-limit out, or write --missed all\./);
});

test('a fixed delay is shown from the slot that is outstanding, as if its runs took no time', async (t) => {
  const folder = createFolder(t);
  const add = ['schedules', 'add', 'tick', '--type', 'report', '--delay', '10m', '--start-at', '2099-01-01'];
  const created = await folder.duly(...add);
  assert.match(
    created.out,
    /2099-01-01 00:00 .*\n.*2099-01-01 00:10 (?:.|\n)*\n {2}As if the runs took no time: a fixed delay counts from their ends\.\n$/,
  );
  const skipped = await folder.duly('schedules', 'skip-next', 'tick');
  assert.match(skipped.out, /skips .*2099-01-01 00:00 .* Next: .*2099-01-01 00:10 /);
  const { data } = await folder.json('schedules', 'preview', 'tick', '--count', '1');
  assert.equal(data[0].slot, '2099-01-01T00:10:00.000Z');
});

test('a cron is tried without a store: its next slots with what changes of the clock do, and words', async (t) => {
  const folder = createFolder(t);
  const zone = ['--timezone', 'America/New_York'];
  const next = ['cron', 'next', '30 2 * * *', ...zone, '--count', '2', '--after', '2027-03-13T12:00'];
  const gap = await folder.duly(...next);
  assert.equal(gap.code, 0, gap.err);
  assert.match(gap.out, /^SLOT \(America\/New_York\) +WHEN +CLOCK$/m);
  assert.match(
    gap.out,
    /^Sun 2027-03-14 03:00 -04:00 .* 02:30 does not exist on 2027-03-14: the first instant after the gap$/m,
  );
  assert.deepEqual((await folder.json(...next)).data, [
    {
      slot: '2027-03-14T07:00:00.000Z',
      local: '2027-03-14T03:00-04:00',
      gap: { date: '2027-03-14', time: '02:30' },
      repeat: null,
    },
    { slot: '2027-03-15T06:30:00.000Z', local: '2027-03-15T02:30-04:00', gap: null, repeat: null },
  ]);
  const skipped = await folder.json(
    ...['schedules', 'preview', '--cron', '30 2 * * *', ...zone, '--dst-gap', 'skip'],
    ...['--count', '2', '--after', '2027-03-13'],
  );
  assert.deepEqual(skipped.not_existing, [{ date: '2027-03-14', time: '02:30' }]);
  const twice = await folder.json(
    ...['schedules', 'preview', '--cron', '30 1 7 11 *', ...zone, '--dst-repeat', 'both'],
    ...['--count', '2', '--after', '2027-01-01'],
  );
  assert.deepEqual(
    twice.data.map((one: { local: string; repeat: string }) => [one.local, one.repeat]),
    [
      ['2027-11-07T01:30-04:00', 'first'],
      ['2027-11-07T01:30-05:00', 'last'],
    ],
  );

  const words = await folder.duly('cron', 'explain', '*/5 9-17 * * MON-FRI');
  assert.equal(words.out, 'Every 5 minutes from 09:00 through 17:59 on weekdays, in UTC.\n');
  const explained = await folder.json('cron', 'explain', '@daily', '--timezone', 'Asia/Kolkata');
  assert.deepEqual(explained, {
    cron: '@daily',
    timezone: 'Asia/Kolkata',
    words: 'At 00:00 every day, in Asia/Kolkata.',
  });

  const wrong = await folder.duly('cron', 'next', '0 8 * * MOM');
  assert.equal(wrong.code, 2);
  const [, expression, mark, hint] = wrong.err.split('\n') as [string, string, string, string];
  assert.equal(expression.charAt(mark.indexOf('^')), 'M', wrong.err);
  assert.equal(mark.indexOf('^'), expression.lastIndexOf('MOM'));
  assert.equal(hint, 'hint: Did you mean "MON"?');
  const unquoted = await folder.duly('cron', 'next', '0', '8', 'package.json', 'tasks', 'MON');
  assert.match(unquoted.err, /hint: .*Write the cron in quotes/);
});

test('a schedule runs, is triggered, paused, resumed, skipped and explained', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/tick.mjs': `export default { name: 'tick', run: ({ input }) => input ?? 'nothing' };`,
  });
  const up = folder.start('up');
  await up.line(/is up/);
  await folder.duly('schedules', 'add', 'tock', '--type', 'tick', '--cron', '* * * * * *', '--input', 'own');
  await up.line(/tick completed/);
  const rate = await folder.json('schedules', 'add', 'rate', '--type', 'tick', '--every', '1h');
  const whole = rate.next_slot.replace(/\.\d+/, '');
  const coming = await folder.json('why', 'rate', whole);
  assert.equal(coming.slot, rate.next_slot, 'nobody types the milliseconds of a rate');
  await folder.duly('schedules', 'rm', 'rate');
  const { last_run: last } = await folder.json('schedules', 'pause', 'tock', '--note', 'enough');
  assert.equal((await folder.duly('watch', last.job_id)).code, 0);
  const paused = await folder.json('schedules', 'show', 'tock');
  assert.equal(paused.status, 'paused');
  assert.equal(paused.paused.note, 'enough');
  assert.equal(paused.last_run.status, 'COMPLETED');
  assert.ok(paused.last_run.lateness_ms >= 0);
  assert.ok(paused.last_run.duration_ms >= 0);
  const { slot, job_id: id } = paused.last_run;
  const because = await folder.duly('why', 'tock', slot);
  assert.equal(because.code, 0, because.err);
  assert.match(because.out, /^It ran at .*, on node "node_\w+", and completed after /);
  const answer = await folder.json('why', 'tock', slot);
  assert.equal(answer.decision, 'fired');
  assert.equal(answer.status, 'completed');
  assert.equal(answer.runs[0].id, id);
  assert.equal(answer.schedule_id, paused.id);

  const triggered = await folder.duly('schedules', 'trigger', 'tock', '--input', '"once"', '--watch');
  assert.equal(triggered.code, 0, triggered.err);
  assert.match(triggered.out, /^job_\w+\n.*COMPLETED.*\nresult: "once"\n$/s);
  const shown = await folder.json('schedules', 'show', 'tock', '--slots', '1000');
  assert.ok(shown.slots.some((line: { status: string }) => line.status === 'held'));
  assert.ok(shown.slots.some((line: { slot: string; decision: string }) => line.slot === slot));
  assert.match(
    (await folder.duly('schedules', 'show', 'tock')).out,
    /^paused +since .* by \S+@\S+: enough$/m,
  );
  assert.match((await folder.duly('schedules', 'ls')).out, /^tock +tick +\* \* \* \* \* \* +UTC .*paused/m);

  const edited = await folder.duly('schedules', 'add', 'tock', '--type', 'tick', '--cron', '0 0 1 1 *');
  assert.match(edited.out, /^Schedule "tock" is changed/);
  assert.match(
    (await folder.duly('schedules', 'resume', 'tock')).out,
    /goes on\. Next: \w+ \d{4}-01-01 00:00 /,
  );
  assert.match((await folder.duly('schedules', 'resume', 'tock')).out, /was not paused/);
  const skip = await folder.json('schedules', 'skip-next', 'tock', '--note', 'holiday');
  assert.deepEqual(skip.skips, [skip.skipped_slot]);
  assert.notEqual(skip.next_slot, skip.skipped_slot);
  assert.match(
    (await folder.duly('why', 'tock', skip.skipped_slot)).out,
    /will be skipped by .* \("holiday"\)\.\n$/,
  );
  const preview = await folder.json('schedules', 'preview', 'tock', '--count', '1');
  assert.equal(preview.data[0].slot, skip.next_slot);

  const noSlot = await folder.duly('why', 'tock');
  assert.equal(noSlot.code, 2);
  assert.match(
    noSlot.err,
    /^error\[usage\]: "tock" is a schedule: .*\nhint: For example: .* why tock \d{4}-/,
  );
  const missing = await folder.duly('schedules', 'show', 'tok');
  assert.equal(missing.code, 3);
  assert.match(missing.err, /^error\[schedule_not_found\]: .*"tok"\.\nhint: Did you mean "tock"\?\n$/);
  const removed = await folder.duly('schedules', 'rm', 'nobody', 'tock');
  assert.equal(removed.code, 3, 'one that is not there does not keep the other from being done');
  assert.match(removed.err, /hint: List them: .* schedules ls\n/);
  assert.match(removed.out, /^Schedule "tock" is deleted\./);
  assert.deepEqual((await folder.json('schedules', 'ls')).data, []);

  const gone = await folder.duly('schedules', 'show', 'tock');
  assert.equal(gone.code, 0, gone.err);
  assert.match(gone.out, /^state +deleted$/m);
  assert.match(gone.out, /^deleted +.* by \S+@\S+$/m);
  assert.match(gone.out, /completed/, 'its ledger is there');
  assert.match(gone.err, /^It is deleted; its ledger remains.* schedules show sch_\w+ --slots 1000\n$/);
  const goneJson = await folder.json('schedules', 'show', 'tock');
  assert.deepEqual([goneJson.status, goneJson.next_slot, goneJson.id], ['deleted', null, paused.id]);
  assert.ok(goneJson.deleted.at > slot && goneJson.slots.length > 0);
  const again = await folder.duly('schedules', 'rm', 'tock');
  assert.equal(again.code, 3);
  assert.match(
    again.err,
    /"tock" was deleted at .* by .*\nhint: See it and its ledger: .* schedules show sch_/,
  );
});

test('backfill makes runs for slots of the past, after showing which', async (t) => {
  const folder = createFolder(t);
  await folder.duly(
    'schedules',
    'add',
    'daily',
    '--type',
    'a',
    '--cron',
    '0 2 * * *',
    '--timezone',
    'Asia/Kolkata',
  );
  const range = ['schedules', 'backfill', 'daily', '--from', '2026-01-10', '--to', '2026-01-12T12:00'];
  const dry = await folder.duly(...range, '--dry-run');
  assert.equal(
    dry.out,
    [
      '3 slots would get a run.',
      '  Sat 2026-01-10 02:00 +05:30',
      '  Sun 2026-01-11 02:00 +05:30',
      '  Mon 2026-01-12 02:00 +05:30',
      '',
    ].join('\n'),
  );
  assert.deepEqual((await folder.json('jobs', 'ls')).data, []);
  const done = await folder.json(...range, '--order', 'newest', '--concurrency', '2');
  assert.deepEqual(done.slots, [
    '2026-01-11T20:30:00.000Z',
    '2026-01-10T20:30:00.000Z',
    '2026-01-09T20:30:00.000Z',
  ]);
  assert.equal(done.jobs.length, 3);
  assert.equal(done.dry_run, false);
  const job = await folder.json('jobs', 'show', done.jobs[0]);
  assert.equal(job.origin, 'backfill');
  assert.equal(job.slot, done.slots[0]);
  const again = await folder.duly(...range);
  assert.match(again.out, /^0 slots get a run/);
  assert.match(again.err, /^Left out: 3 whose run is not over yet\.$/m);
  const skipped = await folder.duly('schedules', 'trigger', 'daily');
  assert.equal(skipped.code, 4);
  assert.equal(skipped.out, '');
  assert.match(skipped.err, /^No run: an earlier one is not finished \(overlap\)\. With --allow /);
  assert.equal((await folder.json('schedules', 'trigger', 'daily', '--allow')).result, 'created');
  const backwards = await folder.duly(...range.slice(0, 4), '2026-01-10', '--to', '2026-01-09');
  assert.equal(backwards.code, 2, backwards.err);
});

test('diff shows what the tasks here declare and what is stored, and apply makes it so', async (t) => {
  const folder = createFolder(t);
  const declare = (release: string, ...every: string[]): void =>
    folder.write({
      'duly.config.mjs': `export default { app: 'studio', release: '${release}', tasks: [{ name: 'report', every: [${every}], run() {} }] };`,
    });
  const nightly = `{ name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Rome', missed: 'all' }`;
  declare('1.0', nightly, `{ name: 'hourly', rate: '1h' }`);
  const early = await folder.duly('schedules', 'diff');
  assert.deepEqual([early.code, existsSync(join(folder.path, 'duly.db'))], [0, false]);
  assert.match(early.out, /Plan: 2 to add\.\n$/m);
  assert.match(early.err, /There is no store at .* yet; "schedules apply" creates it\./);
  await folder.duly('migrate');
  const plan = await folder.duly('schedules', 'diff');
  assert.match(plan.out, /^\+ nightly {2}At 02:00 every day, in Europe\/Rome\..*$/m);
  assert.match(plan.out, /^\+ hourly {2}Every hour, .*\nPlan: 2 to add\.\n$/m);
  assert.deepEqual((await folder.json('schedules', 'ls')).data, [], 'a diff changes nothing');
  assert.match((await folder.duly('schedules', 'apply')).out, /\nDone: 2 added\.\n$/);
  assert.match((await folder.duly('schedules', 'diff')).out, /^Nothing to do: 2 as declared\.\n$/);

  // Each run of the command reads the config anew, so that this is another release of the same app.
  declare('1.1', nightly.replace('0 2', '0 3'));
  const { applied, data } = await folder.json('schedules', 'diff');
  assert.equal(applied, false);
  const actions = Object.fromEntries(data.map((one: { name: string }) => [one.name, one]));
  assert.equal(actions.nightly.action, 'edit');
  assert.deepEqual(actions.nightly.fields, [{ field: 'cron', stored: '0 2 * * *', declared: '0 3 * * *' }]);
  assert.equal(actions.hourly.action, 'disable');
  const done = await folder.duly('schedules', 'apply');
  assert.match(done.out, /^~ nightly\n {4}cron: "0 2 \* \* \*" → "0 3 \* \* \*"\n/);
  assert.match(
    done.out,
    /^- hourly {2}release "1\.1" no longer declares it\nDone: 1 edited, 1 disabled\.\n$/m,
  );
  const states = (await folder.json('schedules', 'ls')).data.map((one: { name: string; status: string }) => [
    one.name,
    one.status,
  ]);
  assert.deepEqual(states, [
    ['hourly', 'disabled'],
    ['nightly', 'active'],
  ]);
  const unasked = await folder.duly('schedules', 'apply', '--prune');
  assert.equal(unasked.code, 2);
  assert.match(unasked.err, /To remove schedules needs --yes here/);
  const pruned = await folder.duly('schedules', 'apply', '--prune', '--yes');
  assert.match(pruned.out, /^- hourly {2}no longer declared\nDone: 1 as declared, 1 removed\.\n$/m);
  assert.equal((await folder.json('schedules', 'ls', '--app', 'studio')).data.length, 1);

  const person = new Duly({ store: `sqlite:${join(folder.path, 'duly.db')}`, actor: 'ada' });
  await person.schedules.edit('nightly', { catchUpLimit: 7 }, { note: 'for the migration' });
  await person.stop();
  const drifted = await folder.duly('schedules', 'diff');
  assert.match(
    drifted.out,
    /^= nightly\n {4}catchUpLimit: 7 stands, set by ada; the code says its default\nNothing to do: 1 as declared\.\n$/,
  );
  assert.match((await folder.duly('schedules', 'ls')).out, /^nightly .* active, drift$/m);
  const shown = await folder.duly('schedules', 'show', 'nightly');
  assert.match(
    shown.out,
    /^drift +catchUpLimit is 7, the code says its default \(changed by ada\): for the migration$/m,
  );

  const own = await folder.duly('schedules', 'add', 'nightly', '--type', 'report', '--every', '1d');
  assert.match(own.err, /warning: The code of "studio" declares a schedule "nightly" too; .* its id, sch_/);
  const ambiguous = await folder.duly('schedules', 'pause', 'nightly');
  assert.equal(ambiguous.code, 2);
  assert.match(ambiguous.err, /\nhint: Name it by its id: .*sch_\w+ \(declared by studio\)/);
  assert.match((await folder.duly('schedules', 'ls')).out, /^ID +NAME .*\nsch_/);
});

test('a config declares schedules of tasks that stand elsewhere', async (t) => {
  const folder = createFolder(t);
  const config = (type: string): string =>
    `export default { app: 'studio', schedules: [{ type: '${type}', name: 'weekly', cron: '@weekly' }] };`;
  folder.write({
    'tasks/report.mjs': `export default { name: 'report', every: '@daily', run() {} };`,
    'duly.config.mjs': config('report'),
  });
  const done = await folder.duly('schedules', 'apply');
  assert.equal(done.code, 0, done.err);
  assert.match(
    done.out,
    /^\+ report {2}At 00:00 every day, in UTC\.\n\+ weekly {2}At 00:00 on Sunday, in UTC\.\n/,
  );
  const { data } = await folder.json('schedules', 'ls', '--type', 'report');
  assert.deepEqual(
    data.map((one: { name: string }) => one.name),
    ['report', 'weekly'],
  );
  folder.write({ 'duly.config.mjs': config('reprot') });
  const wrong = await folder.duly('schedules', 'diff');
  assert.equal(wrong.code, 2);
  assert.match(
    wrong.err,
    /^error\[config_invalid\]: .*schedules\[0\].*got "reprot"\.\nhint: Did you mean "report"\?\n$/,
  );
});

test('export says what makes the same schedules, as JSON or as a crontab', async (t) => {
  const folder = createFolder(t);
  const add = async (name: string, ...args: string[]): Promise<void> => {
    const { code, err } = await folder.duly('schedules', 'add', name, '--type', 'mail', ...args);
    assert.equal(code, 0, err);
  };
  await add('monday', '--cron', '0 8 * * MON', '--timezone', 'Europe/Rome', '--input', '{"off": "50%"}');
  await add('often', '--every', '10m', '--overlap', 'allow');
  await add('last', '--cron', '0 0 L * *');
  const { data } = await folder.json('schedules', 'export');
  assert.deepEqual(
    data.map((one: { name: string }) => one.name),
    ['last', 'monday', 'often'],
  );
  assert.equal(data[1].type, 'mail');
  assert.equal(data[1].cron, '0 8 * * MON');
  assert.equal(data[1].timezone, 'Europe/Rome');
  assert.deepEqual(data[1].input, { off: '50%' });
  assert.equal(data[2].overlap, 'allow');
  const { out } = await folder.duly('schedules', 'export', 'monday', 'often', 'last', '--crontab');
  assert.match(
    out,
    /^CRON_TZ=Europe\/Rome\n# monday: .*\n# duly: .*\n0 8 \* \* MON duly run mail '\{"off":"50\\%"\}'$/m,
  );
  assert.match(out, /^# often: Every 10 minutes.* \(a crontab has no rate\)$/m);
  assert.match(out, /^# last: .* \(a crontab has no L, W, # and \?\)$/m);
  // What a line of a crontab would not keep is no line.
  const daily = ['--cron', '0 8 * * *'];
  await add('bounded', ...daily, '--start-at', '2090-01-01', '--end-at', '2091-01-01', '--max-runs', '3');
  await add('lane', ...daily, '--queue', 'slow', '--tenant', 'acme');
  await add('twice', ...daily, '--dst-repeat', 'both');
  await add('begun', ...daily, '--start-at', '2020-01-01');
  const lines = (await folder.duly('schedules', 'export', '--crontab')).out.split('\n');
  const linesOf = (name: string): string[] => lines.filter((line) => line.startsWith(`# ${name}: `));
  assert.match(linesOf('bounded').join(), /\(a crontab has no startAt, endAt, maxRuns\)$/);
  assert.match(
    lines.join('\n'),
    /^# lane: .*\n# duly: .*\n0 8 \* \* \* duly run mail --queue slow --tenant acme$/m,
  );
  assert.match(linesOf('twice').join(), /\(a crontab has no dst\)$/);
  assert.equal(
    lines.filter((line) => line.startsWith('0 8 * * * ')).length,
    2,
    'only "begun" and "lane" are lines',
  );
});

test('errors name options as they are typed', async (t) => {
  const folder = createFolder(t);
  const add = (...args: string[]) =>
    folder.duly('schedules', 'add', 'x', '--type', 'mail', '--cron', '0 8 * * *', ...args);
  const early = await add('--start-at', '2090-01-02', '--end-at', '2090-01-01');
  assert.match(early.err, /Expected --end-at not to be before --start-at/);
  const past = await add('--end-at', '2020-01-01');
  assert.match(past.err, /after --end-at/);
  assert.equal((await add()).code, 0);
  const { err } = await folder.duly('why', 'x', 'yesterday');
  assert.match(
    err,
    /Expected "slot" to be an instant like .*, or a date or time in UTC like "2027-01-15" or "2027-01-15T10:00", got "yesterday"/,
  );
  const pause = await folder.duly('schedules', 'pause', 'x', '--until', 'tomorrow');
  assert.match(pause.err, /Expected --until to be an instant like .*, or a date or time in UTC/);
});
