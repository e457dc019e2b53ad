/** The tests of the dashboard once more, on PostgreSQL: each over a schema of its own. */
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { takeStoresFrom } from './fixture.ts';

const url = await testPostgresUrl();
takeStoresFrom(() => inSchema(url, freshSchema()));

await import('./dashboard.test.ts');
await import('./actions.test.ts');
await import('./alerts.test.ts');
await import('./figures.test.ts');
await import('./odd.test.ts');
