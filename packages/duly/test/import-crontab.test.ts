import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { shadowTaskName } from '@duly/core/internal';
import { createTestDuly } from '@duly/core/testing';
import fc from 'fast-check';
import { cases } from '../../../test/property.ts';
import { compareShadow } from '../src/import/compare-shadow.ts';
import { readCronHistory } from '../src/import/cron-history.ts';
import { hazardsOf, herdsOf } from '../src/import/crontab-hazards.ts';
import { parseCrontab, splitPercent } from '../src/import/crontab-parse.ts';
import { type CrontabPlan, type CrontabSource, planCrontabs } from '../src/import/crontab-plan.ts';
import { nameOfCommand } from '../src/import/schedule-name.ts';
import { defineShadowTask } from '../src/import/shadow-task.ts';
import { argvOf, type CommandInput, lineOf } from '../src/import/shell-command.ts';
import { createFolder } from './command.ts';

const corpus = join(import.meta.dirname, 'crontabs');
const read = (name: string): string => readFileSync(join(corpus, name), 'utf8');
const now = Date.parse('2026-11-16T12:00:00Z');

function planOf(...sources: (Partial<CrontabSource> & { text: string })[]): CrontabPlan {
  return planCrontabs(
    sources.map((one) => ({ name: one.host ?? 'tab', host: null, hasUser: false, owner: null, ...one })),
    {
      timezone: 'Europe/Rome',
      userSwitch: 'runuser',
      perHost: false,
      policies: { missed: 'skip', overlap: 'skip' },
    },
  );
}

const commandIn = (definition: { input?: unknown }): CommandInput['command'] =>
  (definition.input as CommandInput).command;

test('a crontab of another system: byte order mark, its line ends, blanks, percent signs, no line end at the end', () => {
  const { entries, problems } = parseCrontab(read('windows.crontab'), { hasUser: false });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    entries.map(({ when, command, stdin, env }) => ({ when, command, stdin, env })),
    [
      {
        when: '5 4 * * sun',
        command: 'echo "run at 5 after 4 every sunday"',
        stdin: null,
        env: { MAILTO: '' },
      },
      {
        when: '0 22 * * 1-5',
        command: '/usr/bin/mail -s "It\'s 10pm" joe',
        stdin: 'Joe,\n\nWhere are your kids?\n\n',
        env: { MAILTO: '' },
      },
      {
        when: '23 0-23/2 * * *',
        command: 'echo "run 23 minutes after midn, 2am, 4am ..., everyday"',
        stdin: null,
        env: { MAILTO: '' },
      },
    ],
  );
});

test('variables: quotes, blanks around "=", the last value counts, and cron’s own are not the program’s', () => {
  const plan = planOf({ text: read('odd.crontab') });
  const [first] = plan.schedules;
  assert.deepEqual(commandIn(first?.definition ?? {}).env, {
    'QUOTED NAME': 'a  value ',
    EMPTY: '',
    SINGLE: 'it is "so"',
    NOQUOTES: 'trailing blanks are cut',
    A: '2',
  });
  assert.equal(first?.definition.timezone, 'Asia/Kolkata');
});

