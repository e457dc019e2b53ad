import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, gate, openDashboard } from './fixture.ts';

after(closeBrowser);

const noop = { name: 'noop', run: () => null };

test('a job is created in the dialog, its bar moves while it runs, and its end is seen', async (t) => {
  const half = gate();
  const end = gate();
  const { page, api, open, complaints } = await openDashboard(t, {
    tasks: [
      {
        name: 'video_transcode',
        run: async ({ progress, log }) => {
          await progress(50, 'Transcoding 720p', { step: 2, of: 4 });
          log('half of it');
          await half.opened;
          await progress(80, 'Uploading', { step: 3, of: 4 });
          await end.opened;
          return { frames: 4_800 };
        },
      },
    ],
  });
  await open('');
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await page.getByRole('button', { name: 'New job' }).click();
  await page.getByRole('combobox', { name: 'Type' }).fill('video_transcode');
  await page.getByLabel('Input, as JSON').fill('{"url":"<script>document.title=\'hacked\'</script>"}');
  await page.getByRole('button', { name: 'Create it' }).click();
  const bar = page.getByRole('progressbar');
  await bar.and(page.locator('[aria-valuenow="50"]')).waitFor();
  await page.getByText('Transcoding 720p').first().waitFor();
  await page.getByText('half of it').waitFor();
  half.open();
  await bar.and(page.locator('[aria-valuenow="80"]')).waitFor();
  end.open();
  await page.getByText('Completed', { exact: true }).first().waitFor();
  await page.getByText('"frames": 4800').waitFor();
  // What a caller sent is text and nothing else.
  await page.getByText("<script>document.title='hacked'</script>").waitFor();
  assert.notEqual(await page.title(), 'hacked');
  const { data } = await api('jobs');
  assert.equal(data[0].status, 'COMPLETED');
  assert.deepEqual(complaints, []);
});

test('jobs that fail for one cause are one group, and are retried together', async (t) => {
  let isBroken = true;
  const { page, duly, api, open } = await openDashboard(t, {
    tasks: [
      {
        name: 'send_mail',
        retry: { attempts: 1 },
        run: ({ input }: { input: unknown }) => {
          if (isBroken) throw new Error(`no route to user ${(input as { user: number }).user}`);
        },
      },
    ],
  });
  const task = duly.taskNamed('send_mail');
  const jobs = [await task.now({ user: 1 }), await task.now({ user: 2 }), await task.now({ user: 3 })];
  for (const job of jobs) await job.result().catch(() => null);
  await open('');
  const group = page.getByRole('listitem').filter({ hasText: 'send_mail' }).filter({ hasText: 'no route' });
  await group.getByText('3', { exact: true }).waitFor();
  isBroken = false;
  await group.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('button', { name: 'Retry 3', exact: true }).click();
  await page.getByText('Nothing has failed for good.').waitFor();
  for (const job of jobs) await job.result();
  const { data } = await api('jobs?status=COMPLETED');
  assert.equal(data.length, 3);
});

test('the search is in the address: reload and Back keep it, and a typing mistake is told', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await duly.taskNamed('a').in('1h', { user: 42 });
  await duly.taskNamed('b').in('1h', { user: 7 });
  await open('jobs');
  const list = page.getByRole('list', { name: 'Jobs' });
  await list.getByText('b', { exact: true }).waitFor();
  await page.getByLabel('Search jobs').fill('input.user:42');
  await page.keyboard.press('Enter');
  await list.getByText('b', { exact: true }).waitFor({ state: 'detached' });
  assert.match(page.url(), /q=input\.user%3A42/);
  await page.reload();
  await list.getByText('a', { exact: true }).waitFor();
  assert.equal(await list.getByText('b', { exact: true }).count(), 0);
  await page.getByRole('button', { name: 'Failed' }).click();
  await page.getByText('The filter hides all jobs.').waitFor();
  await page.goBack();
  await list.getByText('a', { exact: true }).waitFor();
  await page.getByLabel('Search jobs').fill('status:faild');
  await page.keyboard.press('Enter');
  await page.getByText('did you mean failed?').waitFor();
});

