import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schedule, ScheduleDefinition } from '@duly/core';
import { createTestDuly } from '@duly/core/testing';
import fc from 'fast-check';
import { parse } from 'yaml';
import { cases } from '../../../test/property.ts';
import { crontabOf } from '../src/export/crontab-export.ts';
import { manifestsOf } from '../src/export/kubernetes-export.ts';
import { planCrontabs } from '../src/import/crontab-plan.ts';
import { planManifests } from '../src/import/kubernetes-plan.ts';
import { argvOf } from '../src/import/shell-command.ts';
import { createFolder } from './command.ts';

const planOptions = {
  timezone: 'UTC',
  userSwitch: 'runuser',
  perHost: false,
  policies: { missed: 'skip', overlap: 'skip' },
} as const;

function planOf(text: string): ScheduleDefinition[] {
  const { schedules, leftOut } = planCrontabs(
    [{ name: 'tab', text, host: null, hasUser: false, owner: null }],
    planOptions,
  );
  assert.deepEqual(leftOut, []);
  return schedules.map(({ definition }) => definition);
}

/** The schedules of a store of their own, as they are read back. */
async function stored(definitions: readonly ScheduleDefinition[]): Promise<Schedule[]> {
  const duly = createTestDuly({ start: '2027-01-15T10:00:00Z' });
  for (const definition of definitions) await duly.schedules.put(definition);
  const { schedules } = await duly.schedules.list({ limit: 1_000 });
  await duly.stop();
  return schedules;
}

const definitionsOf = (schedules: readonly Schedule[]): unknown[] =>
  schedules.map(({ definition }) => definition);
const now = Date.parse('2027-01-15T10:00:00Z');

const command = (argv: string[], more: object = {}): object => ({
  command: { argv, placeholders: false, stdin: '', ...more },
});
const samples: ScheduleDefinition[] = [
  {
    type: 'mail',
    name: 'monday',
    cron: '0 8 * * MON',
    timezone: 'Europe/Rome',
    input: { off: '50%', quote: "it's" },
  },
  {
    type: 'mail',
    name: 'Größe / odd "name"',
    cron: '*/5 * * * *',
    missed: 'all',
    queue: 'slow',
    priority: 5,
    metadata: { a: 1 },
    note: 'why',
  },
  {
    type: 'mail',
    name: 'text',
    cron: '@daily',
    input: '5',
    retry: { attempts: 5 },
    timeout: '5m',
    startDeadline: '90s',
    jitter: '2m',
    overlap: 'cancelOther',
  },
  {
    type: 'duly:command',
    name: 'plain',
    cron: '0 2 * * *',
    timezone: 'Asia/Kolkata',
    input: command(argvOf({ line: 'date +%F | tee "a b"', shell: '/bin/sh', user: null }, 'none')),
    retry: 1,
    timeout: 'none',
    delivery: 'at-most-once',
  },
  {
    type: 'duly:command',
    name: 'said',
    cron: '0 2 * * *',
    input: command(argvOf({ line: 'cat', shell: '/bin/bash', user: 'ada' }, 'runuser'), {
      stdin: 'a%b\nc\n',
      env: { A: "x 'y'" },
    }),
  },
  {
    type: 'duly:command',
    name: 'argv',
    cron: '0 2 * * *',
    input: { command: { argv: ['python3', 'a b.py', '{{input.x}}'], cwd: '/srv' } },
  },
  {
    type: 'duly:command',
    name: 'image',
    cron: '0 3 * * *',
    input: command([
      'docker',
      'run',
      '--rm',
      '-e',
      'A=b=c',
      '-w',
      '/srv',
      '--entrypoint',
      '/bin/sh',
      'app:1',
      '-c',
      'true',
    ]),
  },
  {
    type: 'duly:shadow',
    name: 'shadow',
    cron: '0 2 * * *',
    input: command(argvOf({ line: 'true', shell: '/bin/sh', user: null }, 'none')),
  },
];

test('what a crontab was exported to is imported as it was', async () => {
  const schedules = await stored(samples);
  const lines = crontabOf(schedules, now);
  assert.deepEqual(definitionsOf(await stored(planOf(lines.join('\n')))), definitionsOf(schedules));
  // What reads it is not only us: the lines are what cron would run.
  assert.ok(lines.includes('0 2 * * * date +\\%F | tee "a b"'), lines.join('\n'));
  assert.ok(
    lines.includes(`*/5 * * * * duly run mail --queue slow --priority 5 --metadata '{"a":1}'`),
    lines.join('\n'),
  );
});