test('odd lines: each becomes a schedule, or is told with its reason', () => {
  const { schedules, leftOut } = planOf({ text: read('odd.crontab') });
  assert.deepEqual(
    schedules.map(({ definition: { name, cron, jitter } }) => [
      name,
      cron,
      ...(jitter === undefined ? [] : [jitter]),
    ]),
    [
      ['one', '0,30 8-18/2 1-7,15 Jan-Mar,DEC 0,7'],
      ['never', '@Daily'],
      ['two', '@hourly'],
      ['three', '@daily'],
      ['four', '@yearly'],
      ['six', '* * * * *'],
      ['seven', '0 4 * * *', 59 * 60_000],
      ['eight', '15 4 * * *', 45 * 60_000],
      ['bsd', '0 0 * * *'],
      ['echo', '0 0 * * *'],
      ['duly-run', '0 1 * * *'],
      ['duly-run-2', '0 1 * * *'],
      ['nohup', '0 2 * * *'],
      ['leap', '0 0 29 2 *'],
    ],
  );
  assert.deepEqual(
    leftOut.map(({ line, kind }) => [line, kind]),
    [
      [16, 'reboot'],
      [22, 'unreadable'],
      [23, 'unreadable'],
      [24, 'unreadable'],
      [25, 'unreadable'],
      [26, 'unreadable'],
    ],
  );
  assert.match(leftOut[0]?.reason ?? '', /systemd: WantedBy/);
  assert.match(leftOut[1]?.reason ?? '', /never/i);
  assert.match(leftOut[4]?.reason ?? '', /"60"/);
  const [one] = schedules;
  assert.equal(lineOf(commandIn(one?.definition ?? {}).argv)?.line, '/opt/one --date=$(date +%Y-%m-%d)');
  const task = schedules.find(({ name }) => name === 'duly-run')?.definition;
  assert.deepEqual([task?.type, task?.input, task?.retry], ['nightly_report', { full: true }, undefined]);
  assert.equal(schedules.find(({ name }) => name === 'duly-run-2')?.definition.type, 'duly:command');
});

test('lines of other crons: a minus sign for no log, an empty CRON_TZ, and times that only they know', () => {
  const text = [
    '-*/15 * * * * /opt/suse',
    '-@hourly /opt/cronie',
    'CRON_TZ=Asia/Kolkata',
    '0 1 * * * /opt/india',
    'CRON_TZ=',
    '0 1 * * * /opt/home',
    'CRON_TZ="  "',
    '0 2 * * * /opt/blank',
    '@every 5m /opt/go',
    '@600 /opt/bsd',
    '0~30 0~5 * * * /opt/openbsd',
    '# duly: {"name":5}',
    '0 3 * * * /opt/number',
    '# duly: {"rate":"often","cron":null}',
    '0 3 * * * /opt/often',
  ].join('\n');
  const { schedules, leftOut } = planOf({ text });
  assert.deepEqual(
    schedules.map(({ name, definition: { cron, timezone } }) => [name, cron, timezone]),
    [
      ['suse', '*/15 * * * *', 'Europe/Rome'],
      ['cronie', '@hourly', 'Europe/Rome'],
      ['india', '0 1 * * *', 'Asia/Kolkata'],
      ['home', '0 1 * * *', 'Europe/Rome'],
      ['blank', '0 2 * * *', 'Europe/Rome'],
    ],
  );
  assert.match(schedules[0]?.notes[0] ?? '', /keeps it out of the log of cron/);
  assert.equal(schedules[0]?.lines[0]?.text, '-*/15 * * * * /opt/suse');
  assert.deepEqual(
    leftOut.map(({ reason, kind }) => [
      kind,
      /--every|--delay 600s|Only its minute|no text|null|rule/.test(reason),
    ]),
    leftOut.map(() => ['unreadable', true]),
    leftOut.map(({ reason }) => reason).join('\n'),
  );
  assert.equal(leftOut.length, 5);
});

test('a command that begins with a user or a sixth field is a hazard', () => {
  const text = [
    '17 * * * * root cd / && run-parts /etc/cron.hourly',
    '* * * * * * /opt/seconds',
    '0 0 1 1 * 2027 /opt/year',
    '0 0 * * * backup',
    '0 0 * * * 7z a archive.7z',
  ].join('\n');
  const plan = planOf({ text });
  assert.deepEqual(
    plan.schedules.map((one) => hazardsOf(one, now, null).map((hazard) => hazard.text.slice(0, 40))),
    [
      ['its command begins with "root", which lo'],
      ['its command begins with "*", which looks'],
      ['its command begins with "2027", which lo'],
      [],
      [],
    ],
  );
  assert.deepEqual(
    hazardsOf(planOf({ text: '0 0 * * * root ls', hasUser: true }).schedules[0] as never, now, null),
    [],
  );
});

