import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../test/property.ts';
import { isDulyError } from '../../src/base/errors.ts';
import { fromJson, inputBytesMax, jsonDepthMax, toJson } from '../../src/base/json.ts';

const input = { what: 'input', maxBytes: inputBytesMax };

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
}

test('any JSON value is written as JSON.stringify writes it and read back the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = toJson(value, input);
      assert.equal(text, JSON.stringify(value));
      assert.deepEqual(fromJson(text), JSON.parse(text));
    }),
    cases(100),
  );
});

class Point {
  x = 1;
  y = 2;
}

for (const [name, value, expected] of [
  ['undefined', undefined, 'null'],
  ['undefined in an object', { a: undefined, b: 1 }, '{"b":1}'],
  ['undefined in an array', [undefined, 1], '[null,1]'],
  ['a hole in an array', new Array(1), '[null]'],
  ['a Date', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
  ['a URL', new URL('https://example.org/a'), '"https://example.org/a"'],
  ['an object of a class', new Point(), '{"x":1,"y":2}'],
  ['an object with toJSON', { toJSON: () => ({ a: 1 }) }, '{"a":1}'],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
] as [string, unknown, string][]) {
  test(`${name} is written as ${expected}`, () => {
    assert.equal(toJson(value, input), expected);
  });
}

test('the same object in two places is no cycle', () => {
  const shared = { at: new Date(0) };
  assert.equal(toJson([shared, shared], input), JSON.stringify([shared, shared]));
});

const cycle: Record<string, unknown> = { name: 'a' };
cycle.list = [{ back: cycle }];

for (const [name, value, path, problem] of [
  ['a cycle', cycle, 'list[0].back', /refers back/],
  [
    'a cycle of arrays',
    (() => {
      const a: unknown[] = [];
      a.push(a);
      return a;
    })(),
    '[0]',
    /refers back/,
  ],
  ['a BigInt', { user: { id: 5n } }, 'user.id', /a BigInt/],
  ['a BigInt at the top', 5n, '', /it is a BigInt/],
  ['a function in an object', { a: [{ f: () => 1 }] }, 'a[0].f', /a function/],
  ['a function at the top', () => 1, '', /a function/],
  ['a symbol', { s: Symbol('x') }, 's', /a symbol/],
  ['NaN', { n: Number.NaN }, 'n', /NaN, which JSON turns into null/],
  ['Infinity', [1, Number.NEGATIVE_INFINITY], '[1]', /-Infinity/],
  ['an invalid Date', { d: new Date(Number.NaN) }, 'd', /an invalid Date/],
  ['a Map', { m: new Map() }, 'm', /a Map/],
  ['a Set', { m: new Set([1]) }, 'm', /a Set/],
  ['a Buffer', { b: Buffer.from('x') }, 'b', /binary data/],
  ['an ArrayBuffer', { b: new ArrayBuffer(1) }, 'b', /binary data/],
  ['a promise', { p: Promise.resolve(1) }, 'p', /a promise/],
  ['an error', { e: new Error('secret') }, 'e', /an error/],
  ['a regular expression', { r: /x/ }, 'r', /a regular expression/],
  ['a weak map', { w: new WeakMap() }, 'w', /a weak collection/],
  ['something odd behind toJSON', { t: { toJSON: () => ({ big: 1n }) } }, 't.big', /a BigInt/],
  [
    'a toJSON that throws',
    {
      t: {
        toJSON: () => {
          throw new Error('no');
        },
      },
    },
    't',
    /toJSON\(\) that threw/,
  ],
] as [string, unknown, string, RegExp][]) {
  test(`${name} is refused with its path`, () => {
    assert.throws(
      () => toJson(value, input),
      (error) => {
        assert.ok(isDulyError(error, 'input_not_json'), String(error));
        assert.match(error.message, problem);
        assert.equal(error.details.path, path);
        if (path !== '') assert.ok(error.message.includes(`"${path}"`), error.message);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  });
}

test('what cannot be read is refused with its place: getters, proxies, also as a result', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const broken = {
    get deep() {
      throw new Error('no');
    },
  };
  for (const [value, place] of [
    [proxy, 'it cannot be read'],
    [{ a: [1, proxy] }, '"a[1]" cannot be read'],
    [{ a: broken }, '"a.deep" cannot be read'],
  ] as [unknown, string][]) {
    for (const [what, code] of [
      ['input', 'input_not_json'],
      ['result', 'result_not_json'],
      ['metadata', 'metadata_invalid'],
    ] as const) {
      assert.throws(
        () => toJson(value, { what, maxBytes: 1_000 }),
        (error) => isDulyError(error, code) && error.message.includes(place) && error.cause instanceof Error,
      );
    }
  }
});

test('nesting is allowed down to the limit and refused below it, also far below', () => {
  assert.equal(toJson(nested(jsonDepthMax), input).length, 6 * jsonDepthMax + 1);
  for (const depth of [jsonDepthMax + 1, 100_000]) {
    assert.throws(
      () => toJson(nested(depth), input),
      (error) =>
        isDulyError(error, 'input_not_json') &&
        /nested more than 500/.test(error.message) &&
        error.message.length < 300,
    );
  }
});

test('the size is counted in bytes of UTF-8', () => {
  // Two quotes and the text itself.
  assert.equal(toJson('€€', { what: 'input', maxBytes: 8 }), '"€€"');
  for (const [text, maxBytes] of [
    ['€€', 7],
    ['aaaa', 5],
    ['😀', 5],
  ] as const) {
    assert.throws(
      () => toJson(text, { what: 'input', maxBytes }),
      (error) => isDulyError(error, 'input_too_large') && error.details.maxBytes === maxBytes,
    );
  }
});

test('the limit holds for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(50), (text, maxBytes) => {
      const byteCount = Buffer.byteLength(JSON.stringify(text));
      if (byteCount <= maxBytes) toJson(text, { what: 'input', maxBytes });
      else assert.throws(() => toJson(text, { what: 'input', maxBytes }), /at most/);
    }),
    cases(100),
  );
});

