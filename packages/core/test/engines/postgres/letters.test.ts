// What becomes of letters and their order in a database with rules of its own for them. Only PostgreSQL has such rules.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { claimRequest, jobError, jobSpec, settlement } from '@duly/conformance/builders';
import { inSchema } from '../../../../../test/servers/postgres.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { ask, url } from './setup.ts';

const [{ number, icu }] = (await ask(
  "SELECT current_setting('server_version_num')::int AS number, EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS icu",
)) as [{ number: number; icu: boolean }];

it('in a Turkish database errors are found by the letters of everybody', {
  skip:
    (number < 150_000 || !icu) &&
    'needs a database by the rules of ICU: PostgreSQL 15 that was built with it',
}, async (t) => {
  const name = `letters_${process.pid}`;
  await ask(
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'`,
  );
  t.after(() => ask(`DROP DATABASE ${name} WITH (FORCE)`));
  const address = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  assert.equal((await ask("SELECT lower('I') AS small", [], address))[0]?.small, '\u0131');

  const engine = await openEngine(inSchema(address, 'duly'));
  t.after(() => engine.close());
  const spec = jobSpec({ due: { inMs: 0 } });
  await engine.enqueue({ groups: [{ jobs: [spec] }] });
  const { claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
  const settle = claimed.map((lease) => settlement(lease, 'FAILED', { error: jobError('INVALID Input') }));
  await engine.exchange({ settle, claim: null });
  for (const error of ['invalid input', 'Invalid INPUT']) {
    const { jobs } = await engine.list({ filter: { error }, cursor: null, limit: 10 });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [spec.id],
      error,
    );
  }
});