test('a run is as cron has it: once, however long, from the home of its user, with nothing to read', () => {
  const { schedules } = planOf({ text: '*/5 * * * * www-data:www /opt/job', hasUser: true });
  const { retry, timeout, delivery, missed, overlap, input, metadata } = schedules[0]?.definition ?? {};
  assert.deepEqual([retry, timeout, delivery, missed, overlap], [1, 'none', 'at-most-once', 'skip', 'skip']);
  assert.deepEqual(input, {
    command: {
      argv: [
        'runuser',
        '-s',
        '/bin/sh',
        '-c',
        'cd 2>/dev/null; exec "$0" -c "$1"',
        '--',
        'www-data',
        '/bin/sh',
        '/opt/job',
      ],
      placeholders: false,
      stdin: '',
    },
  });
  assert.deepEqual(metadata, { crontab: { line: '/opt/job', when: '*/5 * * * *', user: 'www-data' } });
  for (const how of ['runuser', 'sudo', 'none'] as const) {
    const line = { line: 'echo "$A" | cat', shell: '/bin/bash', user: 'ada' };
    assert.deepEqual(lineOf(argvOf(line, how)), { ...line, user: how === 'none' ? null : 'ada' });
  }
  assert.equal(lineOf(['echo', 'hi']), null);
});

test('many hosts: the same line is one schedule, a line of one host keeps to its queue, one of some to theirs', () => {
  const shared = '0 2 * * * /opt/digest';
  const plan = planOf(
    { host: 'web1', text: `${shared}\n0 3 * * * /opt/clean\n0 4 * * * /opt/two` },
    { host: 'web2', text: `0 3 * * * /opt/clean --all\n0 2  * * *   /opt/digest\n0 4 * * * /opt/two` },
    { host: 'db', text: `CRON_TZ=Europe/Rome\n${shared}` },
  );
  assert.deepEqual(
    plan.schedules.map(({ name, hosts, definition: { queue } }) => [name, hosts, queue]),
    [
      ['digest', ['web1', 'web2', 'db'], undefined],
      ['web1-clean', ['web1'], 'web1'],
      ['two', ['web1', 'web2'], 'web1+web2'],
      ['web2-clean', ['web2'], 'web2'],
    ],
  );
  const apart = planCrontabs(
    ['web1', 'web2'].map((host) => ({ name: host, host, text: shared, hasUser: false, owner: null })),
    { timezone: 'UTC', userSwitch: 'none', perHost: true, policies: {} },
  );
  assert.deepEqual(
    apart.schedules.map(({ name, definition: { queue } }) => [name, queue]),
    [
      ['web1-digest', 'web1'],
      ['web2-digest', 'web2'],
    ],
  );
});

test('names are those that people know', () => {
  for (const [command, name] of [
    ['/usr/local/bin/backup.sh --full > /dev/null 2>&1', 'backup'],
    ['cd /srv/app && php artisan report:send', 'artisan-report-send'],
    [
      'flock -n /tmp/x.lock timeout 30m nice -n 19 python3 -u /srv/manage.py clearsessions',
      'manage-clearsessions',
    ],
    ['curl -fsS https://example.com/cron/run?key=1', 'curl-example-com-cron-run'],
    ['FOO=1 /opt/thing', 'thing'],
    ['test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }', 'run-parts-cron-daily'],
    ['"', 'command'],
  ] as const) {
    assert.equal(nameOfCommand(command), name);
  }
});

test('a percent sign that is escaped is one again, whatever stands around it', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      // A backslash right before a percent sign is what cron itself cannot say.
      fc.pre(!text.includes('\\'));
      assert.deepEqual(splitPercent(text.replaceAll('%', '\\%')), { command: text, stdin: null });
    }),
    cases(100),
  );
});

