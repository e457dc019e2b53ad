/** What the pages count and draw, and lists that change while one looks. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { closeBrowser, gate, openDashboard } from './fixture.ts';

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
  // Figures have come: an hour of minutes.
  await slider.and(page.locator('[aria-valuemax="60"], [aria-valuemax="59"]')).waitFor();
  await slider.focus();
  // The jobs ended in the newest minute, or in the one before, or one in each.
  let [failed, others, completed] = [0, 0, 0];
  for (const key of ['End', 'ArrowLeft']) {
    await page.keyboard.press(key);
    const reported = (await slider.getAttribute('aria-valuetext')) ?? '';
    const counts = /: failed (\d+), cancelled or expired (\d+), completed (\d+)$/.exec(reported);
    assert.notEqual(counts, null, reported);
    const [, one, two, three] = (counts as RegExpExecArray).map(Number) as [number, number, number, number];
    [failed, others, completed] = [failed + one, others + two, completed + three];
  }
  assert.deepEqual([failed, others, completed], [1, 0, 1]);
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

test('every run and every job of the coming hour stands on the lines of what is due next', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop] });
  await duly.schedules.put({ type: 'noop', name: 'often', cron: '*/5 * * * *' });
  await duly.schedules.put({ type: 'noop', name: 'always', rate: '2s' });
  const soon = await duly.taskNamed('reminder').in('90s', { user: 7 });
  for (const user of [1, 2]) await duly.taskNamed('reminder').in('40m', { user });
  await duly.taskNamed('reminder').in('2h', { user: 3 });
  await open('');
  const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Due next' }) });
  const marks = panel.locator('[title^="often, "]');
  await marks.nth(10).waitFor({ state: 'attached' });
  const count = await marks.count();
  assert.ok(count >= 11 && count <= 13, `${count} marks`);
  // What comes every two seconds is one bar over the whole hour, not the first ten minutes of it.
  await panel.locator('[title^="always, "][title$=" slots"]').waitFor({ state: 'attached' });
  assert.equal(await panel.locator('[title^="always, "]').count(), 1);
  await panel.locator('[title^="1 job, "]').waitFor({ state: 'attached' });
  await panel.locator('[title^="2 jobs, "]').waitFor({ state: 'attached' });
  await panel.getByText('3 jobs wait for a time in the coming hour').waitFor();
  await panel.getByRole('listitem').filter({ hasText: '{"user":7}' }).getByRole('link').click();
  await page.waitForURL((url) => url.pathname.endsWith(soon.id));
});

test('the forecast shows load, concurrency, collisions, changes of the clocks and jitter, and is asked by its address', async (t) => {
  const { page, duly, api, open, complaints } = await openDashboard(t, { tasks: [noop] });
  // Twelve at once each night, in an hour that one zone skips in spring.
  for (let tenant = 0; tenant < 12; tenant++) {
    const name = `report-${tenant}`;
    await duly.schedules.put({ type: 'noop', name, cron: '30 2 * * *', timezone: 'America/New_York' });
  }
  await open('forecast?hours=24&concurrency=3');
  const panel = (name: string) =>
    page.locator('section').filter({ has: page.getByRole('heading', { name, exact: true }) });
  const reported = await api('forecast?hours=24&concurrency=3');
  const fact = (name: string) =>
    page.locator('dl > div', { has: page.locator(`dt:text-is("${name}")`) }).locator('dd');
  assert.equal(await fact('Runs').innerText(), String(reported.runs));
  assert.match(await fact('Most at a time').innerText(), new RegExp(`^${reported.load.peak}\\b`));
  assert.match(
    await fact('Concurrency needed').innerText(),
    new RegExp(`^${reported.load.concurrency_needed}\\b`),
  );
  assert.equal(await fact('Late runs').innerText(), String(reported.with_concurrency.late));
  await page.getByRole('figure', { name: 'Runs at a time' }).locator('canvas').waitFor();
  const collision = panel('Collisions').getByRole('row').filter({ hasText: 'report-0' });
  await collision.getByRole('cell', { name: '12', exact: true }).waitFor();
  await panel('Changes of the clocks, within a year').getByText('02:30 does not exist').waitFor();
  const jitter = panel('Jitter that would spread the load');
  await jitter.getByRole('row').filter({ hasText: 'report-7' }).getByText('15 min').waitFor();
  await page.getByText('most, with jitter').waitFor();
  await page.getByRole('button', { name: '7 days' }).click();
  await page.waitForURL(/hours=168/);
  await page.getByLabel('With a concurrency of').fill('12');
  await page.keyboard.press('Enter');
  await page.waitForURL(/concurrency=12/);
  await page.reload();
  const weekLong = await api('forecast?hours=168&concurrency=12');
  await page.getByText(String(weekLong.runs), { exact: true }).first().waitFor();
  assert.equal(await page.getByLabel('With a concurrency of').inputValue(), '12');
  assert.deepEqual(complaints, []);
});

