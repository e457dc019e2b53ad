/** An open page whose server, store, session, connections or clock are not as they should be. Of the engine it depends in nothing, so it is asked of one. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, openDashboard } from './fixture.ts';

after(closeBrowser);

const noop = { name: 'noop', run: () => null };

test('a stream that a proxy refuses is asked for again', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop] });
  let isRefused = true;
  await page.route('**/api/events', (route) =>
    isRefused ? route.fulfill({ status: 502, body: 'Bad gateway' }) : route.continue(),
  );
  await open('jobs');
  await page.getByRole('button', { name: /does not answer/ }).waitFor();
  isRefused = false;
  await page.getByRole('button', { name: /^Live/ }).waitFor();
  await (await duly.taskNamed('noop').now(null)).result();
  await page.getByRole('list', { name: 'Jobs' }).getByText('noop').waitFor();
});

test('a store that is away is said to be, on a page with and without rows, and is read once it is back', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await duly.taskNamed('first').in('1h', null);
  await open('jobs');
  await page.getByRole('list', { name: 'Jobs' }).getByText('first').waitFor();
  let isAway = true;
  const problem = { status: 503, code: 'store_unavailable', title: 'Away', detail: 'No connection.' };
  await page.route('**/api/**', (route) =>
    isAway
      ? route.fulfill({ status: 503, contentType: 'application/problem+json', json: problem })
      : route.continue(),
  );
  await duly.taskNamed('second').in('1h', null);
  const banner = page.getByRole('status').filter({ hasText: 'The store is unreachable. Retrying …' });
  await banner.waitFor();
  // What was read is still there.
  await page.getByRole('list', { name: 'Jobs' }).getByText('first').waitFor();
  await page.getByRole('link', { name: 'Queues', exact: true }).click();
  await page.getByRole('heading', { name: 'The store is unreachable. Retrying …', level: 1 }).waitFor();
  isAway = false;
  await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor();
  await banner.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await page.getByRole('list', { name: 'Jobs' }).getByText('second').waitFor();
});

test('a key that is revoked under an open page leads to the way in, and another goes on where one was', async (t) => {
  const { page, api, open } = await openDashboard(t, { scope: 'operate' });
  await open('queues?x=1');
  await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor();
  const { data } = await api('keys');
  const mine = data.find(({ scope }: { scope: string }) => scope === 'operate');
  const { key } = await api('keys', { method: 'POST', body: JSON.stringify({ scope: 'read' }) });
  await api(`keys/${mine.id}`, { method: 'DELETE' }).catch(() => null);
  // Whatever is asked next is refused; a click asks at once.
  await page.getByRole('link', { name: 'Nodes', exact: true }).click();
  await page.getByText('The session is over').waitFor();
  assert.equal(await page.getByRole('navigation').count(), 0);
  await page.getByLabel('Key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Nodes', level: 1 }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Audit', exact: true }).count(), 0);
});

test('signing out ends the session', async (t) => {
  const { page, url, open } = await openDashboard(t);
  await open('jobs');
  const ended = page.waitForResponse(
    (response) => response.url().endsWith('/api/session') && response.request().method() === 'DELETE',
  );
  await page.getByRole('button', { name: 'Sign out' }).click();
  await (await ended).finished();
  await page.getByLabel('Key').waitFor();
  assert.equal((await page.request.get(`${url}/api/jobs`)).status(), 401);
});

test('tabs that nobody sees hold no connection: the eighth opens as the first did', async (t) => {
  const { page, url, open } = await openDashboard(t);
  await open('jobs');
  let seen = page;
  for (let n = 2; n <= 8; n++) {
    // As a browser does with the tab behind the one that is opened.
    await seen.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    seen = await page.context().newPage();
    await seen.goto(`${url}/queues`, { waitUntil: 'commit' });
    await seen.getByRole('heading', { name: 'Queues', level: 1 }).waitFor();
    await seen.getByRole('button', { name: /^Live/ }).waitFor();
  }
});