test('an imported crontab is exported to what imports the same, whatever its commands are', async () => {
  const duly = createTestDuly({ start: '2027-01-15T10:00:00Z' });
  const line = fc
    .string({
      unit: fc.constantFrom('a', ' ', '%', '\\', "'", '"', '$', '|', '#', '=', '{{input.x}}', 'é', ';', '-'),
      minLength: 1,
      maxLength: 20,
    })
    .filter((text) => text.trim() !== '' && !/^-[nqs]+ /.test(text.trim()));
  await fc.assert(
    fc.asyncProperty(line, async (text) => {
      const [definition] = planOf(`A=1\n5 4 * * * x${text}`);
      const first = await duly.schedules.put({ ...(definition as ScheduleDefinition), name: 'x' });
      const [again] = planOf(crontabOf([first], now).join('\n'));
      const second = await duly.schedules.put(again as ScheduleDefinition);
      assert.deepEqual(second.definition, first.definition);
    }),
    cases(60),
  );
  await duly.stop();
});

test('what was exported as CronJobs is imported as it was, and is what Kubernetes knows', async () => {
  const schedules = await stored(samples);
  const text = manifestsOf(schedules, { image: 'app:2', now });
  const { schedules: planned, leftOut } = planManifests([{ name: 'all.yaml', text }], 'command');
  assert.deepEqual(leftOut, []);
  assert.deepEqual(
    definitionsOf(await stored(planned.map(({ definition }) => definition))),
    definitionsOf(schedules),
  );
  const specs = Object.fromEntries(
    text.split('---\n').map((one) => {
      const manifest = parse(one);
      return [manifest.metadata.name, manifest.spec];
    }),
  );
  assert.deepEqual(Object.keys(specs).sort(), [
    'argv',
    'gr-e-odd-name',
    'image',
    'monday',
    'plain',
    'said',
    'shadow',
    'text',
  ]);
  const { schedule, timeZone, concurrencyPolicy, startingDeadlineSeconds, suspend, jobTemplate } = specs.text;
  assert.deepEqual(
    [schedule, timeZone, concurrencyPolicy, startingDeadlineSeconds, suspend],
    ['@daily', 'UTC', 'Replace', 90, false],
  );
  assert.deepEqual([jobTemplate.spec.backoffLimit, jobTemplate.spec.activeDeadlineSeconds], [4, 300]);
  assert.deepEqual(jobTemplate.spec.template.spec.containers[0], {
    name: 'run',
    image: 'app:2',
    command: ['duly', 'run', 'mail', '"5"'],
  });
  assert.deepEqual(specs.image.jobTemplate.spec.template.spec.containers[0], {
    name: 'run',
    image: 'app:1',
    command: ['/bin/sh', '-c', 'true'],
    env: [{ name: 'A', value: 'b=c' }],
    workingDir: '/srv',
  });
  assert.throws(() => manifestsOf(schedules, { image: null, now }), { code: 'usage' });
});

test('a schedule that neither can say is a comment with the reason', async () => {
  const schedules = await stored([
    { type: 'mail', name: 'rate', rate: '10m' },
    { type: 'mail', name: 'last', cron: '0 0 L * *' },
    { type: 'mail', name: 'seconds', cron: '*/5 * * * * *' },
    { type: 'mail', name: 'bounded', cron: '0 0 * * *', maxRuns: 3 },
  ]);
  const reasons = ['maxRuns', 'L, W, # and ?', 'rate', 'five fields'];
  for (const lines of [
    crontabOf(schedules, now),
    manifestsOf(schedules, { image: null, now }).split('---\n'),
  ]) {
    assert.equal(lines.length, 4);
    for (const [i, line] of lines.entries())
      assert.ok(line.startsWith('# ') && line.includes(reasons[i] as string), line);
  }
});

test('the command: JSON goes from one store to another, with its pauses', async (t) => {
  const folder = createFolder(t);
  await folder.duly(
    'schedules',
    'add',
    'nightly',
    '--type',
    'mail',
    '--cron',
    '0 2 * * *',
    '--overlap',
    'buffer-one',
    '--input',
    '{"a":1}',
  );
  await folder.duly('schedules', 'add', 'often', '--type', 'mail', '--every', '10m', '--jitter', '10s');
  await folder.duly('schedules', 'pause', 'often');
  const { out } = await folder.duly('schedules', 'export', '--json');
  folder.write({ 'all.json': out });
  const plan = await folder.duly('import', 'json', 'all.json');
  assert.match(
    plan.out,
    /^nightly {2}mail {2}0 2 \* \* \*\noften {2}mail {2}rate 600000 {2}paused\nNothing is stored yet/,
  );
  const done = await folder.json('import', 'json', 'all.json', '--live', '--store', 'sqlite:./other.db');
  assert.deepEqual(
    done.schedules.map(({ result }: { result: string }) => result),
    ['created', 'created'],
  );
  assert.equal((await folder.duly('schedules', 'export', '--store', 'sqlite:./other.db')).out, out);
  const wrong = await folder.duly('schedules', 'export', '--json', '--crontab');
  assert.equal(wrong.code, 2);
});
