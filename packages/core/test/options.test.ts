import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Duly, type DulyOptions, type PgPool } from '../src/index.ts';
import { resolveJobOptions } from '../src/jobs/job-options.ts';
import { callerFileOf, resolveTask } from '../src/jobs/task-options.ts';
import { priorityStepMs, rankOffsetMs } from '../src/lifecycle/rank.ts';
import { resolveOptions, resolveStart, resolveStop } from '../src/options.ts';

test('what is not said is filled in', () => {
  const options = resolveOptions(undefined);
  assert.equal(options.store, 'sqlite:./duly.db');
  assert.deepEqual(
    [
      options.app,
      options.release,
      options.concurrency,
      options.queues,
      options.leaseMs,
      options.heartbeatMs,
      options.drainMs,
    ],
    ['default', null, 20, null, 30_000, 5_000, 30_000],
  );
  assert.match(options.actor, /^default@.+:\d+$/);
  const day = 86_400_000;
  assert.deepEqual(options.retention, { changesMs: day, auditMs: 400 * day, ledgerMs: 400 * day });
  assert.ok(Object.isFrozen(options));
  assert.deepEqual(resolveStart(undefined, options).roles, ['scheduler', 'worker', 'maintenance']);
  assert.equal(resolveStop(undefined, options), 30_000);
});

// As much of a pool as an option is looked at.
const pool: PgPool = {
  connect: () => Promise.reject(new Error('not to be used')),
  end: async () => {},
  on: () => {},
  options: { host: 'db', port: 5433, database: 'app', password: 'secret' },
};

test('a store may be a pool of the program’s own, and its password is not shown', () => {
  assert.deepEqual(resolveOptions({ store: pool }).store, { pool });
  const store = { pool, schema: 'jobs', listenUrl: 'postgres://db/app' };
  assert.deepEqual(resolveOptions({ store }).store, store);
  assert.equal(new Duly({ store }).store, 'postgres://db:5433/app?schema=jobs');
});

test('each option has its bounds', () => {
  const wrong: [DulyOptions, string][] = [
    [{ store: '' }, 'invalid_option'],
    [{ store: 7 as never }, 'invalid_option'],
    [{ store: {} as never }, 'invalid_option'],
    [{ store: { pool: 'postgres://h/d' } as never }, 'invalid_option'],
    [{ store: { pool, schema: 'Not Plain' } }, 'unknown_store'],
    [{ store: { pool, listenUrl: 'redis://h' } }, 'invalid_option'],
    [{ store: { pool, shema: 'jobs' } as never }, 'invalid_option'],
    [{ app: '' }, 'invalid_option'],
    [{ app: 'a\nb' }, 'invalid_option'],
    [{ release: '' }, 'invalid_option'],
    [{ concurrency: 0 }, 'invalid_option'],
    [{ concurrency: 1.5 }, 'invalid_option'],
    [{ concurrency: 100_001 }, 'invalid_option'],
    [{ concurrency: '5' as never }, 'invalid_option'],
    [{ queues: [] }, 'invalid_option'],
    [{ queues: 'mail' as never }, 'invalid_option'],
    [{ queues: ['ok', ''] }, 'invalid_option'],
    [{ logger: {} as never }, 'invalid_option'],
    [{ clock: {} as never }, 'invalid_option'],
    [{ clock: null as never }, 'invalid_option'],
    [{ random: 5 as never }, 'invalid_option'],
    [{ lease: '99ms' }, 'invalid_duration'],
    [{ lease: '-5m' }, 'invalid_duration'],
    [{ lease: '10s', heartbeat: '4s' }, 'invalid_option'],
    [{ drain: '1e9 days' }, 'invalid_duration'],
    [{ limits: { inputBytes: 1024 * 1024 + 1 } }, 'invalid_option'],
    [{ limits: { input: 5 } as never }, 'invalid_option'],
    [{ retention: { changes: '999ms' } }, 'invalid_duration'],
    [{ retention: { audit: 0 } }, 'invalid_duration'],
    [{ retention: { ledger: 'always' } }, 'invalid_duration'],
    [{ retention: { jobs: '1 day' } as never }, 'invalid_option'],
    [{ retention: '1 day' as never }, 'invalid_option'],
    ['sqlite:./duly.db' as never, 'invalid_option'],
    [null as never, 'invalid_option'],
  ];
  for (const [options, code] of wrong) assert.throws(() => new Duly(options), { code }, inspect(options));
  for (const options of [
    { concurrency: 1 },
    { concurrency: 100_000 },
    { lease: 100 },
    { lease: '9s', heartbeat: '3s' },
    { logger: false as const },
    { limits: { inputBytes: 2 } },
    { retention: { changes: '1s', audit: '1s', ledger: '1s' } },
    { drain: 0 },
  ]) {
    assert.ok(new Duly(options));
  }
});

test('a slip in a name is answered with the nearest one, and anything else with the list', () => {
  assert.throws(() => new Duly({ concurency: 5 } as never), {
    code: 'invalid_option',
    message: 'Unknown option "concurency" of new Duly().',
    hint: 'Did you mean "concurrency"?',
  });
  assert.throws(() => new Duly({ zzz: 5 } as never), { hint: /^The options are store, app, / });
  // An inherited name is not an option either.
  assert.throws(() => new Duly({ toString: 5 } as never), { code: 'invalid_option' });
  assert.throws(() => new Duly(JSON.parse('{"__proto__": 1}')), { code: 'invalid_option' });
});

