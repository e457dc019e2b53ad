import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Due, EnqueuedItem, JobSpec } from '../../src/contract/engine.ts';
import type { JobOptions } from '../../src/jobs/job-options.ts';
import { createManyJobs } from '../../src/tasks/many-jobs.ts';
import type { ManyOptions } from '../../src/tasks/task.ts';

/** A bulk call whose writes are noted. `inputOf` turns an input into the stored text. */
function setup({ inputOf = String }: { inputOf?: (input: unknown) => string } = {}) {
  const created: [input: unknown, options: JobOptions | undefined, due: Due][] = [];
  const written: [inputs: string[], tx: unknown, isRepeat: boolean][] = [];
  const many = createManyJobs<unknown, string>(
    { name: 'mail' },
    {
      create(input, options, due) {
        created.push([input, options, due]);
        const spec = { id: `job_${created.length}`, input: inputOf(input) } as JobSpec;
        return created.length % 2 === 0 ? Promise.resolve(spec) : spec;
      },
      async write(specs, tx, isRepeat) {
        written.push([specs.map(({ input }) => input), tx, isRepeat]);
        return { now: 1, items: specs.map(({ id }) => ({ id }) as EnqueuedItem) };
      },
      toHandle: ({ id }) => id,
    },
  );
  const call = (inputs: readonly unknown[], options?: ManyOptions<unknown>) =>
    many(inputs, options, { inMs: 0 });
  return { created, written, call };
}

test('one job is created for each input, in their order, with one write', async () => {
  const { created, written, call } = setup();
  assert.deepEqual(await call(['a', 'b', 'c'], { priority: 5 }), ['job_1', 'job_2', 'job_3']);
  assert.deepEqual(written, [[['a', 'b', 'c'], undefined, false]]);
  assert.deepEqual(created[2], ['c', { priority: 5 }, { inMs: 0 }]);
});

test('options may be a function of the input and its place', async () => {
  const { created, written, call } = setup();
  await call(['a', 'b'], (input, i) => ({ id: `${input}-${i}` }));
  assert.deepEqual(
    created.map(([, options]) => options?.id),
    ['a-0', 'b-1'],
  );
  assert.equal(written[0]?.[2], true, 'an earlier call may have created them');
});

test('without inputs nothing is written', async () => {
  const { written, call } = setup();
  assert.deepEqual([await call([]), written], [[], []]);
});

test('all jobs of a call are created in the same transaction of the caller', async () => {
  const { written, call } = setup();
  const tx = {};
  await call(['a', 'b'], () => ({ tx }));
  assert.equal(written[0]?.[1], tx);
  await assert.rejects(
    call(['a', 'b'], (_, i) => ({ tx: i })),
    { code: 'invalid_option' },
  );
  assert.equal(written.length, 1);
});

test('a call refuses what would hold the store for too long, or fold its jobs into one', async () => {
  const { written, call } = setup({ inputOf: () => 'x'.repeat(32 * 1024 * 1024) });
  await assert.rejects(call(['a', 'b', 'c']), { code: 'input_too_large' });
  await assert.rejects(call(Array.from({ length: 10_001 })), { code: 'invalid_option' });
  await assert.rejects(call('abc' as never), { code: 'invalid_option' });
  for (const options of [{ key: 'k' }, { dedupe: 'k' }, { id: 'k' }] as ManyOptions<unknown>[])
    await assert.rejects(call(['a', 'b'], options), { code: 'invalid_option' });
  assert.deepEqual(written, []);
});
