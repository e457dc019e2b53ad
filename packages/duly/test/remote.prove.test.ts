import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFolder, quickTasks } from './command.ts';

test('commands say the same of a server as of its store', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  folder.write({
    'tasks/more.mjs': `export default { name: 'nightly', every: { cron: '0 2 * * *', timezone: 'Europe/Rome', name: 'nightly' }, run: () => 1 };`,
  });
  const up = folder.start('up', '--port', '0');
  const address = new URL((await up.line(/^Dashboard: /)).replace('Dashboard: ', ''));
  await up.line(/schedules ls/);
  const key = folder.firstKey() as string;
  const there = ['--server', address.origin];
  folder.env.DULY_KEY = key;

  const created = await folder.json('run', 'hello', 'Ada', ...there);
  assert.equal(created.type, 'hello');
  const watched = await folder.duly('watch', created.id, ...there);
  assert.equal(watched.code, 0, watched.err);
  assert.match(watched.out, /result: "Hello Ada"/);
  const failed = await folder.json('run', 'failing', '--metadata', 'who=me', ...there);
  assert.equal((await folder.duly('watch', failed.id, ...there)).code, 10);
  const later = await folder.json('run', 'hello', 'Eve', '--in', '1h', '--key', 'eve', ...there);
  assert.equal(later.status, 'SCHEDULED');
  assert.equal(
    (await folder.json('run', 'hello', 'Eve', '--in', '1h', '--key', 'eve', ...there)).deduped,
    true,
  );
  await folder.duly('pause', 'queue', 'mail', '--note', 'new server', ...there);

  const lock = await fetch(new URL('/api/locks/rebuild/acquire', address.origin), {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ttl: '10m' }),
  });
  assert.equal(lock.status, 200, await lock.text());
  // Both look at the same; what differs is only when they looked.
  for (const words of [
    ['jobs', 'ls'],
    ['jobs', 'ls', '--status', 'failed', '--type', 'failing,hello'],
    ['jobs', 'ls', 'failing', 'FAILED'],
    ['jobs', 'show', created.id],
    ['jobs', 'show', failed.id],
    ['dead', 'ls'],
    ['why', created.id],
    ['why', failed.id],
    ['queues'],
    ['pause', 'ls'],
    ['schedules', 'ls'],
    ['locks', 'ls', '--kind', 'lock'],
  ]) {
    const [local, remote] = [await folder.json(...words), await folder.json(...words, ...there)];
    assert.deepEqual(plain(remote), plain(local), words.join(' '));
    const shown = await folder.duly(...words, ...there);
    assert.equal(shown.code, 0, shown.err);
    assert.notEqual(shown.out, '');
  }
  const lines = (await folder.duly('jobs', 'ls', '-o', 'jsonl', ...there)).out.trim().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).id),
    [later.id, failed.id, created.id],
  );
  assert.equal((await folder.json('nodes', ...there)).data.length, 1);
  assert.match((await folder.duly('nodes', ...there)).out, /hello/);
  assert.match((await folder.duly('jobs', 'logs', created.id, ...there)).out, /Greeting Ada/);

  assert.equal((await folder.json('jobs', 'cancel', later.id, ...there)).result, 'changed');
  assert.equal((await folder.json('jobs', 'retry', later.id, ...there)).result, 'changed');
  assert.deepEqual(await folder.json('resume', 'queue', 'mail', ...there), { resumed: true });
  assert.equal((await folder.json('schedules', 'pause', 'nightly', ...there)).status, 'paused');
  assert.equal((await folder.json('schedules', 'resume', 'nightly', ...there)).status, 'active');

  const triggered = await folder.duly('schedules', 'trigger', 'nightly', ...there);
  assert.match(triggered.out, /^job_/);
  assert.match(triggered.err, new RegExp(`^Dashboard: ${address.origin}/schedules/nightly$`, 'm'));
  assert.equal((await folder.json('schedules', 'skip-next', 'nightly', ...there)).skips.length, 1);
  assert.equal((await folder.json('schedules', 'show', 'nightly', ...there)).name, 'nightly');

  const secret = await folder.json(
    'keys',
    'add',
    '--scope',
    'read',
    '--note',
    'for a test',
    '--for',
    '1h',
    ...there,
  );
  assert.match(secret.key, /^duly_/);
  assert.deepEqual(await folder.json('keys', 'ls', ...there), await folder.json('keys', 'ls'));
  assert.equal((await folder.duly('keys', 'revoke', secret.id, ...there)).code, 0);
  assert.equal((await folder.json('keys', 'ls')).data.length, 1);

  const missing = await folder.duly('jobs', 'show', 'job_nothing', ...there);
  assert.equal(missing.code, 3);
  assert.match(missing.err, /error\[job_not_found\]/);
  folder.env.DULY_KEY = 'duly_wrong';
  const refused = await folder.duly('jobs', 'ls', ...there);
  assert.notEqual(refused.code, 0);
  assert.match(refused.err, /^error\[unauthenticated\].*\nhint: Give its key: \$DULY_KEY/);
  folder.env.DULY_KEY = key;
  const noKey = await folder.duly('keys', 'revoke', 'nothing', ...there);
  assert.deepEqual([noKey.code, noKey.err], [3, 'error[key_not_found]: No key has the id "nothing".\n']);
  for (const [args, hint] of [
    [['jobs', 'ls', '--server', address.host], `Write the scheme too: http://${address.host}`],
    [
      ['doctor', ...there],
      'This command works at the store itself, and not through a server: give it --store <url>.',
    ],
    [
      ['up', ...there],
      'This command works at the store itself, and not through a server: give it --store <url>.',
    ],
  ] as const) {
    const { code, err } = await folder.duly(...args);
    assert.equal(code, 2, err);
    assert.match(err, /^error\[usage\]: /);
    assert.ok(err.endsWith(`\nhint: ${hint}\n`), err);
  }
  up.signal('SIGTERM');
  await up.ended;
  assert.match((await folder.duly('jobs', 'ls', ...there)).err, /^error\[server_unavailable\]/);
});

