/** What all dialogs have in common: where the focus is, what closes them, and where it is said that something went wrong. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { closeBrowser, gate, openDashboard } from './fixture.ts';

after(closeBrowser);

/** The name of what has the focus. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const { activeElement: one } = document;
    return one?.getAttribute('aria-label') ?? one?.closest('label')?.innerText ?? one?.textContent ?? '';
  });

test('a dialog has the focus in its first field, keeps what is typed, and says what is wrong in sight', async (t) => {
  const mail = { name: 'send_mail', input: z.object({ user: z.number() }), run: () => null };
  const { page, open } = await openDashboard(t, { tasks: [mail] });
  await open('jobs');
  const button = page.getByRole('button', { name: 'New job' });
  await button.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'New job' });
  await dialog.waitFor();
  await page.waitForFunction(() => document.activeElement?.closest('label')?.innerText.startsWith('Type'));
  // Nothing was typed yet: a click outside closes it, and so does Escape.
  await page.mouse.click(10, 880);
  await dialog.waitFor({ state: 'detached' });
  await button.click();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await focused(page), 'New job');
  await button.click();
  await page.getByRole('combobox', { name: 'Type' }).fill('send_mail');
  await page.mouse.click(10, 880);
  await page.getByRole('button', { name: 'As JSON' }).click();
  await page.getByLabel('Input, as JSON').fill('{"user":"nobody"}');
  await page.getByRole('button', { name: 'Create it' }).click();
  const message = page.locator('[data-toasts]').getByText(/does not fit its schema/);
  await message.waitFor();
  // What is said stands before the dialog and what darkens the page: whoever points at it meets it.
  const isOnTop = await message.evaluate((one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  });
  assert.ok(isOnTop);
  await page.getByRole('button', { name: 'Close the message' }).click();
  await message.waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Input, as JSON').inputValue(), '{"user":"nobody"}');
});

test('the palette begins anew each time, and the keys that open it close it', async (t) => {
  const { page, open } = await openDashboard(t);
  await open('jobs');
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to …' });
  await palette.getByRole('textbox').fill('sched');
  await page.keyboard.press('Control+k');
  await palette.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  assert.equal(await palette.getByRole('textbox').inputValue(), '');
});

test('a task is found by a part of its name: in the search of jobs and in the palette', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [{ name: 'mail.send', run: () => null }] });
  await (await duly.taskNamed('mail.send').now(null)).result();
  await open('jobs?q=mail');
  await page.getByRole('list', { name: 'Jobs' }).getByText('mail.send').waitFor();
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to …' });
  await palette.getByRole('textbox').fill('SEND');
  await palette.getByRole('button', { name: 'Task mail.send' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'mail.send', level: 1 }).waitFor();
});

test('more than a hundred jobs are cancelled only after a word, and the focus comes back', async (t) => {
  const { page, duly, api, open } = await openDashboard(t);
  await duly.taskNamed('later').inMany('1h', [...Array(101).keys()]);
  await open('jobs?q=type%3Alater');
  const button = page.getByRole('button', { name: 'Cancel all found' });
  await button.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Cancel 101 jobs?' });
  const act = dialog.getByRole('button', { name: 'Cancel 101' });
  assert.ok(await act.isDisabled());
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await focused(page), 'Cancel all found');
  await button.click();
  await dialog.getByRole('textbox').fill('cancel');
  await act.click();
  await page.getByText('101 jobs cancelled.').waitFor();
  assert.equal((await api('jobs?status=SCHEDULED')).data.length, 0);
});

test('an input that is edited and run makes one job, however often it is asked for', async (t) => {
  const { page, duly, api, open } = await openDashboard(t);
  const job = await duly.taskNamed('later').in('1h', { user: 1 });
  await open(`jobs/${job.id}`);
  const slow = gate();
  await page.route('**/api/jobs', async (route) => {
    await slow.opened;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Edit and run' }).click();
  const run = page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true });
  // Both clicks arrive before React renders the button again.
  await run.evaluate((button: HTMLButtonElement) => {
    button.click();
    button.click();
  });
  await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true, disabled: true }).waitFor();
  slow.open();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal((await api('jobs')).data.length, 2);
});

test('a time is typed by the clock that times are shown in', async (t) => {
  const { page, api, open } = await openDashboard(t, { browser: { timezoneId: 'Asia/Kolkata' } });
  await open('jobs');
  await page.keyboard.press('z');
  await page.getByRole('button', { name: 'New job' }).click();
  await page.getByRole('combobox', { name: 'Type' }).fill('later');
  await page.getByLabel('When').selectOption('at');
  await page.getByText('In UTC.').waitFor();
  await page.getByRole('textbox', { name: 'Time' }).fill('2099-01-01T10:00');
  await page.getByRole('button', { name: 'Create it' }).click();
  await page.getByRole('heading', { name: /later/, level: 1 }).waitFor();
  assert.equal((await api('jobs')).data[0].due_at, '2099-01-01T10:00:00.000Z');
});
