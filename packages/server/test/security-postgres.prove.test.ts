/** The security tests of the server again, on PostgreSQL. */
import { freshInlineStore, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { useStores } from './fixture.ts';

const url = await testPostgresUrl();
useStores(() => freshInlineStore(url));

await import('./security/command-right.test.ts');
await import('./security/hidden-fields.test.ts');
await import('./security/hidden-in-targets.test.ts');
await import('./security/internal-work.test.ts');
await import('./security/stored-answers.test.ts');
await import('./security/target-signatures.test.ts');
