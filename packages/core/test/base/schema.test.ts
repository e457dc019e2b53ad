import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { isDulyError } from '../../src/base/errors.ts';
import {
  type InferInput,
  type InferOutput,
  type InputIssue,
  isStandardSchema,
  type StandardSchema,
  validateInput,
} from '../../src/base/schema.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const schema = z.object({ url: z.string(), size: z.string().transform(Number).optional() });

test('input and output types are inferred from a schema', () => {
  const inputIsRight: Same<InferInput<typeof schema>, { url: string; size?: string | undefined }> = true;
  const outputIsRight: Same<InferOutput<typeof schema>, { url: string; size?: number | undefined }> = true;
  assert.ok(inputIsRight && outputIsRight);
});

test('a value that fits is returned as the schema makes it, without a promise if the schema needs none', () => {
  assert.deepEqual(validateInput(schema, { url: 'a', size: '5', more: 1 }), { url: 'a', size: 5 });
});

test('a schema that needs a promise is awaited', async () => {
  const slow = z.string().refine(async (text) => text !== 'bad', 'is bad');
  assert.equal(await validateInput(slow, 'good'), 'good');
  await assert.rejects(
    async () => validateInput(slow, 'bad', 'mail'),
    (error) => {
      assert.ok(isDulyError(error, 'invalid_input'));
      assert.equal(error.message, 'The input of task "mail" does not fit its schema: is bad.');
      return true;
    },
  );
});

test('a value that does not fit is refused with the path of each issue, and the first three in the message', () => {
  const items = z.object({
    items: z.array(z.object({ url: z.string() })),
    user: z.object({ id: z.number() }),
  });
  assert.throws(
    () => validateInput(items, { items: [{ url: 1 }, { url: 'a' }, {}, { url: null }], user: {} }, 'mail'),
    (error) => {
      assert.ok(isDulyError(error, 'invalid_input'));
      const issues = error.details.issues as InputIssue[];
      assert.deepEqual(
        issues.map((issue) => issue.path),
        ['items[0].url', 'items[2].url', 'items[3].url', 'user.id'],
      );
      assert.match(error.message, /^The input of task "mail" does not fit its schema: "items\[0\]\.url": /);
      assert.match(error.message, /; and 1 more\.$/);
      assert.equal(error.details.type, 'mail');
      return true;
    },
  );
});

test('a message that is a sentence ends once', () => {
  const whole = z.string().refine(() => false, 'Expected a path.');
  assert.throws(() => validateInput(whole, 'x'), {
    message: 'The input does not fit its schema: Expected a path.',
  });
});

test('paths given as objects are understood, and a flood of issues is cut', () => {
  const flood: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({
        issues: Array.from({ length: 1000 }, (_, i) => ({ message: 'no', path: [{ key: 'a' }, i] })),
      }),
    },
  };
  assert.throws(
    () => validateInput(flood, 1),
    (error) => {
      assert.ok(isDulyError(error, 'invalid_input'));
      const issues = error.details.issues as InputIssue[];
      assert.equal(issues.length, 50);
      assert.equal(issues[1]?.path, 'a[1]');
      assert.equal(error.details.issueCount, 1000);
      assert.match(error.message, /and 997 more/);
      return true;
    },
  );
});

test('a schema that throws or rejects is an invalid_input with its cause', async () => {
  const cause = new Error('bug');
  const create = (validate: () => never | Promise<never>): StandardSchema => ({
    '~standard': { version: 1, vendor: 'test', validate },
  });
  const isWrapped = (error: unknown): boolean => isDulyError(error, 'invalid_input') && error.cause === cause;
  assert.throws(
    () =>
      validateInput(
        create(() => {
          throw cause;
        }),
        1,
      ),
    isWrapped,
  );
  await assert.rejects(
    async () =>
      validateInput(
        create(() => Promise.reject(cause)),
        1,
      ),
    isWrapped,
  );
});

test('a Standard Schema is recognised, other values are not', () => {
  assert.equal(isStandardSchema(schema), true);
  const callable = Object.assign(() => 1, {
    '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) },
  });
  assert.equal(isStandardSchema(callable), true);
  for (const value of [
    null,
    undefined,
    {},
    { '~standard': {} },
    { '~standard': { version: 2, validate() {} } },
    'x',
    () => 1,
  ]) {
    assert.equal(isStandardSchema(value), false);
  }
});