test('schedules are created, compared, applied and exported over a server as at its store', async (t) => {
  const folder = createFolder(t);
  const tasks = (cron: string): string => `
    export const nightly = {
      name: 'nightly', version: 2, retry: { attempts: 5, maxDelay: '2m' }, timeout: '10m', grace: '5s', retention: '3 days', queue: 'night',
      every: [{ cron: '${cron}', timezone: 'Europe/Rome', missed: 'all', input: { a: 1 }, exclude: ['2027-01-01'] },
              { rate: '10m', name: 'often', startAt: '2027-01-01T00:00:00Z', note: 'as often as that' }],
      run: () => 1,
    };
    export const plain = { name: 'plain', startDeadline: '1h', every: '@daily', run: () => 1 };`;
  folder.write({
    'duly.config.mjs': `export default { app: 'studio', release: '7' };`,
    'tasks/declared.mjs': tasks('0 2 * * *'),
  });
  const up = folder.start('up', '--port', '0', '--no-reload');
  const address = new URL((await up.line(/^Dashboard: /)).replace('Dashboard: ', ''));
  await up.line(/schedules ls/);
  folder.env.DULY_KEY = folder.firstKey() as string;
  const there = ['--server', address.origin];
  const both = async (...words: string[]): Promise<void> => {
    const [local, remote] = [await folder.json(...words), await folder.json(...words, ...there)];
    assert.deepEqual(plain(remote), plain(local), words.join(' '));
  };

  // The node has applied what the code says; that the server, which is told of the tasks, sees the same says that nothing was lost on the way.
  await both('schedules', 'diff');
  const same = await folder.duly('schedules', 'diff', ...there);
  assert.equal(same.out, 'Nothing to do: 3 as declared.\n');
  assert.equal(same.err, '');
  // As if the code were another: the node that runs is of the old one.
  folder.write({ 'tasks/declared.mjs': tasks('30 2 * * *').replace("name: 'often'", "name: 'seldom'") });
  const { data: plan } = await folder.json('schedules', 'diff', '--prune', ...there);
  assert.deepEqual(plan.map(({ name, action }: { name: string; action: string }) => [name, action]).sort(), [
    ['nightly', 'edit'],
    ['often', 'remove'],
    ['plain', 'none'],
    ['seldom', 'add'],
  ]);
  assert.deepEqual(plan.find(({ name }: { name: string }) => name === 'nightly').fields, [
    { field: 'cron', stored: '0 2 * * *', declared: '30 2 * * *' },
  ]);
  const unasked = await folder.duly('schedules', 'apply', '--prune', ...there);
  assert.equal(unasked.code, 2, unasked.err);
  const applied = await folder.duly('schedules', 'apply', '--prune', '--yes', ...there);
  assert.equal(applied.code, 0, applied.err);
  assert.match(applied.out, /^Done: /m);
  assert.equal(applied.err, `Dashboard: ${address.origin}/schedules\n`);
  assert.match((await folder.duly('schedules', 'diff')).out, /^Nothing to do/m);

  const words = ['digest', '--type', 'plain', '--cron', '0 8 * * MON', '--timezone', 'Asia/Kolkata'];
  const added = await folder.duly(
    'schedules',
    'add',
    ...words,
    '--input',
    '{"b":[2]}',
    '--jitter',
    '5m',
    ...there,
  );
  assert.equal(added.code, 0, added.err);
  assert.match(added.out, /^Schedule "digest" is created \(sch_/);
  assert.match(added.err, new RegExp(`^Dashboard: ${address.origin}/schedules/sch_`, 'm'));
  assert.equal((await folder.json('schedules', 'add', ...words, ...there)).result, 'edited');
  const wrong = await folder.duly(
    'schedules',
    'add',
    'x',
    '--type',
    'plain',
    '--cron',
    '0 0 31 4 *',
    ...there,
  );
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /^error\[invalid_cron\]/);

  await both('schedules', 'preview', 'nightly', '--after', '2027-03-20', '--count', '12');
  await both('schedules', 'backfill', 'digest', '--from', '2026-01-01', '--to', '2026-02-01', '--dry-run');
  const filled = await folder.json(
    'schedules',
    'backfill',
    'digest',
    '--from',
    '2026-01-01',
    '--to',
    '2026-01-20',
    ...there,
  );
  assert.equal(filled.jobs.length, 3);
  await both('schedules', 'export');
  await both('schedules', 'export', 'digest', '--json');
  for (const form of [['--crontab'], ['--kubernetes', '--image', 'example/app:1']]) {
    const [local, remote] = [
      await folder.duly('schedules', 'export', ...form),
      await folder.duly('schedules', 'export', ...form, ...there),
    ];
    assert.equal(remote.code, 0, remote.err);
    assert.equal(remote.out, local.out);
  }
  // What was exported makes the same again.
  folder.write({
    'exported.json': JSON.stringify(await folder.json('schedules', 'export', 'digest', ...there)),
  });
  await folder.duly('schedules', 'rm', 'digest', '--note', 'to make it again', ...there);
  const again = await folder.json('import', 'json', 'exported.json', '--live', ...there);
  assert.equal(again.schedules[0].result, 'created');
  up.signal('SIGTERM');
  await up.ended;
});