test('a bulk cancel says how many before it is done', async (t) => {
  const { page, duly, api, open } = await openDashboard(t);
  for (let n = 0; n < 5; n++) await duly.taskNamed('later').in('1h', n);
  await duly.taskNamed('other').in('1h', null);
  await open('jobs?q=type%3Alater');
  await page.getByRole('button', { name: 'Cancel all found' }).click();
  await page.getByRole('heading', { name: 'Cancel 5 jobs?' }).waitFor();
  await page.getByRole('button', { name: 'Cancel 5', exact: true }).click();
  await page.getByText('5 jobs cancelled.').waitFor();
  const { data } = await api('jobs?status=CANCELLED');
  assert.equal(data.length, 5);
  assert.equal((await api('jobs?status=SCHEDULED')).data.length, 1);
});

test('a schedule is created, paused with a note, resumed and run, and its rule is read aloud while it is typed', async (t) => {
  const { page, api, open } = await openDashboard(t, { tasks: [noop] });
  await open('schedules');
  await page.getByText('No schedule yet.').waitFor();
  await page.getByRole('button', { name: 'New schedule' }).click();
  await page.getByRole('combobox', { name: 'Type' }).fill('noop');
  await page.getByRole('textbox', { name: 'Name' }).fill('nightly');
  await page.getByLabel('Rule', { exact: true }).fill('0 25 * * *');
  await page.getByText(/hour/).first().waitFor();
  await page.getByLabel('Rule', { exact: true }).fill('30 2 * * *');
  await page.getByText(/At 02:30 every day/).waitFor();
  await page.getByRole('button', { name: 'Create it' }).click();
  await page.getByRole('heading', { name: 'nightly' }).waitFor();
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByLabel('Why').fill('holidays');
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page.getByText('holidays').waitFor();
  assert.equal((await api('schedules/nightly')).status, 'paused');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('holidays').waitFor({ state: 'detached' });
  assert.equal((await api('schedules/nightly')).status, 'active');
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('Completed', { exact: true }).first().waitFor();
  assert.equal((await api('jobs')).data[0].origin, 'trigger');
});

test('the server goes away under an open page and comes back', async (t) => {
  const { page, duly, open, stopServer, startServer } = await openDashboard(t, { tasks: [noop] });
  await open('jobs');
  await page.getByText('No job was created yet.').waitFor();
  await page.getByRole('button', { name: /^Live/ }).waitFor();
  await stopServer();
  await page.getByRole('button', { name: /does not answer/ }).waitFor();
  await (await duly.taskNamed('noop').now(null)).result();
  await startServer();
  await page.getByRole('button', { name: /^Live/ }).waitFor();
  await page.getByRole('list', { name: 'Jobs' }).getByText('noop').waitFor();
});

test('what a key may not do is not shown', async (t) => {
  const { page, duly, open } = await openDashboard(t, { scope: 'read' });
  await duly.taskNamed('later').in('1h', null);
  await open('jobs');
  await page.getByRole('list', { name: 'Jobs' }).getByText('later').click();
  await page.getByRole('heading', { name: /later/ }).waitFor();
  for (const name of ['Cancel', 'Run again', 'Edit and run']) {
    assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
  }
  assert.equal(await page.getByRole('link', { name: 'Keys' }).count(), 0);
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog');
  await palette.getByRole('button', { name: /^Queues/ }).waitFor();
  assert.equal(await palette.getByRole('button', { name: /^Keys/ }).count(), 0);
});

test('keyboard: g j, /, ? and the palette', async (t) => {
  const { page, open } = await openDashboard(t);
  await open('');
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Search jobs');
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).click();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  const close = page.getByRole('dialog', { name: 'Keyboard' }).getByRole('button', { name: 'Close' });
  await close.locator('svg').click();
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('textbox').fill('sched');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Schedules', level: 1 }).waitFor();
});

test('under a path of its own everything is found there', async (t) => {
  const { page, url, open, complaints, strangers } = await openDashboard(t, { basePath: '/ops/duly' });
  await open('queues');
  await page.getByRole('link', { name: 'Nodes' }).click();
  await page.getByText('No node is live.').waitFor();
  assert.equal(page.url(), `${url}/nodes`);
  assert.deepEqual(complaints, []);
  assert.deepEqual(strangers, []);
});

test('on a phone the menu leads to every page and switches the zone', async (t) => {
  const { page, open } = await openDashboard(t, {
    browser: { viewport: { width: 390, height: 844 }, timezoneId: 'Asia/Kolkata' },
  });
  await open('day');
  await page.getByText(/in Asia\/(Kolkata|Calcutta)/).waitFor();
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Times in local time' }).click();
  await page.getByText(/, in UTC/).waitFor();
  await page.getByRole('link', { name: 'Queues' }).click();
  await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Queues' }).waitFor({ state: 'hidden' });
});
