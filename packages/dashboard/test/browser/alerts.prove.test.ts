/** What tells people and programs: alerts with their rules, channels and windows, and webhooks. Each action with its effect as the API tells it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startReceiver } from '../../../server/test/receiver.ts';
import { closeBrowser, openDashboard } from './fixture.ts';

after(closeBrowser);

const noop = { name: 'noop', run: () => null };

test('an alert rule is switched off and on, and a channel is added, tried and removed', async (t) => {
  const { page, api, open } = await openDashboard(t, { tasks: [noop], allowTargets: ['127.0.0.1/32'] });
  await open('alerts');
  const offCount = async (): Promise<number> =>
    (await api('alerts/rules')).data.filter(({ enabled }: { enabled: boolean }) => !enabled).length;
  const before = await offCount();
  await page.getByRole('button', { name: 'Switch off' }).first().click();
  await page.getByRole('button', { name: 'Switch on' }).first().waitFor();
  assert.equal(await offCount(), before + 1);
  await page.getByRole('button', { name: 'Switch on' }).first().click();
  await page.getByRole('button', { name: 'Switch on' }).first().waitFor({ state: 'detached' });
  assert.equal(await offCount(), before);
  await page.getByRole('button', { name: 'Add a channel' }).click();
  await page.getByLabel('Kind').selectOption('webhook');
  const hook = await startReceiver(t);
  await page.getByLabel('Address').fill(hook.url);
  await page.getByRole('button', { name: 'Add it' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal((await api('alerts/channels')).data.length, 1);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  assert.equal((await hook.nth(1)).json.type, 'alert.test');
  await page.getByText('A test was sent.').waitFor();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Nobody is notified yet.').waitFor();
  assert.equal((await api('alerts/channels')).data.length, 0);
});

test('the thresholds of an alert rule are edited, and a rule of one type is added and deleted', async (t) => {
  const { page, api, open } = await openDashboard(t);
  const ruleOf = async (id: string) =>
    (await api('alerts/rules')).data.find((rule: { id: string }) => rule.id === id);
  const row = (id: string) =>
    page.getByRole('region', { name: 'Rules' }).getByRole('row').filter({ hasText: id });
  const dialog = page.getByRole('dialog');
  await open('alerts');
  await row('failure-rate').getByRole('button', { name: 'Edit' }).click();
  assert.equal(await dialog.getByLabel('Within').inputValue(), '1 h');
  await dialog.getByLabel('More than, per cent').fill('12.5');
  await dialog.getByLabel('Within').fill('1 h 30 min');
  await dialog.getByLabel('Of at least').fill('7');
  await dialog.getByLabel('Notify after it has held for').fill('2 min');
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await row('failure-rate').getByText('more than 12.5 % fail within 1 h 30 min, of at least 7').waitFor();
  const { above, window, min_count, for: hold } = await ruleOf('failure-rate');
  assert.deepEqual([above, window, min_count, hold], [12.5, 5_400_000, 7, 120_000]);
  // What the server refuses is said, and the dialog stays as it was filled.
  await row('waiting').getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Longer than').fill('a while');
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await page.getByText(/Expected "after" to be a duration/).waitFor();
  assert.equal(await dialog.getByLabel('Longer than').inputValue(), 'a while');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await dialog.getByLabel('When').selectOption({ label: 'Dead letters wait' });
  await dialog.getByLabel('Name').fill('dead mails');
  await dialog.getByLabel('More than').fill('3');
  await dialog.getByLabel('Only of these types').fill('send_mail, send_digest');
  await dialog.getByRole('button', { name: 'Add it' }).click();
  await row('dead mails').getByText('more than 3 dead letters wait').waitFor();
  assert.deepEqual((await ruleOf('dead mails')).types, ['send_mail', 'send_digest']);
  await row('dead mails').getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  // While it is there the page behind it is hidden from everybody, rows and all.
  await dialog.waitFor({ state: 'detached' });
  await row('dead mails').waitFor({ state: 'detached' });
  assert.equal(await ruleOf('dead mails'), undefined);
});

test('maintenance windows are created, once and by the calendar, and deleted', async (t) => {
  const { page, api, open } = await openDashboard(t, { browser: { timezoneId: 'Europe/Rome' } });
  const dialog = page.getByRole('dialog');
  const row = (text: string) =>
    page.getByRole('region', { name: 'Maintenance windows' }).getByRole('row').filter({ hasText: text });
  await open('alerts');
  await page.getByRole('button', { name: 'Add a window' }).click();
  await dialog.getByLabel('From').fill('2020-01-01T10:00');
  await dialog.getByLabel('Until').fill('2099-01-01T12:00');
  await dialog.getByLabel('dead-letters').uncheck();
  await dialog.getByLabel('Why').fill('the move');
  await dialog.getByRole('button', { name: 'Add it' }).click();
  await row('the move').getByText('open now: no alert is sent').waitFor();
  const [once] = (await api('alerts/windows')).data;
  assert.deepEqual([once.from, once.until], ['2020-01-01T09:00:00.000Z', '2099-01-01T11:00:00.000Z']);
  assert.ok(once.rules.includes('stuck') && !once.rules.includes('dead-letters'));
  await page.getByRole('button', { name: 'Add a window' }).click();
  await dialog.getByRole('button', { name: 'By the calendar' }).click();
  await dialog.getByLabel('Begins, as cron').fill('30 3 * * SUN');
  // A zone that is half typed is told, and breaks nothing.
  await dialog.getByLabel('Time zone').fill('America/New_');
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Time zone').fill('America/New_York');
  await dialog.getByText(/At 03:30/).waitFor();
  await dialog.getByLabel('For').fill('90 min');
  await dialog.getByRole('button', { name: 'Add it' }).click();
  await row('30 3 * * SUN').getByText('for 1 h 30 min').waitFor();
  const [, byCalendar] = (await api('alerts/windows')).data.sort((one: { cron?: string }) =>
    one.cron === undefined ? -1 : 1,
  );
  assert.deepEqual([byCalendar.timezone, byCalendar.duration], ['America/New_York', 5_400_000]);
  for (const text of ['the move', '30 3 * * SUN']) {
    await row(text).getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    await row(text).waitFor({ state: 'detached' });
  }
  assert.deepEqual((await api('alerts/windows')).data, []);
});

test('a key that may only read is shown rules and windows, and nothing to change them with', async (t) => {
  const { page, open, complaints } = await openDashboard(t, { scope: 'operate' });
  await open('alerts');
  await page.getByRole('region', { name: 'Rules' }).getByText('dead-letters').waitFor();
  await page.getByText('Alerts are sent at any time.').waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Channels' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: /Add a|Edit|Delete|Switch o/ }).count(), 0);
  assert.equal(await page.getByRole('link', { name: 'Webhooks' }).count(), 0);
  assert.deepEqual(complaints, []);
});

test('a webhook is added, called, signed with a new secret, changed, disabled, enabled and deleted', async (t) => {
  const { page, duly, api, open, complaints } = await openDashboard(t, {
    tasks: [noop],
    allowTargets: ['127.0.0.1/32'],
  });
  const hook = await startReceiver(t, (n) => (n === 1 ? 200 : 410));
  const dialog = page.getByRole('dialog');
  await open('webhooks');
  await page.getByText('No address is notified yet.').waitFor();
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  await dialog.getByLabel('Address').fill(hook.url);
  await dialog.getByLabel('Cancelled').uncheck();
  await dialog.getByLabel('Only of these types').fill('noop');
  await dialog.getByLabel('What it is for').fill('the billing service');
  await dialog.getByRole('button', { name: 'Add it' }).click();
  await page.getByText('Nothing was sent yet.').waitFor();
  const [created] = (await api('webhooks')).data;
  assert.deepEqual(
    [created.url, created.types, created.statuses, created.note],
    [hook.url, ['noop'], ['COMPLETED', 'FAILED', 'EXPIRED'], 'the billing service'],
  );
  const job = await duly.taskNamed('noop').now(null);
  assert.equal((await hook.nth(1)).json.id, job.id);
  const delivery = page.getByRole('row').filter({ hasText: job.id });
  await delivery.getByText('Completed', { exact: true }).waitFor();
  await delivery.getByText('200').waitFor();
  await page.getByRole('button', { name: 'Show' }).click();
  const [secret] = (await api(`webhooks/${created.id}/secrets`)).secrets;
  await page.getByText(secret).waitFor();
  await page.getByRole('button', { name: 'Rotate' }).click();
  await dialog.getByRole('textbox').fill('2 h');
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  await page.getByText('The one before, still used too').waitFor();
  const { secrets } = await api(`webhooks/${created.id}/secrets`);
  assert.equal(secrets.length, 2);
  assert.equal(secrets[1], secret);
  await page.getByText(secrets[0]).waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Only of these types').fill('');
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await page.getByText('completed, failed, expired of all types').waitFor();
  assert.equal((await api(`webhooks/${created.id}`)).types, null);
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('disabled', { exact: true }).waitFor();
  assert.equal((await api(`webhooks/${created.id}`)).enabled, false);
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByText('enabled', { exact: true }).waitFor();
  assert.equal((await api(`webhooks/${created.id}`)).enabled, true);
  // One that says that it is gone is disabled, and the page says why.
  await (await duly.taskNamed('noop').now(null)).result();
  await page.getByText('It answered 410 Gone.').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No address is notified yet.').waitFor();
  assert.deepEqual((await api('webhooks')).data, []);
  assert.deepEqual(complaints, []);
});