test('jitter that the forecast advises is given by a click, to one schedule and to all', async (t) => {
  const declared = { name: 'declared', every: '30 2 * * *', run: () => null };
  const { page, duly, api, open } = await openDashboard(t, { tasks: [noop, declared] });
  for (let n = 10; n < 21; n++)
    await duly.schedules.put({ type: 'noop', name: `report-${n}`, cron: '30 2 * * *' });
  await open('forecast');
  const panel = page.locator('section').filter({
    has: page.getByRole('heading', { name: 'Jitter that would spread the load', exact: true }),
  });
  await panel
    .getByRole('row')
    .filter({ hasText: 'declared' })
    .getByRole('button', { name: 'Use it' })
    .click();
  await page.getByText('declared has a jitter of 15 min.').waitFor();
  const { policies, drift } = await api('schedules/declared');
  assert.equal(policies.jitter_ms, 900_000);
  assert.deepEqual(
    drift.fields.map(({ field }: { field: string }) => field),
    ['jitter'],
  );
  await panel.getByRole('row').filter({ hasText: 'declared' }).waitFor({ state: 'detached' });
  await panel.getByRole('button', { name: 'Use all 11' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Use all 11' }).click();
  await page.getByText('11 schedules have their jitter.').waitFor();
  const { data } = await api('schedules');
  assert.deepEqual(
    data.map((one: typeof drift) => one.policies.jitter_ms),
    Array(12).fill(900_000),
  );
  await panel.waitFor({ state: 'detached' });
  await open('schedules/declared');
  await page.getByText('Changed by hand: differs from the code').waitFor();
});

test('hundreds of schedules are read as one scrolls, and a search asks the server for all of them', async (t) => {
  const { page, duly, open, complaints } = await openDashboard(t);
  const put = (n: number) =>
    duly.schedules.put({
      type: n === 249 ? 'send_mail' : 'noop',
      name: `tenant-${String(n).padStart(3, '0')}`,
      cron: n % 2 === 0 ? '0 2 * * *' : '0 8 * * 1',
    });
  for (let n = 0; n < 250; n += 50) await Promise.all(Array.from({ length: 50 }, (_, at) => put(n + at)));
  await open('schedules');
  const table = page.getByRole('region', { name: 'Schedules' });
  await table.getByText('tenant-000').waitFor();
  assert.equal(await table.getByText('tenant-249').count(), 0);
  await page.evaluate(async () => {
    for (let bottom = 0; bottom < document.body.scrollHeight; ) {
      bottom = document.body.scrollHeight;
      scrollTo({ top: bottom });
      for (let frame = 0; frame < 120 && document.body.scrollHeight <= bottom; frame++)
        await new Promise(requestAnimationFrame);
    }
  });
  await table.getByText('tenant-249').waitFor();
  assert.ok((await table.getByRole('row').count()) < 40);
  await page.getByLabel('Search schedules').fill('SEND_');
  await table.getByText('tenant-000').waitFor({ state: 'detached' });
  await table.getByText('tenant-249').waitFor();
  assert.equal(await table.getByRole('row').count(), 2);
  await page.getByLabel('Search schedules').fill('on monday');
  await table.getByText('tenant-001').waitFor();
  assert.equal(await table.getByText('tenant-000').count(), 0);
  await page.getByLabel('Search schedules').fill('nobody');
  await page.getByText('The filter hides all schedules.').waitFor();
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await table.getByText('tenant-000').waitFor();
  assert.deepEqual(complaints, []);
});

test('the day shows the change of the clocks, and the zone can be switched', async (t) => {
  const { page, duly, open } = await openDashboard(t, {
    tasks: [noop],
    browser: { timezoneId: 'America/New_York' },
  });
  await duly.schedules.put({
    type: 'noop',
    name: 'nightly',
    cron: '30 2 * * *',
    timezone: 'America/New_York',
  });
  await open('day?date=2027-03-14');
  await page.getByText('The clocks of America/New_York go forward by 1 h').waitFor();
  const slot = page.getByRole('listitem').filter({ hasText: 'to come' });
  // At the first instant after the gap.
  await slot.and(page.locator('[title^="03:00:00"]')).waitFor();
  await page
    .getByRole('button', { name: /^Times are in America/ })
    .or(page.getByTitle(/^Times are in America/))
    .first()
    .click();
  await page.getByText('Sun 14 Mar, in UTC').waitFor();
  await slot.and(page.locator('[title^="07:00:00"]')).waitFor();
  await page.reload();
  await page.getByText('Sun 14 Mar, in UTC').waitFor();
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
  const { page, duly, api, open } = await openDashboard(t, { tasks: [noop] });
  await duly.schedules.put({ type: 'noop', name: 'ticking', rate: '1s' });
  // Figures are read every ten seconds: the first run is over before the page is opened.
  let status = '';
  while (status !== 'COMPLETED') status = (await api('schedules/ticking')).last_run?.status;
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

test('the ledger is read further and further back', async (t) => {
  const { page, duly, api, open } = await openDashboard(t, { tasks: [noop] });
  await duly.schedules.put({ type: 'noop', name: 'ticking', rate: '1s' });
  let count = 0;
  while (count < 3) count = (await api('schedules/ticking')).fired_count;
  // From now on no slot comes while one looks.
  await duly.schedules.put({ type: 'noop', name: 'ticking', cron: '0 0 29 2 *' });
  const slots: { slot: string }[] = (await api('schedules/ticking/slots')).data;
  // A hundred take too long to come: the server is asked for pages of two.
  await page.route(/slots\?limit=100\b/, (route) =>
    route.continue({ url: route.request().url().replace('limit=100', 'limit=2') }),
  );
  await open('schedules/ticking');
  const rows = page.getByRole('region', { name: 'Ledger' }).locator('tbody tr');
  await rows.nth(1).waitFor();
  assert.equal(await rows.count(), 2);
  const older = page.getByRole('button', { name: 'Show older slots' });
  for (let shown = 2; shown < slots.length; shown += 2) {
    await older.click();
    await rows.nth(Math.min(shown + 2, slots.length) - 1).waitFor();
  }
  // Of a page that is full nobody knows whether it is the last.
  if (slots.length % 2 === 0) await older.click();
  await older.waitFor({ state: 'detached' });
  assert.equal(await rows.count(), slots.length);
});

test('under the pointer rows stay where they are: what is new is counted, and shown when asked for', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  for (let n = 0; n < 5; n++) await duly.taskNamed('old').in('1h', n);
  await open('jobs');
  const list = page.getByRole('list', { name: 'Jobs' });
  // When all is there: what comes later, above the list, would move it from under the pointer.
  await page.getByText('5 stored').waitFor();
  await list.getByText('old', { exact: true }).nth(2).hover();
  const before = await list.getByRole('listitem').first().innerText();
  for (let n = 0; n < 3; n++) await duly.taskNamed('fresh').in('1h', n);
  await page.getByRole('button', { name: '3 new' }).waitFor();
  assert.equal(await list.getByText('fresh', { exact: true }).count(), 0);
  assert.equal((await list.getByRole('listitem').first().innerText()).split('\n')[1], before.split('\n')[1]);
  await page.getByRole('button', { name: '3 new' }).click();
  await list.getByText('fresh', { exact: true }).first().waitFor();
  assert.equal(await list.getByText('fresh', { exact: true }).count(), 3);
});

test('under the pointer groups of dead letters stay in their order, and what one does to them is seen', async (t) => {
  const named = (name: string) => ({ ...failing, name });
  const { page, duly, open } = await openDashboard(t, { tasks: [named('first'), named('second')] });
  const fail = async (task: string, count: number) => {
    for (let n = 0; n < count; n++) await (await duly.taskNamed(task).now(n)).result().catch(() => null);
  };
  await fail('first', 2);
  await fail('second', 1);
  await open('dead');
  const heads = page.getByRole('main').getByRole('heading', { level: 2 });
  await heads.nth(1).waitFor();
  await heads.nth(1).hover();
  await fail('second', 3);
  // Both were read again: more of one than of the other.
  await page.waitForResponse(async (response) => {
    if (!response.url().includes('/dead/groups')) return false;
    return (await response.json()).data[0].type === 'second';
  });
  assert.match(await heads.first().innerText(), /^first/);
  await page.getByRole('heading', { name: 'Dead letters', level: 1 }).hover();
  await heads.first().filter({ hasText: 'second' }).waitFor();
  await page.getByRole('button', { name: 'Discard 2' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard 2' }).click();
  await heads.filter({ hasText: 'first' }).waitFor({ state: 'detached' });
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

test('the newest line of a log is shown, and those that come later follow', async (t) => {
  const more = gate();
  const chatty = {
    name: 'chatty',
    run: async ({ log }: { log: (line: string) => void }) => {
      for (let n = 1; n <= 300; n++) log(`line ${n}.`);
      await more.opened;
      log('and one more.');
    },
  };
  const { page, duly, open } = await openDashboard(t, { tasks: [chatty] });
  const job = await duly.taskNamed('chatty').now(null);
  await open(`jobs/${job.id}`);
  await page.getByText('line 300.').waitFor();
  await page.getByRole('heading', { name: 'Log, 300 lines' }).waitFor();
  more.open();
  await page.getByText('and one more.').waitFor();
  assert.equal(await page.getByRole('list', { name: 'Log lines' }).getByRole('listitem').count(), 301);
});

test('the first load is less than 250 KB of compressed script, all pages together', () => {
  const folder = join(import.meta.dirname, '../../../server/dashboard/assets');
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0);
  assert.ok(bytes < 250 * 1_024, `${bytes} bytes`);
});
