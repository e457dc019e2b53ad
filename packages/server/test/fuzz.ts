/**
 * Random requests to the HTTP API, generated from its OpenAPI document. `DULY_SEED_START=<n>` chooses the
 * requests, `DULY_FUZZ_SECONDS=<n>` how long it takes.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { errorCodes, systemClock } from '@duly/core';
import { propertySeed } from '../../../test/property.ts';
import { type Fixture, startServer } from './fixture.ts';
import {
  type ApiDocument,
  isDocumentedRefusal,
  type Operation,
  operationsOf,
  type Schema,
} from './operations.ts';
import { addressOf, createSamples, type Samples } from './samples.ts';

const seconds = Number(process.env['DULY_FUZZ_SECONDS'] ?? 15);
const lanes = 6;
const hangMs = 10_000;

/** One generated request. */
interface FuzzRequest {
  operation: Operation;
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

/** A source of choices: numbers from 0 up to 1. */
type Chance = () => number;

/** mulberry32: small, and the same everywhere. */
function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const texts = [
  '',
  ' ',
  '0',
  '-1',
  '1e309',
  'null',
  'true',
  'NaN',
  '[]',
  '{}',
  '*',
  '%',
  '..',
  '../../etc/passwd',
  '\\',
  '\\u0000',
  'a\u0000b',
  '\ud800',
  '😀',
  'é'.repeat(100),
  'a'.repeat(5_000),
  "'; DROP TABLE jobs; --",
  '"',
  '$.x',
  'x.y.z',
  '__proto__',
  'constructor',
  '2026-01-01',
  '2026-13-45T99:99:99Z',
  '+275760-09-13T00:00:00.001Z',
  '1969-12-31T23:59:59Z',
  '2026-11-18T00:00:00+14:00',
  '1h',
  '-5s',
  '999999999999 years',
  'P1Y',
  'PT0S',
  '1ms',
  '* * * * *',
  '0 0 31 2 *',
  '@daily',
  '* * * * * * *',
  '0 0 L * *',
  'Europe/Rome',
  'Mars/Olympus',
  'UTC',
  'default',
  'work',
  'duly:internal',
  'job_0',
  'job_01m7p7vd5rawkg0dx4j6nrmf29',
  'sch_x',
  'completed',
  'COMPLETED',
  'http://127.0.0.1/',
  'https://example.com/',
  'FREQ=DAILY;COUNT=1',
  'FREQ=SECONDLY;INTERVAL=0',
];
const numbers = [0, -0, 1, -1, 0.5, 100, 1_001, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e308, 5e-324];

const pieces = [
  'a',
  'input',
  '0',
  '1',
  '.',
  '..',
  '*',
  '$',
  '[0]',
  '"',
  "'",
  '\\',
  '\\u0061',
  '/',
  '%',
  '_',
  ' ',
  '\n',
  '\t',
  'é',
  '😀',
  '\u0000',
  ':',
];

/** Generates requests. The same seed gives the same requests in the same order. */
class Generator {
  readonly #chance: Chance;
  readonly #document: ApiDocument;
  readonly #operations: Operation[];
  readonly #samples: Samples;