test('no text makes the parser throw, and every line is an entry, a problem or neither', () => {
  const piece = fc.constantFrom(
    '0 0 * * *',
    '@daily',
    ' ',
    '\t',
    'root',
    'A=b',
    '%',
    '\\%',
    '#',
    '"',
    "'",
    '\r\n',
    '\n',
    'x',
    '@reboot',
    '~',
    '# duly: {"name":"a"}',
    '{',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.boolean(), (pieces, hasUser) => {
      const text = pieces.join(' ');
      const { leftOut, schedules } = planOf({ text, hasUser });
      const lines = [
        ...leftOut.map(({ line }) => line),
        ...schedules.flatMap((one) => one.lines.map(({ line }) => line)),
      ];
      assert.equal(new Set(lines).size, lines.length);
      assert.ok(lines.every((line) => line >= 1 && line <= text.split(/\r\n|\n|\r/).length));
    }),
    cases(300),
  );
});

test('hazards: times that the clock leaves out, herds, a line of many hosts', () => {
  const plan = planOf({
    text: `30 2 * * * /opt/gap\n${'0 0 * * * /opt/herd\n'.replace('herd', 'a')}0 0 * * * /opt/b\n0 * * * * /opt/c\n@daily /opt/d`,
  });
  const [gap] = plan.schedules;
  assert.deepEqual(
    hazardsOf(gap as CrontabPlan['schedules'][number], now, null).map(({ kind, text }) => [
      kind,
      text.slice(0, 33),
    ]),
    [
      ['dst-gap', 'on 2027-03-28 there is no 02:30 i'],
      ['dst-repeat', 'on 2027-10-31 02:30 comes twice i'],
    ],
  );
  assert.match(
    herdsOf(plan, now)[0]?.text ?? '',
    /^4 of 5 fall due together at 2026-11-16T23:00:00\.000Z, and never else in a day/,
  );
  assert.deepEqual(herdsOf(planOf({ text: '0 0 * * * /opt/a' }), now), []);
  const [twice] = planOf({ text: '0 0 * * * /opt/a\n0 0 * * *  /opt/a\n0 0 * * * /opt/a b' }).schedules;
  const reported = hazardsOf(twice as CrontabPlan['schedules'][number], now, null);
  assert.equal(reported.length, 1);
  assert.match(
    reported[0]?.text ?? '',
    /^it stands 2 times in .*, and cron runs it as often; here it is one schedule$/,
  );
});

const debianLog = `
Nov 16 02:00:01 web1 CRON[1000]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)
Nov 16 02:00:01 web1 CRON[1001]: (root) CMD (/opt/slow)
Nov 16 02:05:01 web1 CRON[1100]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)
Nov 16 02:05:01 web1 CRON[1101]: (root) CMD (/opt/slow)
Nov 16 02:07:30 web1 CRON[1000]: pam_unix(cron:session): session closed for user root
Nov 16 02:08:00 web1 CRON[1100]: pam_unix(cron:session): session closed for user root
Nov 16 02:09:00 web1 sshd[9]: (root) CMD (/opt/slow)
`;

test('a log of cron tells of starts and ends: Debian’s, cronie’s, the journal’s', () => {
  const debian = readCronHistory(debianLog, { timezone: 'Europe/Rome', now });
  assert.deepEqual(
    debian.runs.map(({ startedAt, endedAt }) => [
      new Date(startedAt).toISOString(),
      ((endedAt ?? 0) - startedAt) / 1_000,
    ]),
    [
      ['2026-11-16T01:00:01.000Z', 449],
      ['2026-11-16T01:05:01.000Z', 179],
    ],
  );
  const cronie = readCronHistory(
    '2026-11-16T02:00:01.123456+01:00 db CROND[7]: (ada) CMD (/opt/job --a (b))\n2026-11-16T02:00:09+0100 db CROND[7]: (ada) CMDEND (/opt/job --a (b))\n',
    { timezone: 'UTC', now },
  );
  assert.deepEqual(cronie.runs, [
    {
      host: 'db',
      user: 'ada',
      command: '/opt/job --a (b)',
      startedAt: Date.parse('2026-11-16T01:00:01.123Z'),
      endedAt: Date.parse('2026-11-16T01:00:09Z'),
    },
  ]);
  // December of a log that is read in November was last year's.
  const old = readCronHistory('Dec 31 23:00:00 web1 CRON[1]: (root) CMD (/opt/job)', {
    timezone: 'UTC',
    now,
  });
  assert.equal(new Date(old.runs[0]?.startedAt ?? 0).toISOString(), '2025-12-31T23:00:00.000Z');
  assert.deepEqual(readCronHistory('nothing of cron\n', { timezone: 'UTC', now }).runs, []);
  // `cat syslog syslog.1`: the newest first.
  const lines = debianLog.trim().split('\n');
  const turned = [...lines.slice(4), ...lines.slice(0, 4)].join('\n');
  assert.deepEqual(readCronHistory(turned, { timezone: 'Europe/Rome', now }), debian);
});

