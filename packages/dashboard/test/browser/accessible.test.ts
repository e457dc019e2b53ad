/** What assistive programs find on the pages. Of the store it depends in nothing, so it is asked of one. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import { closeBrowser, openDashboard } from './fixture.ts';

after(closeBrowser);

const noop = { name: 'noop', run: () => null };

const pages = [
  ...['', 'jobs', 'schedules', 'day', 'tasks', 'tasks/noop', 'queues'],
  ...['workers', 'dead', 'locks', 'alerts', 'keys', 'audit'],
];
for (const theme of ['light', 'dark'] as const) {
  test(`axe finds nothing serious on any page, ${theme}`, async (t) => {
    const { page, duly, open } = await openDashboard(t, { tasks: [noop], browser: { colorScheme: theme } });
    await duly.schedules.put({
      task: 'noop',
      name: 'nightly',
      cron: '0 2 * * *',
      timezone: 'America/New_York',
    });
    const job = await duly.taskNamed('noop').now({ user: 42 });
    await job.result();
    await duly.locks.acquire('import', { ttl: '5m' });
    await (await duly.schedules.trigger('nightly')).job?.result();
    for (const path of [...pages, `jobs/${job.id}`, 'schedules/nightly']) {
      await open(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const { violations } = await new AxeBuilder({ page }).analyze();
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      assert.deepEqual(
        serious.map(
          ({ id, nodes }) => `${path}: ${id} at ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
        ),
        [],
      );
    }
  });
}
