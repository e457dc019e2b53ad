import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineTenantReports } from './tenant-reports.ts';

const tenantCount = 200;
const workerCount = 20;
const buildMs = 30_000;

function createNight() {
  const t = createTestDuly({ start: '2027-01-15T00:00:00Z', concurrency: workerCount });
  const night = {
    brokenTenants: new Set<string>(),
    awayUntil: new Map<string, Date>(),
    built: [] as string[],
    running: 0,
    runningMax: 0,
    calls: [] as { tenant: string; day: string; downloadUrl: string; key: string }[],
    tries: [] as string[],
    pageFailures: 0,
  };
  const { report, routes } = defineTenantReports(t, {
    async *pages() {
      for (let from = 0; from < tenantCount; from += 50) {
        yield Array.from({ length: 50 }, (_, i) => `t${from + i}`);
        if (from === 50 && night.pageFailures-- > 0) throw new Error('The list of tenants is away.');
      }
    },
    async build(tenant, day, notify) {
      if (night.brokenTenants.has(tenant)) throw new Error('The table of orders is locked.');
      night.runningMax = Math.max(night.runningMax, ++night.running);
      await t.clock.sleep(buildMs / 2);
      await notify(50);
      await t.clock.sleep(buildMs / 2);
      night.running -= 1;
      night.built.push(`${day} ${tenant}`);
      return `${day}/${tenant}.pdf`;
    },
    downloadUrl: (file) => `https://files.example.com/${file}`,
    async callWebhook(tenant, { day, download_url: downloadUrl }, key) {
      night.tries.push(key);
      const until = night.awayUntil.get(tenant);
      if (until !== undefined && t.now < until) throw new Error('Answered 503.');
      night.calls.push({ tenant, day, downloadUrl, key });
    },
  });
  const latest = async (tenant: string) => {
    const answer = await routes.request(`/api/reports/${tenant}/latest`);
    return { code: answer.status, ...((await answer.json()) as object) };
  };
  return { t, night, report, latest };
}

test('each tenant has one report and one webhook, by twenty workers at a time', async () => {
  const { t, night } = createNight();
  await t.advanceTo('2027-01-15T03:00:00Z');
  assert.deepEqual([night.built.length, new Set(night.built).size], [tenantCount, tenantCount]);
  assert.equal(night.runningMax, workerCount);
  assert.equal(new Set(night.calls.map(({ tenant }) => tenant)).size, tenantCount);
  assert.equal(night.calls.length, tenantCount);
  await t.stop();
});

test('the route tells status, progress and where to download, of the latest report only of this tenant', async () => {
  const { t, latest } = createNight();
  assert.equal((await latest('t0')).code, 404);
  await t.advanceTo('2027-01-15T01:00:20Z');
  const asked = { code: 200, tenant: 't0', day: '2027-01-15' };
  assert.deepEqual(await latest('t0'), { ...asked, status: 'RUNNING', progress: 50, download_url: null });
  assert.equal(((await latest('t199')) as unknown as { status: string }).status, 'PENDING');
  await t.advanceTo('2027-01-15T03:00:00Z');
  assert.deepEqual(await latest('t0'), {
    ...{ ...asked, status: 'COMPLETED', progress: 100 },
    download_url: 'https://files.example.com/2027-01-15/t0.pdf',
  });
  await t.advanceTo('2027-01-16T03:00:00Z');
  assert.equal(((await latest('t0')) as unknown as { day: string }).day, '2027-01-16');
  assert.equal((await latest('nobody')).code, 404);
  await t.stop();
});

test('what fails three times is a dead letter, holds up nobody, and is retried when the cause is mended', async () => {
  const { t, night, latest } = createNight();
  night.brokenTenants.add('t7').add('t8');
  await t.advanceTo('2027-01-15T03:00:00Z');
  assert.equal(night.built.length, tenantCount - 2);
  const dead: string[] = [];
  for await (const { tenant, attempts, error } of t.dead.list())
    dead.push(`${tenant} ${attempts} ${error?.message}`);
  assert.deepEqual(
    dead.sort(),
    ['t7', 't8'].map((tenant) => `${tenant} 3 The table of orders is locked.`),
  );
  assert.equal(((await latest('t7')) as unknown as { status: string }).status, 'FAILED');
  night.brokenTenants.clear();
  assert.equal((await t.dead.retry({ tenant: 't7' })).changed, 1);
  await t.advance('10m');
  assert.equal(((await latest('t7')) as unknown as { status: string }).status, 'COMPLETED');
  assert.equal(night.calls.filter(({ tenant }) => tenant === 't7').length, 1);
  assert.equal((await t.dead.list().page()).jobs.length, 1);
  await t.stop();
});

test('a tenant whose server is away is called again, under the same key', async () => {
  const { t, night } = createNight();
  night.awayUntil.set('t3', new Date('2027-01-15T01:05:00Z'));
  await t.advanceTo('2027-01-15T03:00:00Z');
  const [call] = night.calls.filter(({ tenant }) => tenant === 't3');
  assert.equal(night.calls.length, tenantCount);
  assert.ok(night.tries.filter((key) => key === call?.key).length > 1);
  assert.equal(night.built.length, tenantCount, 'no report is made again for it');
  await t.stop();
});

test('the night that fails half way, or is lost, promises each report once', async () => {
  const { t, night } = createNight();
  night.pageFailures = 1;
  await t.advanceTo('2027-01-15T03:00:00Z');
  assert.deepEqual([night.built.length, new Set(night.built).size], [tenantCount, tenantCount]);
  await t.outage('1 day');
  await t.advance('1h');
  assert.equal(new Set(night.built).size, 2 * tenantCount);
  assert.equal(night.built.length, 2 * tenantCount);
  await t.stop();
});