test('10 MB are refused and not quoted', () => {
  assert.throws(
    () => toJson({ secret: 'x'.repeat(10_000_000) }, input),
    (error) =>
      isDulyError(error, 'input_too_large') && error.message.length < 200 && !error.message.includes('xxx'),
  );
});

test('results and metadata have codes of their own', () => {
  for (const [what, notJson, tooLarge] of [
    ['result', 'result_not_json', 'result_too_large'],
    ['metadata', 'metadata_invalid', 'metadata_invalid'],
    ['value', 'input_not_json', 'input_too_large'],
  ] as const) {
    assert.throws(
      () => toJson(1n, { what, maxBytes: 9 }),
      (error) => isDulyError(error, notJson),
    );
    assert.throws(
      () => toJson('0123456789', { what, maxBytes: 9 }),
      (error) => isDulyError(error, tooLarge),
    );
  }
});

test('__proto__, constructor and prototype keys are kept as data and pollute nothing', () => {
  const text =
    '{"__proto__":{"polluted":true},"a":{"__proto__":5},"constructor":{"prototype":{"polluted":true}}}';
  const value = fromJson(text) as Record<string, unknown>;
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.ok(Object.hasOwn(value, '__proto__'));
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  assert.equal(value.polluted, undefined);
  assert.equal(toJson(value, input), text);
  const copy = { ...value };
  assert.equal(Object.getPrototypeOf(copy), Object.prototype);
  assert.equal(toJson(copy, input), text);
});

test('an odd value behind a __proto__ key is found too', () => {
  const value = {};
  Object.defineProperty(value, '__proto__', { value: { a: 1n }, enumerable: true });
  assert.throws(() => toJson(value, input), /"__proto__\.a" is a BigInt/);
});

test('text that is not JSON is refused without quoting it', () => {
  for (const text of ['', '{', '{"a":1,}', 'secret', "{'secret':1}", 'undefined']) {
    assert.throws(
      () => fromJson(text),
      (error) =>
        isDulyError(error, 'input_not_json') &&
        !error.message.includes('secret') &&
        error.cause === undefined,
    );
  }
});