test('roles and signals of a start are checked', () => {
  const options = resolveOptions({ concurrency: 7, queues: ['a', 'a', 'b'] });
  assert.deepEqual(resolveStart({ roles: ['worker', 'worker'] }, options), {
    roles: ['worker'],
    concurrency: 7,
    queues: ['a', 'b'],
    signals: false,
  });
  assert.throws(() => resolveStart({ roles: [] }, options), { code: 'invalid_option' });
  assert.throws(() => resolveStart({ roles: ['wroker' as never] }, options), {
    hint: 'Did you mean "worker"?',
  });
  assert.throws(() => resolveStart({ signals: 1 as never }, options), { code: 'invalid_option' });
  assert.throws(() => resolveStart({ role: 'worker' } as never, options), { code: 'invalid_option' });
  assert.throws(() => resolveStop({ drain: '-1s' }, options), { code: 'invalid_duration' });
});

test('a task is checked when it is defined', () => {
  const duly = new Duly({ store: 'sqlite::memory:' });
  const run = () => {};
  const wrong: [object, string][] = [
    [{}, 'invalid_task'],
    [{ name: '', run }, 'invalid_task'],
    [{ name: ' ', run }, 'invalid_task'],
    [{ name: 'x'.repeat(201), run }, 'invalid_task'],
    [{ name: 'a\u0007', run }, 'invalid_task'],
    [{ name: 'half \ud800', run }, 'invalid_task'],
    [{ name: 7, run }, 'invalid_task'],
    [{ name: 'a' }, 'invalid_task'],
    [{ name: 'a', run: 'x' }, 'invalid_task'],
    [{ name: 'a', run, input: {} }, 'invalid_task'],
    [{ name: 'a', run, version: 0 }, 'invalid_option'],
    [{ name: 'a', run, priority: 1001 }, 'invalid_option'],
    [{ name: 'a', run, concurrency: 0 }, 'invalid_option'],
    [{ name: 'a', run, timeout: '0s' }, 'invalid_duration'],
    [{ name: 'a', run, grace: '-1s' }, 'invalid_duration'],
    [{ name: 'a', run, retention: '2 months' }, 'invalid_duration'],
    [{ name: 'a', run, delivery: 'once' }, 'invalid_option'],
    [{ name: 'a', run, isolate: 'yes' }, 'invalid_option'],
    [{ name: 'a', run, retries: 3 }, 'invalid_option'],
    [{ name: 'a', run, every: '* * * *' }, 'invalid_cron'],
    [{ name: 'a', run, every: [{ rate: '5m' }, { rate: '6m' }] }, 'schedule_conflict'],
    [{ name: 'a', run, every: { rate: '5m', missed: 'each' } }, 'invalid_option'],
  ];
  for (const [options, code] of wrong)
    assert.throws(() => duly.task(options as never), { code }, JSON.stringify(options));
  assert.throws(() => duly.task(undefined as never), { code: 'invalid_task' });
  assert.ok(duly.task({ name: 'x'.repeat(200), run }));
  assert.ok(duly.task({ name: 'ünïcode 🎬 name', run, timeout: 'none' }));
  assert.throws(() => duly.task({ name: 'ünïcode 🎬 name', run }), { code: 'duplicate_task' });
});

test('an isolated task knows the module that defines it', () => {
  const define = (isolate: boolean | { file: string | URL }) =>
    resolveTask({ name: 'a', run: () => {}, isolate }, () => callerFileOf(define)).isolateFile;
  assert.equal(define(true), import.meta.url);
  assert.equal(define(false), null);
  assert.equal(define({ file: import.meta.filename }), import.meta.url);
  assert.equal(define({ file: new URL(import.meta.url) }), import.meta.url);
  assert.throws(() => resolveTask({ name: 'a', run: () => {}, isolate: true }, () => null), {
    code: 'invalid_task',
  });
});

test('one step of priority is worth a minute', () => {
  assert.equal(rankOffsetMs(0), 0);
  assert.ok(Object.is(rankOffsetMs(0), 0));
  assert.equal(rankOffsetMs(2), -2 * priorityStepMs);
  assert.equal(rankOffsetMs(-1), priorityStepMs);
});

test('at most once means one attempt, and more are refused where they are written', () => {
  const run = () => null;
  const once = resolveTask({ name: 'a', delivery: 'at-most-once', run }, () => null);
  assert.equal(once.retry.attempts, 1);
  assert.throws(() => resolveTask({ name: 'a', delivery: 'at-most-once', retry: 3, run }, () => null), {
    code: 'invalid_option',
    message: /"retry\.attempts" to be 1 with delivery "at-most-once"/,
  });
  const often = resolveTask({ name: 'a', retry: 5, run }, () => null);
  assert.equal(resolveJobOptions(often, { delivery: 'at-most-once' }).retry.attempts, 1);
  assert.throws(() => resolveJobOptions(once, { retry: 2 }), { code: 'invalid_option' });
});