test('a crontab is imported over a server: as a shadow, paused, live, and not where no commands run', async (t) => {
  const folder = createFolder(t);
  folder.write({ tab: '# every day\n0 2 * * * /opt/backup --full\n30 2 * * * duly run report\n' });
  const up = folder.start('up', '--port', '0', '--allow-commands');
  const address = new URL((await up.line(/^Dashboard: /)).replace('Dashboard: ', ''));
  folder.env.DULY_KEY = folder.firstKey() as string;
  const there = ['--server', address.origin];
  const typesAfter = async (mode: string): Promise<unknown> => {
    const { schedules } = await folder.json('import', 'crontab', 'tab', '--timezone', 'UTC', mode, ...there);
    const stored = (await folder.json('schedules', 'ls', ...there)).data;
    return [
      schedules.map(({ result }: { result: string }) => result),
      stored.map(({ type, status }: { type: string; status: string }) => [type, status]),
    ];
  };
  assert.deepEqual(await typesAfter('--shadow'), [
    ['created', 'created'],
    [
      ['duly:shadow', 'active'],
      ['duly:shadow', 'active'],
    ],
  ]);
  assert.deepEqual(await typesAfter('--live'), [
    ['edited', 'edited'],
    [
      ['duly:command', 'active'],
      ['report', 'active'],
    ],
  ]);
  assert.deepEqual(((await typesAfter('--live')) as unknown[])[0], ['unchanged', 'unchanged']);
  const [local, remote] = [
    await folder.duly('schedules', 'export', '--crontab'),
    await folder.duly('schedules', 'export', '--crontab', ...there),
  ];
  assert.match(local.out, /^0 2 \* \* \* \/opt\/backup --full$/m);
  assert.equal(remote.out, local.out);
  await folder.duly('schedules', 'rm', 'backup', 'duly-run', ...there);
  assert.deepEqual(await typesAfter('--paused'), [
    ['created', 'created'],
    [
      ['duly:command', 'paused'],
      ['report', 'paused'],
    ],
  ]);
  up.signal('SIGTERM');
  await up.ended;

  const closed = folder.start('up', '--port', '0', '--no-tasks', '--store', 'sqlite:./other.db');
  const other = new URL((await closed.line(/^Dashboard: /)).replace('Dashboard: ', ''));
  const added = await folder.duly('keys', 'add', '--scope', 'admin', '--store', 'sqlite:./other.db');
  folder.env.DULY_KEY = added.out.trim();
  for (const mode of ['--live', '--paused']) {
    const refused = await folder.duly('import', 'crontab', 'tab', mode, '--server', other.origin);
    assert.match(refused.err, /^error\[commands_disabled\]: .*\nhint: Start it with --allow-commands/);
  }
  assert.deepEqual((await folder.json('schedules', 'ls', '--server', other.origin)).data, []);
  closed.signal('SIGTERM');
  await closed.ended;
});

/** Without what changes from one look to the next. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, one) =>
      /^(as_of_at|heartbeat_at|now|stack|expected_start_at|ttl_ms)$/.test(name) ? undefined : one,
    ),
  );
}
