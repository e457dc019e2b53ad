/** Walks every route of the OpenAPI document with no key, a wrong key, a read key and another tenant's key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appOf } from '../src/server.ts';
import { type Fixture, startServer } from './fixture.ts';
import { makeSamples, onlyForA, type Samples } from './walk-samples.ts';

interface Operation {
  name: string;
  method: string;
  path: string;
  scope: 'read' | 'run' | 'operate' | 'admin' | undefined;
  tenant: 'own' | 'refused' | undefined;
}

/** What needs no key: whether the process lives, and the address that carries a key itself. */
const open = ['GET /livez', 'GET /signin'];

async function operationsOf({ ask }: Fixture): Promise<Operation[]> {
  const { json } = await ask('/openapi.json');
  assert.match(json.openapi, /^3\.1\./);
  return Object.entries(json.paths as Record<string, Record<string, Record<string, unknown>>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        scope: operation['x-duly-scope'] as Operation['scope'],
        tenant: operation['x-duly-tenant'] as Operation['tenant'],
      })),
  );
}

/** Sends what a route takes. An answer that goes on and on is not read. */
async function send(
  fixture: Fixture,
  samples: Samples,
  { name, method, path }: Operation,
  key: string | null,
) {
  const filled = path.replace(/\{[^}]+\}/g, () => {
    const value = samples.names.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'none';
    return encodeURIComponent(value);
  });
  const query = samples.queries[name];
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const response = await fetch(new URL(`${filled}${query === undefined ? '' : `?${query}`}`, fixture.url), {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(hasBody ? { 'Content-Type': 'application/json' } : {}),
    },
    ...(hasBody ? { body: JSON.stringify(samples.bodies[name] ?? {}) } : {}),
  });
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  if (isJson) return { status: response.status, text: await response.text() };
  await response.body?.cancel();
  return { status: response.status, text: '' };
}

test('every route that is served is documented', async (t) => {
  const fixture = await startServer(t);
  const documented = new Set((await operationsOf(fixture)).map(({ name }) => name));
  const { app } = appOf.get(fixture.server) as { app: { routes: { method: string; path: string }[] } };
  const served = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replace(/:([^/]+)/g, '{$1}')}`);
  assert.deepEqual(
    served.filter((name) => !documented.has(name)),
    [],
  );
  assert.ok(documented.size > 30);
});

test('the document holds together: what it refers to is in it, and every name in a path is told', async (t) => {
  const { json } = await (await startServer(t)).ask('/openapi.json');
  const references = new Set(JSON.stringify(json).match(/"\$ref":"[^"]+"/g));
  assert.ok(references.size > 20);
  for (const reference of references) {
    const [, ...path] = (JSON.parse(`{${reference}}`) as { $ref: string }).$ref.split('/');
    const found = path.reduce((within, part) => within?.[part], json);
    assert.notEqual(found, undefined, reference);
  }
  type Parameter = { name: string; in: string; required?: boolean };
  for (const [path, methods] of Object.entries(json.paths as Record<string, object>)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { parameters = [] } = operation as { parameters?: Parameter[] };
      const named = parameters.filter((one) => one.in === 'path' && one.required).map(({ name }) => name);
      const wanted = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);
      assert.deepEqual(named.sort(), wanted.sort(), `${method} ${path}`);
    }
  }
});

test('every operation has a name of its own, as generated clients want it', async (t) => {
  const { json } = await (await startServer(t)).ask('/openapi.json');
  const names = Object.values(json.paths as Record<string, Record<string, { operationId?: string }>>).flatMap(
    (methods) => Object.values(methods).map(({ operationId }) => operationId ?? 'none'),
  );
  for (const name of names) assert.match(name, /^[a-z]+(?:[A-Z][a-z]+)*$/);
  assert.equal(new Set(names).size, names.length);
});

test('no key and a wrong key: 401 everywhere but where no key is needed', async (t) => {
  const fixture = await startServer(t);
  const samples = await makeSamples(fixture);
  const wrong = fixture.adminKey.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  for (const operation of await operationsOf(fixture)) {
    if (open.includes(operation.name)) {
      assert.equal(operation.scope, undefined, operation.name);
      continue;
    }
    assert.notEqual(operation.scope, undefined, `${operation.name} says nothing of its scope`);
    for (const key of [null, wrong, 'duly_nonsense', '']) {
      const { status, text } = await send(fixture, samples, operation, key);
      assert.equal(status, 401, `${operation.name} with ${key}: ${status} ${text}`);
      assert.equal(JSON.parse(text).code, 'unauthenticated');
    }
  }
});

test('a read key: 403 wherever more is needed, and only there', async (t) => {
  const fixture = await startServer(t);
  const samples = await makeSamples(fixture);
  const read = await fixture.key('read');
  for (const operation of await operationsOf(fixture)) {
    if (operation.scope === undefined) continue;
    const { status, text } = await send(fixture, samples, operation, read);
    if (operation.scope === 'read') {
      assert.ok(
        status !== 401 && status !== 403 && status < 500,
        `${operation.name}: ${status} ${text.slice(0, 500)}`,
      );
    } else assert.equal(status, 403, `${operation.name}: ${status} ${text.slice(0, 500)}`);
  }
});

test("another tenant's key: 404 for what is not its own, 403 for the whole store, and never a trace of it", async (t) => {
  const fixture = await startServer(t);
  const samples = await makeSamples(fixture);
  const other = await fixture.key('admin', 'b');
  for (const operation of await operationsOf(fixture)) {
    if (operation.scope === undefined) continue;
    const { status, text } = await send(fixture, samples, operation, other);
    const said = `${operation.name}: ${status} ${text.slice(0, 500)}`;
    if (operation.tenant === 'refused') assert.equal(status, 403, said);
    else if (operation.path.includes('{')) assert.equal(status, 404, said);
    else assert.ok(status < 500 && status !== 401, said);
    for (const [, value] of samples.names.slice(0, 2)) {
      // An id that was sent may come back in the error; nothing else of it may.
      const isEcho = status === 404 && operation.path.includes('{');
      assert.ok(isEcho || !text.includes(value), said);
    }
    assert.ok(!text.includes(onlyForA), said);
  }
  const jobs = await fixture.ask('/api/jobs');
  assert.deepEqual(
    jobs.json.data.map((job: { tenant: string; status: string }) => [job.tenant, job.status]),
    [['a', 'SCHEDULED']],
  );
});

test("the owner's key works on all of it", async (t) => {
  const fixture = await startServer(t);
  const samples = await makeSamples(fixture);
  const own = await fixture.key('admin', 'a');
  const operations = (await operationsOf(fixture)).filter(({ method, tenant, path }) => {
    return (
      method === 'GET' &&
      tenant === 'own' &&
      (path.startsWith('/api/jobs/{') || path.startsWith('/api/schedules/{'))
    );
  });
  assert.ok(operations.length >= 8);
  for (const operation of operations) {
    const { status, text } = await send(fixture, samples, operation, own);
    assert.equal(status, 200, `${operation.name}: ${text}`);
  }
});
