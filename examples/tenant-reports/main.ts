// A night of many tenants, twenty reports at a time, played on virtual time: `npm run example -- tenant-reports 10000`
import { capacity } from 'duly';
import { createTestDuly } from 'duly/testing';
import { defineTenantReports } from './tenant-reports.ts';

const tenantCount = Number(process.argv[2] ?? 2_000);
const t = createTestDuly({ start: '2027-01-15T00:00:00Z', concurrency: 20 });
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
let isMended = false;
let webhookCount = 0;
const { routes } = defineTenantReports(t, {
  async *pages() {
    for (let from = 0; from < tenantCount; from += 1_000) {
      const size = Math.min(1_000, tenantCount - from);
      yield Array.from({ length: size }, (_, i) => `tenant-${from + i}`);
    }
  },
  async build(tenant, day, report) {
    if (!isMended && tenant.endsWith('99')) throw new Error('The table of orders is locked.');
    await report(50);
    await t.clock.sleep(30_000);
    return `${day}/${tenant}.pdf`;
  },
  downloadUrl: (file) => `https://files.example.com/${file}?signed`,
  callWebhook: async () => void webhookCount++,
});
const latest = async (tenant: string): Promise<string> =>
  (await routes.request(`/api/reports/${tenant}/latest`)).text();

const { withConcurrencyMs } = capacity({ jobs: tenantCount, takes: '30s', concurrency: 20 });
say(
  `${tenantCount} reports of 30 s with a concurrency of 20 should take ${((withConcurrencyMs ?? 0) / 60_000).toFixed(0)} min`,
);
await t.advanceTo('2027-01-15T01:00:10Z');
say(`GET /api/reports/tenant-3/latest    ${await latest('tenant-3')}`);
let last = t.now;
for (const { type, at } of await t.advance('8h')) if (type === 'tenant_report' && at > last) last = at;
console.log(`${last.toISOString()}  the last one starts`);
say(`GET /api/reports/tenant-3/latest    ${await latest('tenant-3')}`);
say(`${webhookCount} webhooks, and ${await deadCount()} dead letters`);
say(`GET /api/reports/tenant-99/latest   ${await latest('tenant-99')}`);
isMended = true;
say('the table is unlocked, and the dead letters are retried');
await t.dead.retry({ type: 'tenant_report' });
await t.advance('1h');
say(`GET /api/reports/tenant-99/latest   ${await latest('tenant-99')}`);
say(`${webhookCount} webhooks, and ${await deadCount()} dead letters`);
await t.stop();

async function deadCount(): Promise<number> {
  return (await t.jobs({ type: 'tenant_report', dead: true }).count()).count;
}
