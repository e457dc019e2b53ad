/** The tests of the routes once more, on PostgreSQL: each server over a schema of its own. */
import { freshInlineStore, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { useStores } from './fixture.ts';

const url = await testPostgresUrl();
useStores(() => freshInlineStore(url));

await import('./client.test.ts');
await import('./day.test.ts');
await import('./http/fast-path.test.ts');
await import('./idempotency.test.ts');
await import('./jobs.test.ts');
await import('./keys.test.ts');
await import('./odd-texts.test.ts');
await import('./operate.test.ts');
await import('./schedules.test.ts');
await import('./stats.test.ts');
await import('./tasks.test.ts');
await import('./values-and-locks.test.ts');
await import('./matrix.test.ts');
