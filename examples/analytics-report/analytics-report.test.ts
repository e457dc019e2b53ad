import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Duly } from 'duly';
import { createTestDuly, type TestDuly } from 'duly/testing';
import { type Analytics, defineAnalyticsReport, kinds } from './analytics-report.ts';

function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'duly-example-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A report on virtual time: each count takes a minute. */
function createReport(context: TestContext, given: Partial<Analytics> = {}) {
  const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
  const folder = createFolder(context);
  const mails: string[] = [];
  const count = async () => {
    await t.clock.sleep(60_000);
    return 7;
  };
  const mail = async (day: string) => void mails.push(day);
  const task = defineAnalyticsReport(t, { folder, count, mail, publish: async () => {}, ...given });
  return { t, folder, mails, task };
}

async function theJob(t: TestDuly) {
  const { jobs } = await t.jobs({ type: 'analytics_report' }).page({ limit: 1 });
  const [job] = jobs;
  assert.ok(job !== undefined);
  return job;
}

test('progress moves while it counts, and then there are a file and a mail', async (context) => {
  const { t, folder, mails } = createReport(context);
  const seen: (number | null)[] = [];
  await t.advanceTo('2027-01-15T20:30:30Z');
  for (const _ of kinds) {
    seen.push((await theJob(t)).progress.percent);
    await t.advance('1m');
  }
  assert.deepEqual(seen, [0, 22.5, 45, 67.5]);
  const { status, result } = await theJob(t);
  const file = join(folder, '2027-01-16.json');
  assert.equal(status, 'COMPLETED');
  assert.deepEqual(result, { file, visits: 7, 'sign-ups': 7, orders: 7, refunds: 7 });
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).orders, 7);
  assert.deepEqual(mails, ['2027-01-16']);
  await t.stop();
});

test('after a crash in the middle another process begins again: one file, one mail', async (context) => {
  const { t, folder, mails } = createReport(context);
  await t.advanceTo('2027-01-15T20:32:30Z');
  await t.outage('10m');
  await t.advance('10m');
  const { status, losses } = await theJob(t);
  assert.deepEqual([status, losses], ['COMPLETED', 1]);
  assert.deepEqual(readdirSync(folder), ['2027-01-16.json']);
  assert.deepEqual(mails, ['2027-01-16']);
  await t.stop();
});

test('a crash after the mail: the next attempt finishes the rest, and sends none', async (context) => {
  const published: string[] = [];
  const { t, mails } = createReport(context, {
    publish: async (day) => {
      await t.clock.sleep(60_000);
      published.push(day);
    },
  });
  await t.advanceTo('2027-01-15T20:34:30Z');
  assert.deepEqual([mails, published], [['2027-01-16'], []]);
  await t.outage('10m');
  await t.advance('10m');
  assert.equal((await theJob(t)).losses, 1);
  assert.deepEqual([mails, [...new Set(published)]], [['2027-01-16'], ['2027-01-16']]);
  await t.stop();
});

test('a night on which nobody was there is made up for, each day with its own file and mail', async (context) => {
  const { t, folder, mails } = createReport(context);
  await t.advanceTo('2027-01-16T00:00:00Z');
  await t.outage('2 days');
  await t.advance('1h');
  const days = ['2027-01-16', '2027-01-17', '2027-01-18'];
  assert.deepEqual(mails, days);
  assert.deepEqual(
    readdirSync(folder).sort(),
    days.map((day) => `${day}.json`),
  );
  await t.stop();
});

test('a mail server that is away is tried again, and one that has taken the mail is not', async (context) => {
  const tries: string[] = [];
  const { t } = createReport(context, {
    mail: async (_day, _file, key) => {
      tries.push(key);
      if (tries.length < 3) throw new Error('The mail server is away.');
    },
  });
  await t.advanceTo('2027-01-16T00:00:00Z');
  assert.deepEqual(tries, Array(3).fill('analytics-report/2027-01-16'));
  assert.equal((await theJob(t)).status, 'COMPLETED');
  await t.stop();
});

test('five processes declare it: the store has one schedule, and each day one run', async (context) => {
  const folder = createFolder(context);
  const store = `sqlite:${join(createFolder(context), 'duly.db')}`;
  const mails: string[] = [];
  const five = Array.from({ length: 5 }, () => new Duly({ store, app: 'shop' }));
  context.after(() => Promise.all(five.map((one) => one.stop())));
  const [first] = five as [Duly, ...Duly[]];
  const { promise: allRan, resolve } = Promise.withResolvers<void>();
  const completed = new Set<string>();
  for (const one of five) {
    defineAnalyticsReport(one, {
      folder,
      count: async () => 7,
      mail: async (day) => void mails.push(day),
      publish: async () => {},
    });
    one.on('job.settled', ({ id, status }) => {
      if (status === 'COMPLETED' && completed.add(id).size === 3) resolve();
    });
  }
  await Promise.all(five.map((one) => one.start()));
  const { schedules } = await first.schedules.list({ type: 'analytics_report' });
  assert.equal(schedules.length, 1);
  // Nobody waits for two in the morning: three nights of the past are run now, by whoever is free.
  await first.schedules.backfill('analytics_report', {
    from: '2026-01-15T00:00:00Z',
    to: '2026-01-18T00:00:00Z',
  });
  await allRan;
  assert.deepEqual(mails.sort(), ['2026-01-16', '2026-01-17', '2026-01-18']);
  assert.equal((await first.jobs({ type: 'analytics_report' }).page()).jobs.length, 3);
});