test('times are right in a browser whose clock is wrong by an hour', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await page.clock.install({ time: Date.now() + 3_600_000 });
  await duly.taskNamed('later').in('30 min', null);
  await open('jobs');
  await page.getByRole('list', { name: 'Jobs' }).getByText('later').waitFor();
  // The clock of the page ticks once a second.
  await page.clock.runFor(2_000);
  const created = page.getByRole('list', { name: 'Jobs' }).locator('time');
  assert.match(await created.innerText(), /^(now|\d+ s ago)$/);
  await open('');
  await page.getByText(/in (29|30) min/).waitFor();
});

test('pages are called by their names in tabs and history, a job by its state', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  const job = await duly.taskNamed('later').in('1h', null);
  await open('schedules');
  assert.equal(await page.title(), 'Schedules · Duly');
  await open(`jobs/${job.id}`);
  await page.waitForFunction(() => document.title === 'Scheduled · later · Duly');
});

test('an address with anything in it is a page, or says what is not there', async (t) => {
  const { page, url, duly, open, complaints } = await openDashboard(t);
  await duly.schedules.put({ type: 'mail.send', name: 'digest.weekly', rate: '1h' });
  // A name with a dot in it is no file.
  await page.goto(`${url}/schedules/digest.weekly`);
  await page.getByRole('heading', { name: 'digest.weekly', level: 1 }).waitFor();
  await page.goto(`${url}/tasks/mail.send`);
  await page.getByRole('heading', { name: 'mail.send', level: 1 }).waitFor();
  await open('day?date=tomorrow');
  await page.getByRole('heading', { name: 'Day', level: 1 }).waitFor();
  assert.deepEqual(complaints, []);
  await page.goto(`${url}/jobs/..%2Fqueues`);
  await page.getByRole('heading', { name: 'No job has this id.', level: 1 }).waitFor();
});

test('Back from a job leads to its place in the list, however far one had scrolled', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await duly.taskNamed('later').inMany('1h', [...Array(400).keys()]);
  await open('jobs');
  const row = page
    .getByRole('list', { name: 'Jobs' })
    .getByRole('listitem')
    .filter({ hasText: /^\D*120\D/ });
  // Rows are read as one comes to them: no further down than there are some.
  while ((await row.count()) === 0) {
    await page.evaluate(() => scrollTo(0, Math.min(scrollY + 400, document.body.scrollHeight - innerHeight)));
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await row.scrollIntoViewIfNeeded();
  const place = await page.evaluate(() => scrollY);
  assert.ok(place > 5_000);
  await row.getByRole('link').click();
  await page.getByRole('heading', { name: /later/, level: 1 }).waitFor();
  await page.goBack();
  await row.waitFor();
  await page.waitForFunction((was) => Math.abs(scrollY - was) < 100, place);
});

test('the page of a job is read again when this job changes, not with every other', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop] });
  const job = await duly.taskNamed('later').in('1h', { text: 'x'.repeat(100_000) });
  await open(`jobs/${job.id}`);
  // So much is laid out only when it is asked for.
  const input = page.locator('pre').filter({ hasText: '"text"' });
  assert.ok(((await input.textContent()) ?? '').length < 30_000);
  await page.getByRole('button', { name: /^Show all/ }).click();
  assert.ok(((await input.textContent()) ?? '').length > 100_000);
  let [readCount, whyCount] = [0, 0];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.endsWith(`/api/jobs/${job.id}`)) readCount++;
    if (pathname.endsWith('/why')) whyCount++;
  });
  // Why it is as it is depends on others and is read with every change. The job is read once more after the stream began, and by the clock.
  const why = () => page.waitForResponse((response) => response.url().endsWith('/why'));
  for (let n = 0; n < 8; n++) await Promise.all([why(), duly.taskNamed('noop').now(n)]);
  assert.ok(readCount * 2 < whyCount, `${readCount} times beside ${whyCount}`);
  await job.cancel();
  await page.getByText('Cancelled', { exact: true }).first().waitFor();
});
