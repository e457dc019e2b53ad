/** Sends odd texts to every route, in every field that takes one: whatever it answers, it must not fail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';
import { createSamples } from './samples.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
}

interface Operation {
  parameters?: { in: string; name: string; schema?: Schema }[];
  requestBody?: { content: { 'application/json'?: { schema: Schema } } };
}

// Half of a surrogate pair, a NUL, a text that is cut inside a character by whoever counts bytes, one that ends a statement, and one that is no word.
const oddTexts = ['a\ud800', 'a\u0000b', '😀'.repeat(60), `'; DROP TABLE x; --"`, '\u202e\u0007'];

type Place = readonly (string | number)[];

/** Where in a body texts may stand, as paths; lists have one element. */
function textPlaces(schema: Schema, all: Record<string, Schema>, above: Place = []): Place[] {
  if (above.length > 4) return [];
  if (schema.$ref !== undefined) {
    return textPlaces(all[schema.$ref.split('/').at(-1) as string] as Schema, all, above);
  }
  const inner = (schema.anyOf ?? []).flatMap((one) => textPlaces(one, all, above));
  const { type, properties = {}, items, additionalProperties } = schema;
  const isText = type === 'string' || (Array.isArray(type) && type.includes('string')) || type === undefined;
  return [
    ...inner,
    ...(isText && schema.anyOf === undefined ? [above] : []),
    ...Object.entries(properties).flatMap(([name, one]) => textPlaces(one, all, [...above, name])),
    ...(items === undefined ? [] : textPlaces(items, all, [...above, 0])),
    ...(typeof additionalProperties === 'object'
      ? [...textPlaces(additionalProperties, all, [...above, 'any']), [...above, 'a\ud800']]
      : []),
  ];
}

function withText(sample: unknown, place: Place, value: string): unknown {
  const [first, ...rest] = place;
  if (first === undefined) return value;
  if (typeof first === 'number') return [withText(undefined, rest, value)];
  const fields = typeof sample === 'object' && sample !== null ? (sample as Record<string, unknown>) : {};
  return { ...fields, [first]: withText(fields[first], rest, value) };
}

test('whatever texts a request holds, in whichever field, the server does not fail', async (t) => {
  const fixture = await startServer(t, { server: { alertEvery: '1h', rateLimit: false } });
  const samples = await createSamples(fixture);
  const { json: document } = await fixture.ask('/openapi.json');
  const all = document.components.schemas as Record<string, Schema>;
  const failures: string[] = [];
  let sentCount = 0;
  const send = async (method: string, path: string, query: string, body?: unknown): Promise<void> => {
    sentCount++;
    const address = `${path}${query === '' ? '' : `?${query}`}`;
    const response = await fetch(new URL(address, fixture.url), {
      method,
      headers: { Authorization: `Bearer ${fixture.adminKey}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const text = isJson ? await response.text() : '';
    await response.body?.cancel().catch(() => {});
    // A server that is too busy, or was asked what it cannot do, says so; everything else from 500 on is a failure.
    if (response.status >= 500) failures.push(`${method} ${address} ${JSON.stringify(body)}: ${text}`);
  };
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Operation>>)) {
    for (const [verb, operation] of Object.entries(methods)) {
      const method = verb.toUpperCase();
      const name = `${method} ${path}`;
      const sampled = samples.names.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'none';
      const filled = path.replace(/\{[^}]+\}/g, () => encodeURIComponent(sampled));
      const query = samples.queries[name] ?? '';
      const schema = operation.requestBody?.content['application/json']?.schema;
      const sample = samples.bodies[name];
      for (const place of schema === undefined ? [] : textPlaces(schema, all)) {
        for (const odd of oddTexts) await send(method, filled, query, withText(sample, place, odd));
      }
      const names = (operation.parameters ?? []).filter((one) => one.in === 'query').map((one) => one.name);
      for (const odd of [...oddTexts.slice(1).map(encodeURIComponent), '%ED%A0%80', '%E0%A4%A', '%', '']) {
        if (path.includes('{'))
          await send(method, path.replace(/\{[^}]+\}/g, odd || 'x'), query, schema && (sample ?? {}));
        for (const one of names)
          await send(method, filled, `${query}&${one}=${odd}`, schema && (sample ?? {}));
      }
    }
  }
  // Whatever the jobs hold by now, their inputs can be looked into.
  for (const query of ['input.any=1', 'input.any=%22a%22', 'input.a%5B%22=x', 'error=x'])
    await send('GET', '/api/jobs', query);
  assert.deepEqual(failures, []);
  assert.ok(sentCount > 2_000, `${sentCount} requests`);
});
