/** Everything that can be done through the pages, each with its effect as the API tells it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { z } from 'zod';
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

test('a job is created by a form from the schema of its task, at once and by a rule', async (t) => {
  const input = z.object({ to: z.string(), copies: z.int().default(1), kind: z.enum(['plain', 'rich']) });
  const { page, api, open } = await openDashboard(t, {
    tasks: [{ name: 'send_mail', input, run: () => null }],
  });
  await open('jobs');
  const fill = async () => {
    await page.getByRole('button', { name: 'New job' }).click();
    await page.getByRole('combobox', { name: 'Type' }).fill('send_mail');
    await page.getByLabel('to', { exact: true }).fill('ann@example.com');
    await page.getByLabel('kind').selectOption('rich');
  };
  await fill();
  await page.getByLabel('copies (optional)').fill('many');
  await page.getByRole('button', { name: 'Create it' }).click();
  await page.getByText('copies is not a number.').waitFor();
  await page.getByLabel('copies (optional)').fill('3');
  await page.getByRole('button', { name: 'Create it' }).click();
  await page.waitForURL(/\/jobs\/job_/);
  await page.getByText('Completed', { exact: true }).first().waitFor();
  const id = page.url().split('/').at(-1) as string;
  assert.deepEqual((await api(`jobs/${id}`)).input, { to: 'ann@example.com', copies: 3, kind: 'rich' });
  await open('jobs');
  await fill();
  await page.getByLabel('When').selectOption('every');
  await page.getByLabel('Rule, as cron').fill('30 2 * * *');
  await page.getByText(/At 02:30 every day/).waitFor();
  await page.getByRole('button', { name: 'Create it' }).click();
  await page.getByRole('heading', { name: 'send_mail', level: 1 }).waitFor();
  const schedule = await api('schedules/send_mail');
  assert.deepEqual(schedule.input, { to: 'ann@example.com', copies: 1, kind: 'rich' });
});

test('a running job is asked to stop', async (t) => {
  const started = gate();
  const { page, duly, api, open } = await openDashboard(t, {
    tasks: [
      {
        name: 'long',
        run: ({ signal }: { signal: AbortSignal }) => {
          started.open();
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
      },
    ],
  });
  const job = await duly.taskNamed('long').now(null);
  await started.opened;
  await open(`jobs/${job.id}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByText('Cancelled', { exact: true }).first().waitFor();
  assert.equal((await api(`jobs/${job.id}`)).status, 'CANCELLED');
});

test('a job shows who made it and what it made', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop] });
  const parent = duly.task({
    name: 'parent',
    run: async () => {
      for (const key of ['one', 'two']) await duly.taskNamed('noop').now({ key }, { key });
    },
  });
  const job = await parent.now(null);
  await job.result();
  await open(`jobs/${job.id}`);
  await page.getByText('2 of 2 children ended').waitFor();
  await page.getByRole('link', { name: 'noop' }).first().click();
  await page.getByText('noop, this one').waitFor();
  await page.getByRole('link', { name: 'parent', exact: true }).waitFor();
});

test('dead letters are retried singly, discarded singly, by group and all together', async (t) => {
  const otherwise = { ...failing, name: 'failing_otherwise' };
  const { page, duly, api, open } = await openDashboard(t, { tasks: [failing, otherwise] });
  const failAs = (task: string) => async (count: number) => {
    const jobs = await Promise.all(Array.from({ length: count }, (_, n) => duly.taskNamed(task).now({ n })));
    for (const job of jobs) await job.result().catch(() => null);
    return jobs.map(({ id }) => id);
  };
  const [fail, failOtherwise] = [failAs('failing'), failAs('failing_otherwise')];
  const row = (id: string) => page.getByRole('listitem').filter({ hasText: id });
  const deadIds = async (): Promise<string[]> => (await api('dead')).data.map(({ id }: { id: string }) => id);
  const ids = await fail(3);
  const others = await failOtherwise(2);
  await open('dead');
  // The smaller group goes as a whole, the other stays.
  await page.getByRole('button', { name: 'Discard 2' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard 2' }).click();
  await page.getByText('2 dead letters off the list.').waitFor();
  await row(others[0] as string).waitFor({ state: 'detached' });
  assert.deepEqual(new Set(await deadIds()), new Set(ids));
  await row(ids[0] as string)
    .getByRole('button', { name: 'Retry' })
    .click();
  await page.getByText('1 dead letter waiting to run again.').waitFor();
  // It fails again: the same job, with an attempt more.
  let seen = await api(`jobs/${ids[0]}`);
  while (seen.attempts < 2 || seen.status !== 'FAILED') seen = await api(`jobs/${ids[0]}?wait=5`);
  await row(ids[1] as string)
    .getByRole('button', { name: 'Discard' })
    .click();
  await row(ids[1] as string).waitFor({ state: 'detached' });
  assert.ok(!(await deadIds()).includes(ids[1] as string));
  assert.equal((await api(`jobs/${ids[1]}`)).status, 'FAILED');
  await page.getByRole('button', { name: 'Discard all' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('discard');
  await page.getByRole('dialog').getByRole('button', { name: 'Discard 2' }).click();
  await page.getByText('Nothing is dead.').waitFor();
  assert.deepEqual(await deadIds(), []);
});

test('a schedule is edited, its next slot skipped, and past slots are created up for after a look', async (t) => {
  const { page, duly, api, open } = await openDashboard(t, { tasks: [noop] });
  await duly.schedules.put({ type: 'noop', name: 'hourly', cron: '0 * * * *' });
  await open('schedules/hourly');
  await page.getByRole('button', { name: 'Skip next' }).click();
  await page.getByText(/Skips /).waitFor();
  assert.equal((await api('schedules/hourly')).skips.length, 1);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'cron' }).fill('30 4 * * *');
  await page.getByText(/At 04:30 every day/).waitFor();
  await page.getByRole('button', { name: 'Change it' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.match((await api('schedules/hourly')).words, /At 04:30 every day/);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Jitter').fill('10 min');
  await page.getByLabel('Input, as JSON').fill('{ "kind": ');
  await page.getByRole('button', { name: 'Change it' }).click();
  await page.getByText(/This is not JSON/).waitFor();
  await page.getByLabel('Input, as JSON').fill('{ "kind": "weekly" }');
  await page.getByRole('button', { name: 'Change it' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const { policies, input } = await api('schedules/hourly');
  assert.deepEqual([policies.jitter_ms, input], [600_000, { kind: 'weekly' }]);
  await page.getByRole('button', { name: 'Backfill' }).click();
  const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 16);
  await page.getByLabel('From').fill(day(3));
  await page.getByRole('button', { name: 'Show what it would create' }).click();
  assert.equal((await api('jobs')).data.length, 0, 'a look creates nothing');
  await page.getByRole('button', { name: /Create 3 runs/ }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const { data } = await api('jobs');
  assert.deepEqual([...new Set(data.map(({ origin }: { origin: string }) => origin))], ['backfill']);
  assert.equal(data.length, 3);
});

test('a key is created, shown once and revoked, and the audit knows', async (t) => {
  const { page, api, open } = await openDashboard(t);
  await open('keys');
  const before = (await api('keys')).data.length;
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('What it is for').fill('nightly deploys');
  await page.getByRole('button', { name: 'Create it' }).click();
  await page.getByText('It is shown this once.').waitFor();
  await page.getByRole('button', { name: 'I have it' }).click();
  assert.equal((await api('keys')).data.length, before + 1);
  await page
    .getByRole('row')
    .filter({ hasText: 'nightly deploys' })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('row').filter({ hasText: 'nightly deploys' }).waitFor({ state: 'detached' });
  assert.equal((await api('keys')).data.length, before);
  await open('audit');
  await page.getByRole('row').filter({ hasText: 'key' }).first().waitFor();
});

test('a declared schedule that was changed by hand says so, and goes back to the code', async (t) => {
  const declared = { name: 'report', every: '0 2 * * *', run: () => null };
  const { page, api, open } = await openDashboard(t, { tasks: [declared] });
  await open('schedules/report');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'cron' }).fill('15 3 * * *');
  await page.getByText(/At 03:15 every day/).waitFor();
  await page.getByRole('button', { name: 'Change it' }).click();
  const drift = page.locator('section').filter({ hasText: 'Changed by hand' });
  await drift.getByText('0 2 * * *').waitFor();
  await drift.getByText('15 3 * * *').waitFor();
  assert.equal((await api('schedules/report')).drift.kind, 'overridden');
  await drift.getByRole('button', { name: 'Back to the code' }).click();
  await drift.waitFor({ state: 'detached' });
  const { drift: left, cron } = await api('schedules/report');
  assert.deepEqual([left, cron], [null, '0 2 * * *']);
});

test('a schedule is deleted after its name was typed', async (t) => {
  const { page, duly, api, open } = await openDashboard(t, { tasks: [noop] });
  await duly.schedules.put({ type: 'noop', name: 'old-report', cron: '0 2 * * *' });
  await open('schedules/old-report');
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog');
  assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled());
  await dialog.getByRole('textbox').fill('old-report');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No schedule yet.').waitFor();
  assert.equal((await api('schedules')).data.length, 0);
});

test('all that a search finds is retried after a count', async (t) => {
  let isBroken = true;
  const task = {
    ...failing,
    run: () => {
      if (isBroken) throw new Error('no luck');
    },
  };
  const { page, duly, api, open } = await openDashboard(t, { tasks: [task, noop] });
  const jobs = [];
  for (let user = 0; user < 4; user++) jobs.push(await duly.taskNamed('failing').now({ user }));
  for (const job of jobs) await job.result().catch(() => null);
  await (await duly.taskNamed('noop').now(null)).result();
  isBroken = false;
  await open('jobs?q=status%3Afailed');
  await page.getByRole('button', { name: 'Retry all found' }).click();
  await page.getByRole('heading', { name: 'Retry 4 jobs?' }).waitFor();
  assert.equal((await api('jobs?status=FAILED')).data.length, 4, 'a count changes nothing');
  await page.getByRole('button', { name: 'Retry 4', exact: true }).click();
  await page.getByText('4 jobs waiting to run again.').waitFor();
  for (const job of jobs) await job.result();
  assert.equal((await api('jobs?status=COMPLETED')).data.length, 5);
});

test('paused, the page stays as it is until the reader goes on', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await duly.taskNamed('early').in('1h', null);
  await open('jobs');
  const list = page.getByRole('list', { name: 'Jobs' });
  await list.getByText('early').waitFor();
  await page.getByRole('button', { name: /^Live/ }).click();
  await page.getByRole('button', { name: /^Paused/ }).waitFor();
  let asked = 0;
  page.on('request', () => {
    asked += 1;
  });
  await duly.taskNamed('late').in('1h', null);
  // By the time that a page which lives shows it, this one would have, too.
  const alive = await page.context().newPage();
  await alive.goto(page.url());
  await alive.getByRole('list', { name: 'Jobs' }).getByText('late').waitFor();
  await duly.taskNamed('later').in('1h', null);
  await alive.getByRole('list', { name: 'Jobs' }).getByText('later').waitFor();
  await alive.close();
  assert.equal(asked, 0);
  assert.equal(await list.getByText('late').count(), 0);
  await page.getByRole('button', { name: /^Paused/ }).click();
  await list.getByText('later').waitFor();
});

test('locks show who holds them', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await duly.locks.acquire('nightly-import', { ttl: '5m' });
  await open('locks');
  await page.getByRole('row').filter({ hasText: 'nightly-import' }).filter({ hasText: 'lock' }).waitFor();
  await page.getByLabel('Search locks').fill('other');
  await page.getByText('The filter hides all locks.').waitFor();
});
