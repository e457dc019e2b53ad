/** The tests of what the server does by itself once more, on PostgreSQL: webhooks, targets, alerts, metrics, workers over HTTP. */
import { freshSchema, inSchema, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { useStores } from './fixture.ts';

const url = await testPostgresUrl();
useStores(() => inSchema(url, freshSchema()));

await import('./webhooks/webhooks.test.ts');
await import('./targets/targets.test.ts');
await import('./alerts/alerts.test.ts');
await import('./metrics/health.test.ts');
await import('./metrics/metrics.test.ts');
await import('./worker/worker.test.ts');
