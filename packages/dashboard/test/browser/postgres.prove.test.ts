/**
 * The tests of the dashboard once more, on PostgreSQL, each over a schema of its own: those of its everyday use and of its figures. The pages
 * speak with routes only, and what a route answers is tested on both engines by the server's own tests, so the others need no second turn.
 */
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { takeStoresFrom } from './fixture.ts';

const url = await testPostgresUrl();
takeStoresFrom(() => inSchema(url, freshSchema()));

await import('./dashboard.prove.test.ts');
await import('./figures.prove.test.ts');
