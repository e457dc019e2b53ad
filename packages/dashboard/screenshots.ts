// `npm run screenshots`: every page of the dashboard in both themes at three widths, over a store with something in it.
// `npm run screenshots -- overview jobs` makes only those. The pictures come into packages/dashboard/screenshots.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Duly, type TaskContext } from '@duly/core';
import { createServer, listen } from '@duly/server';
import { chromium } from 'playwright-core';
import { buildDashboard } from '../../scripts/build-dashboard.ts';
import { chromiumProgram } from '../../test/servers/chromium.ts';
import { fillHistory } from './test/browser/long-history.ts';

const steps = ['Fetching', 'Transcoding 1080p', 'Transcoding 720p', 'Uploading'];
const chosen = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'duly-screenshots-'));
const pictures = join(import.meta.dirname, 'screenshots');

async function transcode({ progress, log, signal }: TaskContext<unknown>): Promise<void> {
  for (let frame = 0; frame < 40 && !signal.aborted; frame++) {
    const step = Math.floor(frame / 10);
    await progress(frame * 2.5, steps[step], { step, of: steps.length });
    log(`frame ${frame * 120} of 4800`);
    await wait(1_500, undefined, { signal }).catch(() => {});
  }
}

async function sendMail({ input }: TaskContext<unknown>): Promise<{ sent: boolean }> {
  const { user } = input as { user: number };
  await wait(20);
  if (user % 4 === 0) throw new Error(`SMTP 421 for user ${user}: connection to mail.example.com refused`);
  return { sent: true };
}

/** Something of everything that a page can show. */
async function fill(duly: Duly): Promise<void> {
  const video = duly.task({ name: 'video_transcode', concurrency: 3, run: transcode });
  const mail = duly.task({ name: 'send_mail', retry: { attempts: 1 }, run: sendMail });
  const report = duly.task({
    name: 'analytics_report',
    every: { cron: '*/2 * * * *', timezone: 'Asia/Kolkata' },
    run: () => ({ rows: 42 }),
  });
  const pdf = duly.task({
    name: 'render_pdf',
    retry: { attempts: 1 },
    run: () => {
      throw new TypeError('Cannot read properties of undefined (reading "pages")');
    },
  });
  await duly.start();
  await report.every('0 2 * * *', null, { name: 'nightly-report', timezone: 'America/New_York' });
  await report.every({ rate: '2s' }, null, { name: 'health-checks' });
  await mail.every('0 8 * * 1', { user: 42 }, { name: 'weekly-digest', timezone: 'Europe/Rome' });
  await duly.schedules.pause('weekly-digest', { note: 'waiting for the new template' });
  for (let user = 0; user < 60; user++) await mail.now({ user, subject: 'Welcome' });
  for (let invoice = 1_000; invoice < 1_003; invoice++) await pdf.now({ invoice });
  for (let n = 789; n < 794; n++) await video.now(`s3://uploads/video_${n}.mp4`);
  await mail.in('2 h', { user: 7 });
  for (let user = 1; user < 40; user++) await mail.in(user * user * 2_000 + 30_000, { user });
  for (const name of ['invoices', 'backups', 'index-rebuild', 'sitemap', 'cache-warmup', 'exports']) {
    await report.every('0 3 * * *', null, { name, timezone: 'Europe/Rome' });
  }
  const step = duly.task({ name: 'release_step', run: () => wait(50) });
  const release = duly.task({
    name: 'release',
    run: async ({ signal }) => {
      for (const name of ['build', 'sign', 'upload', 'announce']) await step.now({ name }, { key: name });
      await wait(200_000, undefined, { signal }).catch(() => {});
    },
  });
  await release.now({ version: '2.4.0' });
  await duly.locks.acquire('nightly-import', { ttl: '5m' });
  duly.leader('billing-cycle');
  await wait(20_000);
}

buildDashboard();
mkdirSync(pictures, { recursive: true });
const store = `sqlite:${join(folder, 'duly.db')}`;
await fillHistory(store, { count: 4_000, untilAt: Date.now(), spanMs: 3_600_000 });
const duly = new Duly({ store, app: 'studio', logger: false });
await fill(duly);
const receiver = createHttpServer((request, response) => {
  request.resume().once('end', () => response.writeHead(reports++ % 3 === 2 ? 500 : 204).end());
});
let reports = 0;
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const server = createServer({ duly, allowTargets: ['127.0.0.1/32'] });
const listening = await listen(server, { port: 0 });
const { key } = await server.keys.create({
  scope: 'admin',
  tenant: null,
  note: 'screenshots',
  by: 'screenshots',
});
const [running] = (await duly.jobs({ status: 'RUNNING', type: 'video_transcode' }).page({ limit: 1 })).jobs;
const [failed] = (await duly.dead.list().page({ limit: 1 })).jobs;
const [flow] = (await duly.jobs({ type: 'release' }).page({ limit: 1 })).jobs;
const post = async (path: string, body: object): Promise<{ id: string }> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const options = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await fetch(`${listening.url}/api/${path}`, options)).json() as Promise<{ id: string }>;
};
const webhook = await post('webhooks', {
  url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks/duly`,
  types: ['send_mail'],
  note: 'billing',
});
await post('webhooks', { url: 'https://example.com/hook', statuses: ['FAILED', 'EXPIRED'], enabled: false });
await post('alerts/channels', { kind: 'slack', url: 'https://example.com/chat', note: 'the team' });
await post('alerts/windows', { cron: '0 2 * * SUN', timezone: 'Europe/Rome', duration: '2h' });
for (let user = 100; user < 108; user++) await duly.taskNamed('send_mail').now({ user });
await wait(3_000);
const addresses: Record<string, string> = {
  overview: '',
  jobs: 'jobs',
  job: `jobs/${running?.id}`,
  failed: `jobs/${failed?.id}`,
  schedules: 'schedules',
  schedule: 'schedules/health-checks',
  tasks: 'tasks',
  task: 'tasks/send_mail',
  flow: `jobs/${flow?.id}`,
  locks: 'locks',
  day: 'day',
  forecast: 'forecast?hours=24&workers=2',
  queues: 'queues',
  nodes: 'nodes',
  dead: 'dead',
  alerts: 'alerts',
  webhooks: 'webhooks',
  webhook: `webhooks/${webhook.id}`,
  keys: 'keys',
  audit: 'audit',
};
const browser = await chromium.launch({ executablePath: chromiumProgram(), args: ['--no-sandbox'] });
for (const theme of ['light', 'dark'] as const) {
  for (const width of [1_280, 768, 390]) {
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme });
    const page = await context.newPage();
    await context.request.post(`${listening.url}/api/session`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    for (const [name, address] of Object.entries(addresses)) {
      if (chosen.length > 0 && !chosen.includes(name)) continue;
      await page.goto(`${listening.url}/${address}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByText('Reading …').first().waitFor({ state: 'detached' });
      // Fonts, charts and the first answers; a picture may wait a moment.
      await wait(800);
      await page.screenshot({ path: join(pictures, `${name}-${theme}-${width}.png`) });
    }
    await context.close();
  }
}
await browser.close();
await listening.close();
receiver.close();
await duly.stop({ drain: 0 });
rmSync(folder, { recursive: true, force: true });
console.log(`The pictures are in packages/dashboard/screenshots.`);