test('runs that overlapped in the log are a hazard', () => {
  const plan = planOf({ text: '*/5 * * * * /opt/slow' });
  const history = readCronHistory(debianLog, { timezone: 'Europe/Rome', now });
  const [hazard] = hazardsOf(plan.schedules[0] as CrontabPlan['schedules'][number], now, history);
  assert.deepEqual(hazard, {
    kind: 'overlap',
    text: '1 of 2 runs in the log began before the last one had ended (the longest took 7 min); such starts will be skipped, and recorded',
  });
});

test('a shadow runs nothing, and is compared with what cron did', async () => {
  const duly = createTestDuly({ start: '2026-11-16T00:00:30Z' });
  defineShadowTask(duly);
  const [planned] = planCrontabs(
    [{ name: 'tab', host: null, text: '0 * * * * /opt/job', hasUser: false, owner: null }],
    {
      timezone: 'UTC',
      userSwitch: 'none',
      perHost: false,
      policies: { missed: 'skip' },
    },
  ).schedules;
  const schedule = await duly.schedules.put({
    ...(planned?.definition as NonNullable<typeof planned>['definition']),
    type: shadowTaskName,
  });
  const ran = await duly.advance('5h');
  assert.deepEqual([ran.length, ran[0]?.result], [5, { shadow: true }]);
  const log = ['01:00:01', '02:00:01', '02:30:00', '04:00:02', '05:00:01']
    .map(
      (time) =>
        `2026-11-16T${time}Z web1 CRON[1]: (root) CMD (/opt/job)\n2026-11-16T${time}Z web1 CRON[2]: (root) CMD (/opt/other)`,
    )
    .join('\n');
  const history = readCronHistory(`2026-11-15T23:00:01Z web1 CRON[1]: (root) CMD (/opt/job)\n${log}`, {
    timezone: 'UTC',
    now,
  });
  const compared = await compareShadow(duly, schedule, {
    history,
    toleranceMs: 60_000,
    now: duly.clock.now(),
  });
  assert.deepEqual([compared.both, compared.laterMs], [4, { median: 1_000, max: 2_000 }]);
  assert.deepEqual(
    compared.differences.map(({ kind, at, host }) => [kind, at.toISOString(), host]),
    [
      ['only-cron', '2026-11-16T02:30:00.000Z', 'web1'],
      ['only-duly', '2026-11-16T03:00:00.000Z', null],
    ],
  );
  await duly.stop();
});

