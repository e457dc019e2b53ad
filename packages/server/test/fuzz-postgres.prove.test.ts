import { test } from 'node:test';
import { freshInlineStore, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { useStores } from './fixture.ts';
import { fuzzServer } from './fuzz.ts';

const url = await testPostgresUrl();
useStores(() => freshInlineStore(url));

test('random requests find no failure, on PostgreSQL', { timeout: 120_000 }, fuzzServer);
