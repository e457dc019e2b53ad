import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../../test/property.ts';
import { parseSpec, type ScheduleSpec, serialiseSpec } from '../../../src/schedules/definition/spec.ts';
import { createSpecReader } from '../../../src/schedules/definition/spec-reader.ts';

/** A spec whose parts are as the reader sees them; what the rest of it says does not matter here. */
function specOf(job: Partial<ScheduleSpec['job']>, fields: Partial<ScheduleSpec> = {}): ScheduleSpec {
  return {
    rule: { cron: '0 0 * * *', timezone: 'UTC' },
    written: {},
    policies: { missed: 'latest', startAt: null, endAt: null },
    job: {
      type: 'report',
      version: 1,
      queue: 'default',
      tenant: null,
      priority: 0,
      metadata: null,
      policy: { maxAttempts: 3 },
      serial: null,
      input: 'null',
      ...job,
    },
    note: null,
    release: null,
    override: null,
    drift: null,
    ...fields,
  } as unknown as ScheduleSpec;
}

test('specs that differ in tenant and input share the rest', () => {
  let readCount = 0;
  const read = createSpecReader(() => readCount++);
  const specs = [1, 2, 3].map((n) =>
    specOf({ tenant: `t-${n}`, input: `{"n":${n},"text":"a \\"quote\\""}` }),
  );
  const all = specs.map((spec) => read(serialiseSpec(spec)));
  assert.deepEqual(all, specs);
  assert.equal(readCount, 1);
  assert.equal(all[2]?.rule, all[0]?.rule);
  assert.equal(all[2]?.job.policy, all[0]?.job.policy);
});

test('one that differs in more is read whole, and so is one that is not JSON', () => {
  const read = createSpecReader();
  const first = specOf({ input: '{"n":1}' });
  assert.deepEqual(read(serialiseSpec(first)), first);
  const other = specOf({ input: '{"n":1}', queue: 'slow' });
  assert.deepEqual(read(serialiseSpec(other)), other);
  const text = serialiseSpec(other);
  assert.throws(() => read(text.replace('"tenant":null', '"tenant":nul')), { code: 'store_corrupt' });
  assert.throws(() => read(text.slice(0, -1)), { code: 'store_corrupt' });
  const tooNew = text.replace('"v":1', '"v":99');
  assert.throws(() => read(tooNew), { code: 'schema_too_new' });
});

test('whatever users write, a reader that has read others answers what the text says', () => {
  // Texts that look like the places where the reader cuts.
  const awkward = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '"tenant":null',
      '"input":"null"',
      '\\',
      '"',
      '","input":"',
      '\u0000probe',
      ',"priority":0',
      '',
    ),
  );
  const spec = fc
    .record({
      tenant: fc.option(awkward),
      input: awkward.map((text) => JSON.stringify(text)),
      note: fc.option(awkward),
      queue: awkward,
      metadata: fc.option(awkward.map((text) => JSON.stringify({ tenant: text, input: text }))),
    })
    .map(({ note, ...job }) => specOf(job, { note }));
  fc.assert(
    fc.property(fc.array(spec, { minLength: 2, maxLength: 5 }), (specs) => {
      const read = createSpecReader();
      // Each twice, the second time with the tenant and the input of the one before: then it is read by what it shares.
      for (const [i, one] of specs.entries()) {
        const { tenant, input } = (specs[i - 1] ?? one).job;
        for (const asked of [one, { ...one, job: { ...one.job, tenant, input } }]) {
          const text = serialiseSpec(asked);
          assert.deepEqual(read(text), parseSpec(text));
        }
      }
    }),
    cases(300),
  );
});
