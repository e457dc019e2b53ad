import { freshSchema, inSchema, testPostgresUrl } from '../../../../../test/servers/postgres.ts';
import { listBounds } from '../list-bounds.ts';

const url = await testPostgresUrl();
listBounds('postgres', () => inSchema(url, freshSchema()));
