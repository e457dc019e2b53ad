// Actions on many jobs: what is done is what the dialog showed, or nothing.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, openDashboard, search } from './fixture.ts';

after(closeBrowser);

test('a search that cannot be read lists nothing and offers no action, whatever was found before', async (t) => {
  const { page, duly, api, open } = await openDashboard(t);
  await duly.taskNamed('send_mail').in('1h', null);
  await duly.taskNamed('other').in('1h', null);
  await open('jobs?q=status%3Ascheduled');
  const rows = page.getByRole('list', { name: 'Jobs' }).getByRole('listitem');
  await rows.nth(1).waitFor();
  await page.getByText('2 found').waitFor();
  await search(page, 'status:scheduled tpye:send_mail');
  await page.getByText(/“tpye:” is not a search term; did you mean type:\?/).waitFor();
  await page.getByText(/Terms: status: type: .* input\.<path>:/).waitFor();
  assert.equal(await rows.count(), 0);
  assert.equal(await page.getByText('2 found').count(), 0);
  assert.equal(await page.getByRole('button', { name: /all found/ }).count(), 0);

  // `task:` is a term too, and only what it finds is cancelled.
  await search(page, 'status:scheduled task:send_mail');
  await page.getByRole('button', { name: 'Cancel all found' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel 1 job?' });
  await dialog.waitFor();
  assert.deepEqual(await dialog.getByRole('list', { name: 'Filter' }).getByRole('listitem').allInnerTexts(), [
    'status is scheduled',
    'type is send_mail',
  ]);
  const examples = dialog.getByRole('list', { name: 'Examples' }).getByRole('listitem');
  assert.match((await examples.allInnerTexts()).join(), /Scheduled\s*send_mail/);
  await dialog.getByRole('button', { name: 'Cancel 1' }).click();
  await page.getByText('1 job cancelled.').waitFor();
  const { data } = await api('jobs?status=SCHEDULED');
  assert.deepEqual(
    data.map(({ type }: { type: string }) => type),
    ['other'],
  );
});

test('jobs that arrive or change while the dialog is open are left alone', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  const created = await duly.taskNamed('later').inMany('1h', [1, 2, 3]);
  await open('jobs?q=later');
  await page.getByRole('button', { name: 'Cancel all found' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel 3 jobs?' });
  await dialog.waitFor();
  const late = await duly.taskNamed('later').in('1h', 4);
  await created[0]?.cancel();
  await dialog.getByRole('button', { name: 'Cancel 3' }).click();
  await page.getByText('2 jobs cancelled. 1 had changed meanwhile and was left alone.').waitFor();
  assert.equal((await late.get()).status, 'SCHEDULED');
});

test('of very many jobs the newest are changed, exactly those that the dialog counted', async (t) => {
  const { page, duly, open } = await openDashboard(t);
  await duly.pause({ all: true });
  const [oldest] = await duly.taskNamed('later').inMany('1h', ['oldest']);
  const soon = await duly.taskNamed('later').now('soon');
  await duly.taskNamed('later').inMany('1h', [...Array(10_000).keys()]);
  await open('jobs?q=status%3Ascheduled');
  await page.getByRole('button', { name: 'Cancel all found' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel 10,000 jobs?' });
  await dialog.getByText('10,001 jobs match. These are the newest 10,000').waitFor();
  // Both match now, and neither was counted among those that change.
  await soon.reschedule({ in: '1h' });
  const late = await duly.taskNamed('later').in('1h', 'late');
  await dialog.getByRole('textbox').fill('cancel');
  await dialog.getByRole('button', { name: 'Cancel 10,000' }).click();
  await page.getByText('10,000 jobs cancelled.').waitFor();
  for (const job of [oldest, soon, late]) assert.equal((await job?.get())?.status, 'SCHEDULED');
});

test('Back under an open dialog closes it, and an edited search is searched before it is acted on', async (t) => {
  const { page, duly, api, open } = await openDashboard(t);
  await duly.taskNamed('first').in('1h', null);
  await duly.taskNamed('second').in('1h', null);
  await open('jobs?q=type%3Afirst');
  await page.getByText('1 found').waitFor();
  await search(page, 'type:second');
  const button = page.getByRole('button', { name: 'Cancel all found' });
  await button.click();
  const dialog = page.getByRole('dialog', { name: 'Cancel 1 job?' });
  await dialog.getByText('type is second').waitFor();
  await page.goBack();
  await dialog.waitFor({ state: 'detached' });
  await button.waitFor();
  await page.getByLabel('Search jobs').fill('type:second');
  assert.ok(await button.isDisabled());
  await page.getByLabel('Search jobs').fill('type:first');
  assert.ok(await button.isEnabled());
  assert.equal((await api('jobs?status=SCHEDULED')).data.length, 2);
});

test('dead letters that arrive while the dialog of their group is open are left alone', async (t) => {
  const failing = {
    name: 'failing',
    retry: { attempts: 1 },
    run: () => {
      throw new Error('no luck');
    },
  };
  const { page, duly, api, open } = await openDashboard(t, { tasks: [failing] });
  const fail = async () => (await duly.taskNamed('failing').now(null)).wait();
  await fail();
  await fail();
  await open('dead');
  for (const button of ['Discard 2', 'Discard all']) {
    await page.getByRole('button', { name: button }).click();
    const dialog = page.getByRole('dialog', { name: /^Discard \d dead letters?\?/ });
    await dialog.waitFor();
    const word = dialog.getByRole('textbox');
    if ((await word.count()) > 0) await word.fill('discard');
    const { id } = await fail();
    await dialog.getByRole('button', { name: /^Discard \d/ }).click();
    await dialog.waitFor({ state: 'detached' });
    const { data } = await api('dead');
    assert.deepEqual(
      data.map((job: { id: string }) => job.id),
      [id],
    );
  }
});
