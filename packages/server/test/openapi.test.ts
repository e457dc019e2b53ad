/** The OpenAPI document is complete and consistent. What keys may do is in matrix.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appOf } from '../src/server.ts';
import { startServer } from './fixture.ts';
import { operationsOf } from './operations.ts';

test('every route that is served is documented', async (t) => {
  const fixture = await startServer(t);
  const documented = new Set(operationsOf((await fixture.ask('/openapi.json')).json).map(({ name }) => name));
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
    (methods) => Object.values(methods).map(({ operationId }) => operationId ?? ''),
  );
  for (const name of names) assert.match(name, /^[a-z]+(?:[A-Z][a-z]+)*$/);
  assert.equal(new Set(names).size, names.length);
});