  constructor(seed: number, document: ApiDocument, samples: Samples) {
    this.#chance = chanceOf(seed);
    this.#document = document;
    // What takes more is asked more often.
    this.#operations = operationsOf(document).flatMap((operation) => {
      const weight = 2 + operation.parameters.length + (operation.body === null ? 0 : 6);
      return Array.from({ length: weight }, () => operation);
    });
    this.#samples = samples;
  }

  #below(count: number): number {
    return Math.floor(this.#chance() * count);
  }

  #isLikely(share: number): boolean {
    return this.#chance() < share;
  }

  #one<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)] as Item;
  }

  /** A string of the list, or several characters that mean something somewhere. */
  #text(): string {
    if (this.#isLikely(0.6)) return this.#one(texts);
    return Array.from({ length: 1 + this.#below(4) }, () => this.#one(pieces)).join('');
  }

  next(): FuzzRequest {
    const operation = this.#one(this.#operations);
    const headers: Record<string, string> = {};
    if (this.#isLikely(0.1)) headers['Idempotency-Key'] = this.#one(['a', 'b', 'c', 'k'.repeat(256)]);
    if (this.#isLikely(0.05)) headers['If-None-Match'] = this.#one(['*', '"x"', 'W/"x", "y"', '"']);
    if (this.#isLikely(0.05))
      headers['Prefer'] = this.#one(['wait=0', 'wait=-1', 'wait=x', 'respond-async', ';;']);
    if (this.#isLikely(0.05))
      headers['Last-Event-ID'] = encodeURIComponent(wellFormed(this.#text())).slice(0, 300);
    const body = operation.body === null && this.#isLikely(0.95) ? null : this.#body(operation);
    if (body !== null)
      headers['Content-Type'] = this.#isLikely(0.97)
        ? 'application/json'
        : this.#one(['text/plain', 'x', 'application/xml']);
    return { operation, path: this.#path(operation), headers, body };
  }

  #path(operation: Operation): string {
    const isSampled = this.#isLikely(0.6);
    const [path = '', query = ''] = isSampled
      ? addressOf(this.#samples, operation).split('?')
      : [operation.path.replace(/\{[^}]+\}/g, () => pathPart(this.#text()))];
    // One odd value is enough to be refused, so many requests have few of them.
    const density = this.#one([0, 0, 0.05, 0.3]);
    const pairs = operation.parameters
      .filter((one) => one.in === 'query' && this.#isLikely(one.required === true ? 0.8 : density))
      .map(({ name, schema }) => `${name}=${encodeURIComponent(this.#queryText(name, schema))}`);
    const isJobFilter = operation.parameters.some(({ name }) => name === 'serial');
    if (this.#isLikely(isJobFilter ? 0.5 : 0.02)) {
      pairs.push(`input.${encodeURIComponent(wellFormed(this.#text()))}=1`);
    }
    if (this.#isLikely(0.03)) pairs.push('unknown=1', '=', '%E0%A4%A');
    const all = [...(query === '' ? [] : [query]), ...pairs];
    return `${path}${all.length === 0 ? '' : `?${all.join('&')}`}`;
  }

  #queryText(name: string, schema: Schema): string {
    // Requests that wait are not what this is about, and would take its time.
    if (name === 'wait') return this.#one(['0', '0.01', '-1', 'x', '61', '']);
    const value = this.#value(schema, 0);
    return wellFormed(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  }

  #body(operation: Operation): string {
    if (this.#isLikely(0.03))
      return this.#one([
        '',
        '{',
        '[]',
        'null',
        '"x"',
        '1',
        '\ufeff{}',
        '{"a":1}}',
        '['.repeat(500),
        '{"__proto__":{}}',
      ]);
    const { schema } = operation.body ?? { schema: {} };
    const sample = this.#samples.bodies[operation.name];
    // Half of the bodies are valid ones with some fields replaced, which come further than random ones.
    const isObject = typeof sample === 'object' && sample !== null;
    const random = this.#value(schema, 0);
    if (!isObject || typeof random !== 'object' || this.#isLikely(0.4))
      return JSON.stringify(random) ?? 'null';
    const density = this.#one([0.05, 0.15, 0.4]);
    const fields = Object.entries(random ?? {}).filter(() => this.#isLikely(density));
    return JSON.stringify({ ...sample, ...Object.fromEntries(fields) });
  }

  #value(schema: Schema, depth: number): unknown {
    if (this.#isLikely(0.08)) return this.#anything(depth);
    if (schema.$ref !== undefined) {
      const named = this.#document.components.schemas[schema.$ref.split('/').at(-1) as string] ?? {};
      return depth > 8 ? null : this.#value(named, depth + 1);
    }
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return this.#one(schema.enum);
    const forms = schema.anyOf ?? schema.oneOf;
    if (forms !== undefined) return this.#value(this.#one(forms), depth + 1);
    if (schema.allOf !== undefined) {
      return Object.assign({}, ...schema.allOf.map((one) => this.#value(one, depth + 1)));
    }
    switch (Array.isArray(schema.type) ? this.#one(schema.type) : schema.type) {
      case 'string':
        return this.#text();
      case 'integer':
      case 'number':
        return this.#isLikely(0.7) ? this.#below(50) : this.#one(numbers);
      case 'boolean':
        return this.#isLikely(0.5);
      case 'null':
        return null;
      case 'array':
        return Array.from({ length: this.#below(3) }, () => this.#value(schema.items ?? {}, depth + 1));
      case 'object':
        return this.#object(schema, depth);
      default:
        return this.#anything(depth);
    }
  }

  #object({ properties = {}, required = [], additionalProperties }: Schema, depth: number): object {
    const result: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries(properties)) {
      const share = required.includes(name) ? 0.95 : depth > 4 ? 0.05 : 0.25;
      if (name === 'wait') continue;
      if (this.#isLikely(share)) result[name] = this.#value(schema, depth + 1);
    }
    if (typeof additionalProperties === 'object' && this.#isLikely(0.5)) {
      result[this.#text()] = this.#value(additionalProperties, depth + 1);
    }
    if (this.#isLikely(0.02)) result['unknown'] = 1;
    return result;
  }

  #anything(depth: number): unknown {
    const simple = [this.#text(), this.#one(numbers), null, true, false];
    if (depth > 5 || this.#isLikely(0.7)) return this.#one(simple);
    return this.#isLikely(0.5) ? [this.#anything(depth + 1)] : { [this.#text()]: this.#anything(depth + 1) };
  }
}

/** A part of a path; one that is empty or only dots would be another path. */
function pathPart(text: string): string {
  return encodeURIComponent(/^\.*$/.test(text) ? 'x' : wellFormed(text));
}

function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** Sends random requests for a while. Whatever they hold: no failure, no hang, and every refusal a known problem. */
export async function fuzzServer(t: TestContext): Promise<void> {
  const seed = propertySeed;
  const lookup = async () => [{ address: '127.0.0.1', family: 4 as const }];
  const fixture = await startServer(t, { server: { lookup, rateLimit: false, alertEvery: '1h' } });
  const samples = await createSamples(fixture);
  const { json: document } = await fixture.ask('/openapi.json');
  const keys = [
    fixture.adminKey,
    fixture.adminKey,
    fixture.adminKey,
    await fixture.key('admin', 'a'),
    await fixture.key('read', 'b'),
  ];
  const findings = new Map<string, string>();
  const untilElapsed = systemClock.elapsed() + seconds * 1_000;
  let count = 0;
  const work = async (lane: number): Promise<void> => {
    const generator = new Generator(seed + lane, document, samples);
    while (systemClock.elapsed() < untilElapsed && findings.size < 30) {
      const request = generator.next();
      const finding = await sendOne(fixture, request, keys[count++ % keys.length] as string);
      if (finding !== null) findings.set(`${request.operation.name}: ${finding.what}`, finding.example);
      if (count % 200 === 0) assert.equal((await fixture.ask('/livez', { key: null })).status, 200);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
  t.diagnostic(`${count} requests in ${seconds} s.`);
  const reported = [...findings].map(([what, example]) => `${what}\n    ${example}`).join('\n');
  assert.equal(findings.size, 0, `DULY_SEED_START=${seed} found:\n${reported}`);
  assert.ok(count > 100, `${count} requests`);
  const after = await fixture.ask('/api/jobs', { body: { type: 'after', delay: '1h' } });
  assert.equal(after.status, 201, after.text);
  assert.equal((await fixture.ask('/readyz')).status, 200);
}

/** Sends a request; null: the answer is as it should be. */
async function sendOne(
  { url }: Fixture,
  { operation, path, headers, body }: FuzzRequest,
  key: string,
): Promise<{ what: string; example: string } | null> {
  const { method, statuses } = operation;
  const example = `${method} ${path.slice(0, 500)} ${JSON.stringify(headers).slice(0, 300)} ${body?.slice(0, 2_000) ?? ''}`;
  const gone = new AbortController();
  const timer = systemClock.after(hangMs, () => gone.abort());
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      signal: gone.signal,
      headers: { ...headers, Authorization: `Bearer ${key}` },
      // A body that `fetch` refuses to send with GET is left out.
      ...(body === null || method === 'GET' ? {} : { body }),
    });
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('text/event-stream')) {
      await response.body?.cancel();
      return null;
    }
    const text = await response.text();
    const { status } = response;
    const reported = `${example}\n    ${text.slice(0, 500)}`;
    if (status >= 500) return { what: `answers ${status}`, example: reported };
    if (!statuses.has(String(status))) return { what: `${status} is not in the document`, example: reported };
    if (status < 400) return null;
    if (!isDocumentedRefusal(operation, status, type))
      return { what: `${status} is of type ${type}`, example: reported };
    if (!type.startsWith('application/problem+json')) return null;
    const { code } = JSON.parse(text) as { code: string };
    return code in errorCodes ? null : { what: `${status} has the unknown code ${code}`, example: reported };
  } catch (error) {
    return { what: gone.signal.aborted ? `no answer in ${hangMs} ms` : String(error), example };
  } finally {
    timer.cancel();
  }
}
