/** Names and readers that nobody thinks of first: very long, from right to left, of one tenant only, at no page at all. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, openDashboard } from './fixture.ts';

after(closeBrowser);

const long = `a_name_without_a_space_${'that_goes_on_'.repeat(8)}for_ever`;

test('no page is wider than its window, whatever things are called', async (t) => {
  const failing = {
    name: long,
    retry: { attempts: 1 },
    run: () => {
      throw new Error('x'.repeat(400));
    },
  };
  const slow = {
    name: 'مهمة_التقرير',
    run: async ({
      progress,
      signal,
    }: {
      progress: (percent: number, step: string) => unknown;
      signal: AbortSignal;
    }) => {
      await progress(30, `${'A step with a long description '.repeat(6)}${long}`);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  const { page, duly, api, open } = await openDashboard(t, { tasks: [failing, slow] });
  const post = (path: string, body: object) => api(path, { method: 'POST', body: JSON.stringify(body) });
  await duly.schedules.put({ type: long, name: `${long}-nightly`, cron: '0 2 * * *' });
  await duly.schedules.pause(`${long}-nightly`, { note: 'n'.repeat(300) });
  await duly.schedules.put({ type: long, name: 'جدول التقارير 日本語', rate: '1h' });
  const failed = await duly.taskNamed(long).now({ text: 'y'.repeat(5_000) });
  await failed.result().catch(() => null);
  await duly.taskNamed('مهمة_التقرير').now(null);
  await duly.taskNamed(`nobody_${long}`).now(null, { queue: `queue_${long}` });
  await duly.locks.acquire(long, { ttl: '5m' });
  await post('alerts/rules', { kind: 'stuck', id: long, types: [long] });
  await post('alerts/windows', { cron: '0 2 * * *', duration: '1h', note: 'w'.repeat(300), rules: [long] });
  await post('alerts/channels', { kind: 'slack', url: 'https://example.com/', note: 'c'.repeat(300) });
  await post('keys', { scope: 'read', tenant: long, note: 'k'.repeat(300) });
  const hook = await post('webhooks', {
    url: `https://example.com/${long}`,
    types: [long],
    note: 'h'.repeat(300),
  });
  const paths = [
    ...['', 'jobs', 'schedules', 'day', 'forecast', 'tasks', `tasks/${long}`, 'queues', 'nodes', 'dead'],
    ...['locks', 'alerts', 'webhooks', 'keys', 'audit', `jobs/${failed.id}`, `schedules/${long}-nightly`],
    `webhooks/${hook.id}`,
  ];
  for (const width of [390, 768, 1_440]) {
    await page.setViewportSize({ width, height: 900 });
    for (const path of paths) {
      await open(path);
      await page.getByText('Reading …').first().waitFor({ state: 'detached' });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `/${path} is ${over} px wider than a window of ${width}`);
    }
  }
});

test("a tenant's key is shown what is the tenant's, and no page that would refuse it", async (t) => {
  const noop = { name: 'noop', run: () => null };
  const { page, duly, open, complaints } = await openDashboard(t, { tasks: [noop], tenant: 'acme' });
  await duly.taskNamed('noop').in('1h', { whose: 'acme' }, { tenant: 'acme' });
  await duly.taskNamed('noop').in('1h', { whose: 'another' }, { tenant: 'another' });
  await duly.schedules.put({ type: 'noop', name: 'of-acme', rate: '1h', tenant: 'acme' });
  await duly.schedules.put({ type: 'noop', name: 'of-another', rate: '1h', tenant: 'another' });
  await open('');
  await page.getByText("What is acme's.").waitFor();
  const scheduled = page.getByRole('main').getByRole('link', { name: /^Scheduled/ });
  await scheduled.getByText('1', { exact: true }).waitFor();
  const names = await page.getByRole('navigation', { name: 'Pages' }).getByRole('listitem').allInnerTexts();
  assert.deepEqual(names, ['Overview', 'Jobs', 'Schedules', 'Day', 'Forecast', 'Dead letters', 'Webhooks']);
  for (const name of names) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
    await page.getByText('Reading …').first().waitFor({ state: 'detached' });
  }
  await open('schedules');
  await page.getByRole('link', { name: 'of-acme' }).click();
  await page.getByRole('heading', { name: 'of-acme', level: 1 }).waitFor();
  await open('jobs');
  await page.getByText('{"whose":"acme"}').waitFor();
  assert.equal(await page.getByText('another').count(), 0);
  await page.getByRole('button', { name: 'New job' }).click();
  await page.getByRole('combobox', { name: 'Type' }).fill('noop');
  await page.keyboard.press('Escape');
  assert.deepEqual(complaints, []);
});

test('the audit is read further and further back', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  for (let n = 0; n < 130; n++) await duly.records.put('note', `n${n}`, n);
  await open('audit');
  await page.getByText('record:note/n129', { exact: true }).waitFor();
  const first = page.getByText('record:note/n0', { exact: true });
  assert.equal(await first.count(), 0);
  await page.getByRole('button', { name: 'Show older ones' }).click();
  await first.waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show older ones' }).count(), 0);
});

test('what is not there is said in a heading, and is not asked for again', async (t) => {
  const { page, open } = await openDashboard(t);
  await open('no/such/page');
  await page.getByRole('heading', { name: 'There is no such page.', level: 1 }).waitFor();
  await open('jobs/job_none');
  await page.getByRole('heading', { name: 'No job has this id.', level: 1 }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Try now' }).count(), 0);
});

test('an empty store says how to fill it', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await open('');
  await page.getByText('No jobs or schedules yet.').waitFor();
  await duly.taskNamed('first').in('1h', null);
  await page.getByText('No jobs or schedules yet.').waitFor({ state: 'detached' });
});

test('whoever asks for less motion gets none', async (t) => {
  const { page, open } = await openDashboard(t, { browser: { reducedMotion: 'reduce' } });
  await open('jobs');
  const lengths = await page.evaluate(() =>
    [...document.querySelectorAll('*')].map((element) => {
      const { transitionDuration, animationDuration } = getComputedStyle(element);
      return Math.max(Number.parseFloat(transitionDuration), Number.parseFloat(animationDuration));
    }),
  );
  assert.ok(lengths.length > 50);
  assert.deepEqual(
    lengths.filter((seconds) => seconds > 0.001),
    [],
  );
});
