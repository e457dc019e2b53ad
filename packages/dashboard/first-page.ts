// `npm run first-page`: how long the first page takes with a million jobs in the store, in a real browser on loopback, and how evenly the
// list of jobs scrolls through 20,000 of them (`--scroll` another number). `--engine postgres` measures on a private PostgreSQL, `--jobs 100000` with fewer. Each page is opened anew, with an empty cache, several times.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Duly } from '@duly/core';
import { quietLogger } from '@duly/core/internal';
import { createServer, listen } from '@duly/server';
import { chromium } from 'playwright-core';
import { buildDashboard } from '../../scripts/build-dashboard.ts';
import { chromiumProgram } from '../../test/servers/chromium.ts';
import { startPostgres } from '../../test/servers/postgres.ts';
import { fillHistory } from './test/browser/long-history.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    jobs: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    scroll: { type: 'string', default: '20000' },
  },
});
const count = Number(values.jobs);
const folder = mkdtempSync(join(tmpdir(), 'duly-first-page-'));
const postgres = values.engine === 'postgres' ? await startPostgres() : null;
const store = postgres?.url ?? `sqlite:${join(folder, 'duly.db')}`;

buildDashboard();
console.log(`Writing ${count.toLocaleString('en')} finished jobs into ${values.engine} …`);
await fillHistory(store, { count, untilAt: Date.now(), spanMs: 86_400_000 });
const duly = new Duly({ store, app: 'first-page', logger: quietLogger });
duly.task({ name: 'send_mail', run: () => null });
await duly.start();
const server = createServer({ duly });
const listening = await listen(server, { port: 0 });
const { key } = await server.keys.create({ scope: 'admin', tenant: null, by: 'first-page' });
const browser = await chromium.launch({ executablePath: chromiumProgram(), args: ['--no-sandbox'] });

/** What must be seen for a page to be usable, and what comes a moment later. */
const looks = [
  { name: 'overview: counts by status', path: '', seen: 'ul >> text=Completed' },
  { name: 'overview: charts of the last hour', path: '', seen: 'figure canvas' },
  {
    name: 'overview: charts of 24 hours',
    path: '?range=24h',
    seen: 'figure[aria-label="Ended per 30 min"] canvas',
  },
  { name: 'jobs: first rows', path: 'jobs', seen: 'ol[aria-label="Jobs"] li' },
  { name: 'jobs: one task', path: 'jobs?q=type%3Asend_mail', seen: 'ol[aria-label="Jobs"] li' },
  { name: 'tasks', path: 'tasks', seen: 'td >> text=send_mail' },
];
/**
 * Scrolls the list as a wheel that does not stop would, through so many rows, and tells what its frames cost. How long they took depends on
 * what else the machine does; the processor time of the page's main thread does not, and a frame of 60 a second has 16.7 ms.
 */
async function measureScrolling(rowCount: number): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
  const page = await context.newPage();
  await context.request.post(`${listening.url}/api/session`, { headers: { Authorization: `Bearer ${key}` } });
  await page.goto(`${listening.url}/jobs`);
  await page.locator('ol[aria-label="Jobs"] li').first().waitFor();
  const devTools = await context.newCDPSession(page);
  await devTools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busyMs = async (): Promise<number> => {
    const { metrics } = await devTools.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1_000;
  };
  const table: Record<string, string | number>[] = [];
  const partCount = 4;
  for (let part = 1; part <= partCount; part++) {
    const before = await busyMs();
    const { frames, nodes } = await page.evaluate(
      async (until) => {
        const list = document.querySelector('ol[aria-label="Jobs"]') as HTMLElement;
        const rowPx = (list.firstElementChild as HTMLElement).offsetHeight;
        const took: number[] = [];
        let most = 0;
        let last = performance.now();
        // Ten rows a frame are 600 a second: faster than anybody reads.
        while (scrollY / rowPx < until) {
          scrollTo({ top: Math.min(scrollY + 10 * rowPx, document.body.scrollHeight - innerHeight) });
          await new Promise(requestAnimationFrame);
          const now = performance.now();
          took.push(now - last);
          last = now;
          most = Math.max(most, list.childElementCount);
        }
        return { frames: took.sort((a, b) => a - b), nodes: most };
      },
      (rowCount / partCount) * part,
    );
    const at = (share: number): number =>
      Math.round(frames[Math.floor((frames.length - 1) * share)] as number);
    table.push({
      'rows up to': (rowCount / partCount) * part,
      frames: frames.length,
      'busy ms a frame': Math.round(((await busyMs()) - before) / frames.length),
      'p50 ms': at(0.5),
      'p95 ms': at(0.95),
      'rows in the page': nodes,
    });
  }
  console.table(table);
  await context.close();
}

const rows: Record<string, string | number>[] = [];
for (const { name, path, seen } of looks) {
  const took: number[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
    const page = await context.newPage();
    await context.request.post(`${listening.url}/api/session`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const beganAt = performance.now();
    await page.goto(`${listening.url}/${path}`, { waitUntil: 'commit' });
    await page.locator(seen).first().waitFor();
    took.push(performance.now() - beganAt);
    await context.close();
  }
  took.sort((a, b) => a - b);
  const middle = took[Math.floor(took.length / 2)] as number;
  rows.push({ page: name, 'median ms': Math.round(middle), 'best ms': Math.round(took[0] as number) });
}
console.table(rows);
console.log('Scrolling through the list of jobs:');
await measureScrolling(Number(values.scroll));
await browser.close();
await listening.close();
await duly.stop({ drain: 0 });
await postgres?.stop();
rmSync(folder, { recursive: true, force: true });
