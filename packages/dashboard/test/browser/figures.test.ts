/** What the pages count and draw, and lists that change while one looks. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { closeBrowser, openDashboard } from './fixture.ts';

after(closeBrowser);

const noop = { name: 'noop', run: () => null };
const failing = {
  name: 'failing',
  retry: { attempts: 1 },
  run: () => {
    throw new Error('no luck');
  },
};

test('the charts of the overview can be read as a table and by the arrow keys, and the range is in the address', async (t) => {
  const { page, duly, open, complaints } = await openDashboard(t, { tasks: [noop, failing] });
  const jobs = [await duly.taskNamed('noop').now(null), await duly.taskNamed('failing').now(null)];
  for (const job of jobs) await job.result().catch(() => null);
  await open('');
  const ended = page.getByRole('figure', { name: 'Ended per minute' });
  await ended.locator('canvas').waitFor();
  const slider = ended.getByRole('slider');
  await slider.focus();
  // The newest step, or the one before it when a minute has just begun.
  await page.keyboard.press('End');
  const told = async () => (await slider.getAttribute('aria-valuetext')) ?? '';
  if (!(await told()).includes('completed 1')) await page.keyboard.press('ArrowLeft');
  assert.match(await told(), /failed 1, cancelled or expired 0, completed 1/);
  await ended.getByRole('button', { name: 'As a table' }).click();
  const row = ended.getByRole('row').filter({ hasText: /\d\d:\d\d – \d\d:\d\d/ });
  assert.ok((await row.count()) >= 60);
  await page.getByRole('button', { name: '24 hours' }).click();
  assert.match(page.url(), /range=24h/);
  await page.reload();
  await page.getByRole('figure', { name: 'Ended per 30 min' }).waitFor();
  assert.equal(await page.getByRole('button', { name: '24 hours' }).getAttribute('aria-pressed'), 'true');
  assert.deepEqual(complaints, []);
});

test('every run of the coming hour stands on the line of what is due next', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop] });
  await duly.schedules.put({ task: 'noop', name: 'often', cron: '*/5 * * * *' });
  await open('');
  const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Due next' }) });
  const marks = panel.locator('[title^="often, "]');
  await marks.nth(10).waitFor({ state: 'attached' });
  const count = await marks.count();
  assert.ok(count >= 11 && count <= 13, `${count} marks`);
});

test('an alert that fires stands on the overview', async (t) => {
  const { page, duly, open, stopServer, startServer } = await openDashboard(t, { tasks: [failing] });
  await (await duly.taskNamed('failing').now(null)).result().catch(() => null);
  // A server looks at its rules when it starts, and from time to time.
  await stopServer();
  await startServer();
  await open('');
  const alert = page.getByRole('status').filter({ hasText: /dead letter/ });
  await alert.getByRole('link', { name: 'Alerts' }).click();
  await page.getByRole('heading', { name: 'Alerts', level: 1 }).waitFor();
});

test('tasks show how their jobs end and how long they take', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop, failing] });
  for (const name of ['noop', 'failing'])
    await (await duly.taskNamed(name).now(null)).result().catch(() => null);
  await open('tasks');
  const row = page.getByRole('row').filter({ hasText: 'failing' });
  await row.getByText('100 % (1)').waitFor();
  await page.getByRole('row').filter({ hasText: 'noop' }).getByText('0 %').waitFor();
  await row.getByRole('link', { name: 'failing' }).click();
  await page.getByRole('heading', { name: 'failing', level: 1 }).waitFor();
  await page.getByRole('figure', { name: 'Ended per minute' }).waitFor();
});

test('a schedule shows how its last runs did, and its ledger as a calendar', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop] });
  await duly.schedules.put({ task: 'noop', name: 'ticking', rate: '1s' });
  await open('schedules/ticking');
  const panel = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: /The last .*run/ }) });
  await panel.getByText('0 %').waitFor();
  await page
    .getByRole('region', { name: 'Calendar of slots' })
    .getByText(/completed/)
    .first()
    .waitFor({ state: 'attached' });
  await open('schedules');
  await page
    .getByRole('row')
    .filter({ hasText: 'ticking' })
    .getByText(/success/)
    .waitFor();
});

test('under the pointer rows stay where they are: what is new is counted, and shown when asked for', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  for (let n = 0; n < 5; n++) await duly.taskNamed('old').in('1h', n);
  await open('jobs');
  const list = page.getByRole('list', { name: 'Jobs' });
  await list.getByText('old', { exact: true }).first().hover();
  const before = await list.getByRole('listitem').first().innerText();
  for (let n = 0; n < 3; n++) await duly.taskNamed('fresh').in('1h', n);
  await page.getByRole('button', { name: '3 new' }).waitFor();
  assert.equal(await list.getByText('fresh', { exact: true }).count(), 0);
  assert.equal((await list.getByRole('listitem').first().innerText()).split('\n')[1], before.split('\n')[1]);
  await page.getByRole('button', { name: '3 new' }).click();
  await list.getByText('fresh', { exact: true }).first().waitFor();
  assert.equal(await list.getByText('fresh', { exact: true }).count(), 3);
});

test('a job of which others are known says how long they usually take', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop] });
  await (await duly.taskNamed('noop').now(null)).result();
  await open('jobs');
  await page
    .getByRole('list', { name: 'Jobs' })
    .getByText(/usually \d+ ms/)
    .waitFor();
});

test('a long list is read as one scrolls, and few rows are in the page at once', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await duly.taskNamed('many').inMany(
    '1h',
    Array.from({ length: 1_500 }, (_, n) => ({ n })),
  );
  await open('jobs');
  const list = page.getByRole('list', { name: 'Jobs' });
  await list.getByText('{"n":1499}').waitFor();
  // The end moves away as long as there are more.
  await page.evaluate(async () => {
    for (let bottom = 0; bottom < document.body.scrollHeight; ) {
      bottom = document.body.scrollHeight;
      scrollTo({ top: bottom });
      for (let frame = 0; frame < 120 && document.body.scrollHeight === bottom; frame++)
        await new Promise(requestAnimationFrame);
    }
  });
  await list.getByText('{"n":0}', { exact: true }).waitFor();
  assert.ok((await list.getByRole('listitem').count()) < 80);
});

test('the first load is less than 250 KB of compressed script, all pages together', () => {
  const folder = join(import.meta.dirname, '../../../server/dashboard/assets');
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0);
  assert.ok(bytes < 250 * 1_024, `${bytes} bytes`);
});
