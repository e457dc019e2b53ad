/** What assistive programs find on the pages. Of the store it depends in nothing, so it is asked of one. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { closeBrowser, openDashboard } from './fixture.ts';

after(closeBrowser);

const noop = { name: 'noop', run: () => null };

/** Without frames there is nothing to put together in a page of its own, and of what is well nobody reads the list. */
const axe = (page: Page) => new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] });

type Violations = Awaited<ReturnType<AxeBuilder['analyze']>>['violations'];

/** Rules that axe rates as minor and that hold here. */
const minorRules = new Set(['empty-table-header']);

function assertNothingSerious(where: string, violations: Violations): void {
  const serious = violations.filter(
    ({ id, impact }) => impact === 'serious' || impact === 'critical' || minorRules.has(id),
  );
  assert.deepEqual(
    serious.map(
      ({ id, nodes }) => `${where}: ${id} at ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
    ),
    [],
  );
}

const pages = [
  ...['', 'jobs', 'schedules', 'day', 'forecast', 'tasks', 'tasks/noop', 'queues'],
  ...['nodes', 'dead', 'locks', 'alerts', 'webhooks', 'keys', 'audit'],
];

test('axe finds nothing serious on any page, in light and dark', async (t) => {
  const { page, duly, api, open } = await openDashboard(t, {
    tasks: [noop],
    browser: { colorScheme: 'light' },
  });
  await duly.schedules.put({
    type: 'noop',
    name: 'nightly',
    cron: '0 2 * * *',
    timezone: 'America/New_York',
  });
  const job = await duly.taskNamed('noop').now({ user: 42 });
  await job.result();
  await duly.locks.acquire('import', { ttl: '5m' });
  await (await duly.schedules.trigger('nightly')).job?.result();
  const post = (path: string, body: object) => api(path, { method: 'POST', body: JSON.stringify(body) });
  const { id } = await post('webhooks', { url: 'https://example.com/hook', enabled: false, note: 'billing' });
  await post('alerts/channels', { kind: 'slack', url: 'https://example.com/chat' });
  await post('alerts/windows', { cron: '0 2 * * SUN', duration: '2h' });
  for (const path of [...pages, `jobs/${job.id}`, 'schedules/nightly', `webhooks/${id}`]) {
    await page.emulateMedia({ colorScheme: 'light' });
    await open(path);
    // What is being read is there, and the page before is gone.
    await page.getByText('Reading …').first().waitFor({ state: 'detached' });
    const light = await axe(page).analyze();
    // Between the themes nothing differs but colours.
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html[data-theme="dark"]').waitFor();
    const dark = await axe(page).withRules(['color-contrast']).analyze();
    assertNothingSerious(path, [...light.violations, ...dark.violations]);
  }
});

test('axe finds nothing serious in dialogs, in light and dark', async (t) => {
  const { page, duly, open } = await openDashboard(t, { tasks: [noop], browser: { colorScheme: 'light' } });
  await duly.schedules.put({ type: 'noop', name: 'nightly', cron: '0 2 * * *' });
  await duly.taskNamed('later').in('1h', { user: 1 });
  const dialogs: readonly [path: string, button: string][] = [
    ['jobs', 'New job'],
    ['jobs?q=later', 'Cancel all found'],
    ['schedules', 'New schedule'],
    ['schedules/nightly', 'Edit'],
    ['schedules/nightly', 'Backfill'],
    ['schedules/nightly', 'Delete'],
    ['queues', 'Pause everything'],
    ['alerts', 'Add a rule'],
    ['alerts', 'Add a window'],
    ['webhooks', 'Add a webhook'],
    ['keys', 'Create a key'],
    ['', 'Keyboard help'],
  ];
  for (const [path, name] of dialogs) {
    await page.emulateMedia({ colorScheme: 'light' });
    await open(path);
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('dialog').waitFor();
    const light = await axe(page).include('[role="dialog"]').analyze();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html[data-theme="dark"]').waitFor();
    const dark = await axe(page).include('[role="dialog"]').withRules(['color-contrast']).analyze();
    assertNothingSerious(`${path}, ${name}`, [...light.violations, ...dark.violations]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
});