test('the command: a plan that stores nothing, then paused, shadow and live', async (t) => {
  const folder = createFolder(t);
  folder.write({
    tab: `GREETING=hi\n# What people say\n0 2 * * * echo "$GREETING $(cat)"; pwd%from cron\n@reboot /opt/five\n`,
  });
  folder.env.HOME = folder.path;
  const plan = await folder.duly('import', 'crontab', 'tab', '--timezone', 'Europe/Rome');
  assert.equal(plan.code, 0, plan.err);
  assert.match(
    plan.out,
    /^echo\n {2}tab:3 {2}0 2 \* \* \* echo .*\n {2}At 02:00 every day, in Europe\/Rome\.\n {2}next: \w{3} /,
  );
  assert.match(plan.out, /Not imported: tab:4 {2}@reboot/);
  assert.match(plan.out, /Nothing is stored yet/);
  assert.equal((await folder.duly('schedules', 'ls')).code, 5, 'no store was created');

  const first = await folder.json('import', 'crontab', 'tab', '--paused');
  assert.deepEqual([first.schedules[0].result, first.left_out[0].kind], ['created', 'reboot']);
  const paused = await folder.json('schedules', 'show', 'echo');
  assert.deepEqual([paused.status, paused.type, paused.note], ['paused', 'duly:command', 'What people say']);
  assert.equal((await folder.json('import', 'crontab', 'tab', '--paused')).schedules[0].result, 'unchanged');

  assert.equal((await folder.json('import', 'crontab', 'tab', '--shadow')).schedules[0].result, 'edited');
  folder.write({ syslog: debianLog });
  const compared = await folder.duly('import', 'compare', '--history', 'syslog');
  assert.match(compared.out, /^There is nothing to compare yet: .* The log is from 20/m);
  assert.equal(compared.code, 1, 'whoever asks before going live is not told that they agree');
  await folder.duly('schedules', 'trigger', 'echo');
  assert.equal(
    (await folder.json('tick', '--for', '2s')).completed,
    1,
    'a shadow needs no leave to run programs',
  );

  await folder.duly('import', 'crontab', 'tab', '--live');
  const { advice } = await folder.json('doctor');
  const timeout = advice.find(({ name }: { name: string }) => name === 'timeout');
  assert.match(timeout.message, /^"echo" has no timeout: a run that hangs goes on for ever/);
  assert.match(timeout.hint, /^Put one before the command, "timeout 15m …"/);
  const { job } = await folder.json('schedules', 'trigger', 'echo');
  assert.equal((await folder.json('tick', '--for', '2s', '--allow-commands')).completed, 1);
  const { out } = await folder.duly('jobs', 'logs', job.id);
  assert.match(out, new RegExp(`hi from cron\\b[^]*${folder.path}`));
});

test('the command: the system’s files, unreadable lines, and what is asked wrongly', async (t) => {
  const folder = createFolder(t);
  const { schedules } = await folder.json('import', 'crontab', '--root', join(corpus, 'system'));
  assert.deepEqual(
    schedules.map(({ name, user }: { name: string; user: string }) => [name, user]),
    [
      ['run-parts-cron-hourly', 'root'],
      ['run-parts-cron-daily', 'root'],
      ['run-parts-cron-weekly', 'root'],
      ['run-parts-cron-monthly', 'root'],
      ['e2scrub-all-cron', 'root'],
      ['sessionclean', 'root'],
      ['artisan-schedule-run', 'www-data'],
    ],
  );
  // Read by cronie, and not by Debian's cron; what a package left aside is nobody's.
  folder.write({
    'etc/cron.d/backup.sh': '0 2 * * * root true\n',
    'etc/cron.d/old.rpmsave': '',
    'etc/crontab': '# nothing\n',
  });
  const odd = await folder.duly('import', 'crontab', '--root', '.');
  assert.deepEqual([odd.code, odd.err], [0, '']);
  assert.match(
    odd.out,
    /^! etc\/cron\.d\/backup\.sh is not read, because of its name.*\n.*\nThere is nothing to import\.\n$/,
  );
  folder.write({ bad: '0 2 * * * /opt/good\n61 * * * * /opt/bad\n' });
  const refused = await folder.duly('import', 'crontab', 'bad', '--live');
  assert.equal(refused.code, 2);
  assert.match(
    refused.err,
    /error\[crontab_unreadable\]: One line cannot be read, the first at bad:2: The minute "61"/,
  );
  assert.equal(
    (await folder.json('import', 'crontab', 'bad', '--paused', '--skip-unreadable')).schedules.length,
    1,
  );
  for (const [args, message] of [
    [[], /Name a crontab/],
    [['bad', '--live', '--shadow'], /Give one of --paused, --shadow and --live/],
    [['web1=bad', 'bad'], /Either all crontabs name their host/],
    [['nowhere'], /"nowhere" cannot be read: there is no such file/],
    [['bad', '--timezone', 'Rome'], /invalid_timezone/],
  ] as const) {
    const { code, err } = await folder.duly('import', 'crontab', ...args);
    assert.equal(code, 2, err);
    assert.match(err, message);
  }
});
