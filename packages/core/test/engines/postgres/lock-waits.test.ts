// Only PostgreSQL lets a stranger keep a row of the store; SQLite's lock is of the whole file and has its own tests.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { openEngine } from '../../../src/engines/open.ts';
import { isDulyError } from '../../../src/errors.ts';
import { jobSpec } from '../../../src/testing/conformance/builders.ts';
import { ask, url } from './setup.ts';

it('a call that meets a row which somebody keeps is busy, with nothing done, and the next one goes through', async () => {
  const schema = freshSchema();
  const engine = await openEngine(inSchema(url, schema));
  const dedupe = { key: 'k', forMs: null, mode: 'replace', maxWaitMs: null } as const;
  const send = (input: string) => engine.enqueue({ groups: [{ jobs: [jobSpec({ dedupe, input })] }] });
  await send('1');
  const stranger = new pg.Client({ connectionString: url });
  await stranger.connect();
  await stranger.query('BEGIN');
  await stranger.query(`SELECT 1 FROM ${schema}.dedupes FOR UPDATE`);
  await assert.rejects(
    send('2'),
    (error) => isDulyError(error, 'store_busy') && error.details.sqlState === '55P03',
  );
  // Whoever has no part in it is not kept waiting.
  const other = await engine.enqueue({ groups: [{ jobs: [jobSpec()] }] });
  assert.equal(other.groups[0]?.ok, true);
  const kept = () => ask(`SELECT input FROM ${schema}.jobs WHERE dedupe_key = 'k'`);
  assert.deepEqual(await kept(), [{ input: '1' }]);
  await stranger.query('ROLLBACK');
  await stranger.end();
  await send('3');
  assert.deepEqual(await kept(), [{ input: '3' }]);
  await engine.close();
});
