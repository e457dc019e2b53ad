import type { Duly } from 'duly';
import { Hono } from 'hono';
import { z } from 'zod';

/** What is around it. */
export interface Tenants {
  /** All of them, in parts. */
  pages(): AsyncIterable<string[]>;
  /** Makes the report of a tenant, says how far it is, and returns where it lies. Made twice, it lies in the same place. */
  build(tenant: string, day: string, notify: (percent: number) => Promise<void>): Promise<string>;
  /** Where a browser gets a file from, for a while. */
  downloadUrl(file: string): string;
  /** Calls the webhook of a tenant; throws unless it was taken. The key is the same for every try of one report. */
  callWebhook(tenant: string, body: { day: string; download_url: string }, key: string): Promise<void>;
}

const reportInput = z.object({ tenant: z.string(), day: z.string() });

/** A report for each tenant every night, and a webhook to each when it is there. */
export function defineTenantReports(duly: Duly, tenants: Tenants) {
  // A job of its own, in a queue of its own: a tenant whose server is away for a day holds up nobody's report.
  const notify = duly.task({
    name: 'report_webhook',
    input: reportInput.extend({ file: z.string() }),
    queue: 'webhooks',
    // A step is worth a minute of waiting: whoever has a report is told before the next is made, however long the night's backlog.
    priority: 600,
    retry: { attempts: 8, backoff: 'exponential', delay: '30s', maxDelay: '6h' },
    timeout: '30s',
    run: ({ input: { tenant, day, file }, job }) =>
      tenants.callWebhook(tenant, { day, download_url: tenants.downloadUrl(file) }, job.id),
  });

  const report = duly.task({
    name: 'tenant_report',
    input: reportInput,
    queue: 'reports',
    // Then it is a dead letter: listed by tenant, and retried when the cause is mended.
    retry: { attempts: 3, backoff: 'exponential', delay: '10s' },
    timeout: '15m',
    run: async ({ input: { tenant, day }, progress }) => {
      const file = await tenants.build(tenant, day, (percent) => progress(percent, 'Building'));
      await notify.now({ tenant, day, file }, { key: 'webhook', tenant });
      return { file };
    },
  });

  duly.task({
    name: 'tenant_reports',
    every: { cron: '0 1 * * *', timezone: 'UTC', missed: 'all', catchUpWindow: '3 days' },
    run: async ({ slot, job, progress }) => {
      const day = slot?.date ?? job.dueAt.toISOString().slice(0, 10);
      let created = 0;
      for await (const page of tenants.pages()) {
        // All of a part or none; the key of a child makes it one, also when this handler is repeated after a crash.
        await report.nowMany(
          page.map((tenant) => ({ tenant, day })),
          ({ tenant }) => ({ key: tenant, tenant }),
        );
        created += page.length;
        await progress(0, `${created} reports promised`);
      }
      return { created };
    },
  });

  /** The app's own route. Who may ask for which tenant is the app's to say, before it. */
  const routes = new Hono().get('/api/reports/:tenant/latest', async (c) => {
    const tenant = c.req.param('tenant');
    const { jobs } = await duly.jobs({ type: report.name, tenant }).page({ limit: 1 });
    const [job] = jobs;
    if (job === undefined) return c.json({ error: 'There is no report yet.' }, 404);
    const { day } = reportInput.parse(job.input);
    const file = job.status === 'COMPLETED' ? (job.result as { file: string }).file : null;
    return c.json({
      tenant,
      day,
      status: job.status,
      progress: job.progress.percent,
      download_url: file === null ? null : tenants.downloadUrl(file),
    });
  });

  return { report, routes };
}
