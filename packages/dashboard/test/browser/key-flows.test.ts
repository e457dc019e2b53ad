/** The key flows of the dashboard, on SQLite: sign in, find a job, retry it, pause a queue. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, openDashboard, search } from './fixture.ts';

after(closeBrowser);

const noop = { name: 'noop', run: () => null };

test('a sign-in link asks, and one click signs in; the key is not in the address', async (t) => {
  const { page, url, api } = await openDashboard(t);
  await page.context().clearCookies();
  const { key, id } = await api('keys', { method: 'POST', body: JSON.stringify({ scope: 'read' }) });
  await page.goto(`${url}/signin?key=${key}`);
  assert.equal(page.url(), `${url}/signin`);
  await page.getByText(id).waitFor();
  assert.equal((await page.request.get(`${url}/api/session`)).status(), 401, 'not before it was confirmed');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const session = await (await page.request.get(`${url}/api/session`)).json();
  assert.equal(session.actor, `key:${id}`);
});

test('a word finds the jobs of a task, a tenant, a status and an error', async (t) => {
  const failing = {
    name: 'charge_card',
    retry: { attempts: 1 },
    run: () => {
      throw new Error('card declined');
    },
  };
  const { page, duly, open } = await openDashboard(t, { tasks: [failing] });
  await (await duly.taskNamed('charge_card').now(null)).result().catch(() => null);
  await duly.taskNamed('send_mail').in('1h', null, { tenant: 'acme' });
  await duly.taskNamed('send_mail').in('1h', null, { tenant: 'globex' });
  await open('jobs');
  const rows = page.getByRole('list', { name: 'Jobs' }).getByRole('listitem');
  for (const [text, count] of [
    ['send_mail', 2],
    ['acme', 1],
    ['failed', 1],
    ['declined', 1],
    ['SCHEDULED globex', 1],
    ['mail', 2],
  ] as const) {
    await search(page, text);
    await page.getByText(`${count} found`).waitFor();
    assert.equal(await rows.count(), count, text);
  }
});

test('a job is cancelled, retried, run again, and run with another input', async (t) => {
  const { page, duly, api, open } = await openDashboard(t, { tasks: [noop] });
  const later = await duly.taskNamed('noop').in('1h', { user: 1 });
  await open(`jobs/${later.id}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByText('It is cancelled.').waitFor();
  assert.equal((await api(`jobs/${later.id}`)).status, 'CANCELLED');
  await page.getByRole('button', { name: 'Retry', exact: true }).click();
  await page.getByText('Completed', { exact: true }).first().waitFor();
  assert.equal((await api(`jobs/${later.id}`)).status, 'COMPLETED');
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.waitForURL((url) => url.pathname.startsWith('/jobs/job_') && !url.pathname.endsWith(later.id));
  const again = page.url().split('/').at(-1) as string;
  assert.equal((await api(`jobs/${again}`)).copy_of, later.id);
  await page.getByRole('button', { name: 'Edit and run' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('{ "user": 2 }');
  await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(again));
  const edited = page.url().split('/').at(-1) as string;
  assert.deepEqual((await api(`jobs/${edited}`)).input, { user: 2 });
});

test('a queue, a type and everything is paused with a note and resumed, a worker drained', async (t) => {
  const { page, duly, api, open } = await openDashboard(t, { tasks: [noop] });
  await duly.taskNamed('handled_elsewhere').now(null);
  await open('queues');
  await page.getByRole('row').getByRole('button', { name: 'Pause', exact: true }).first().click();
  await page.getByLabel('Why').fill('maintenance of the mail server');
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page.getByText('maintenance of the mail server').waitFor();
  assert.equal((await api('pauses')).data.length, 1);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('maintenance of the mail server').waitFor({ state: 'detached' });
  assert.equal((await api('pauses')).data.length, 0);
  // Everything at once asks for a word, and stands on the overview for whoever wonders.
  await page.getByRole('button', { name: 'Pause everything' }).click();
  await page.getByLabel('Why').fill('the database is being moved');
  const pause = page.getByRole('dialog').getByRole('button', { name: 'Pause' });
  assert.ok(await pause.isDisabled());
  await page.getByLabel('Type “pause” to go on').fill('pause');
  await pause.click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  assert.deepEqual(
    (await api('pauses')).data.map(({ scope }: { scope: string }) => scope),
    ['all'],
  );
  await open('');
  const reported = page.getByRole('status').filter({ hasText: 'the database is being moved' });
  await reported.getByRole('link', { name: 'Queues' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause everything' }).waitFor();
  assert.equal((await api('pauses')).data.length, 0);
  await open('tasks/noop');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  assert.deepEqual(
    (await api('pauses')).data.map(({ scope, name }: { scope: string; name: string }) => [scope, name]),
    [['type', 'noop']],
  );
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
  await open('nodes');
  await page.getByRole('button', { name: 'Drain' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
  await page.getByText('draining').waitFor();
  assert.notEqual((await api('nodes')).data[0].drain_requested_at, null);
});
