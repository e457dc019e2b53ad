// The rule exists twice: in TypeScript, which writes plain jobs by columns, and in SQL, which chooses the branch of insert_jobs.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dedupe, jobSpec } from '@duly/conformance/builders';
import fc from 'fast-check';
import { cases } from '../../../../../test/property.ts';
import { functionSet } from '../../../src/engines/postgres/generated.ts';
import { writtenSpec } from '../../../src/engines/postgres/job-columns.ts';
import { isPlain } from '../../../src/lifecycle/is-plain.ts';
import { openDatabase, openEngine, schemaOf } from './setup.ts';

const orNull = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: null });
const key = fc.string({ unit: 'grapheme-ascii' });

const specs = fc
  .record({
    dedupe: orNull(key.map((one) => dedupe(one))),
    serial: orNull(key),
    gates: fc.array(fc.record({ kind: fc.constantFrom('overlap' as const, 'dedupe' as const), ref: key }), {
      maxLength: 2,
    }),
    parent: orNull(fc.record({ id: key, key: orNull(key) })),
    tenant: orNull(key),
    metadata: orNull(fc.constant('{"serial":"s"}')),
    priority: fc.integer({ min: -5, max: 5 }),
  })
  .map((fields) => jobSpec(fields));

it('a spec is plain in SQL if it is plain in TypeScript', async (t) => {
  const engine = await openEngine();
  t.after(() => engine.close());
  const database = openDatabase();
  t.after(() => database.close());
  const sql = `SELECT "${schemaOf(engine)}".is_plain_f${functionSet.number}(s) AS plain FROM jsonb_array_elements($1::jsonb) s`;
  const many = fc.array(specs, { minLength: 20, maxLength: 50 });
  await fc.assert(
    fc.asyncProperty(many, async (all) => {
      // As they are sent, and with every field that decides it.
      const written = all.map((spec) => {
        const { dedupe, serial, gates, parent } = spec;
        const deciding = {
          dedupe,
          serial,
          gates,
          parentId: parent?.id ?? null,
          parentKey: parent?.key ?? null,
        };
        return [writtenSpec(spec), { ...writtenSpec(spec), ...deciding }];
      });
      const rows = await database.query<{ plain: boolean }>(sql, [JSON.stringify(written.flat())]);
      assert.deepEqual(
        rows.map(({ plain }) => plain),
        all.flatMap((spec) => [isPlain(spec), isPlain(spec)]),
      );
    }),
    cases(20),
  );
});
