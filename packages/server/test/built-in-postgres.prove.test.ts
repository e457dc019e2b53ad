/** The tests of what the server does by itself once more, on PostgreSQL: webhooks, targets, alerts, metrics, workers over HTTP. */
import { freshInlineStore, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { useStores } from './fixture.ts';

const url = await testPostgresUrl();
useStores(() => freshInlineStore(url));

await import('./webhooks/webhooks.test.ts');
await import('./targets/targets.test.ts');
await import('./alerts/alerts.test.ts');
await import('./metrics/health.test.ts');
await import('./metrics/metrics.test.ts');
await import('./worker/worker.test.ts');
