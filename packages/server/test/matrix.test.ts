/**
 * Every operation of the OpenAPI document, asked with every kind of key. What must happen follows from the
 * document: `security`, `x-duly-scope` and `x-duly-tenant`, which `secured()` writes and enforces.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { errorCodes } from '@duly/core';
import { allows, type Scope, scopes } from '@duly/core/internal/browser';
import { type Fixture, startServer } from './fixture.ts';
import { isDocumentedRefusal, type Operation, operationsOf } from './operations.ts';
import { addressOf, createSamples, missingSamples, onlyForA, type Samples, scheduleForA } from './samples.ts';

interface Caller {
  name: string;
  key: string | null;
  /** null: the key is not valid. */
  scope: Scope | null;
  tenant: string | null;
}

interface World {
  fixture: Fixture;
  samples: Samples;
  operations: Operation[];
  callers: Caller[];
  /** Answers whose status the document does not list: add them to `responses` of the route. */
  undocumented: Set<string>;
}

interface Answer {
  status: number;
  text: string;
  type: string;
}

async function createWorld(t: TestContext): Promise<World> {
  // A name that leads to this machine: a test of a channel is refused, and nothing goes out.
  const lookup = async () => [{ address: '127.0.0.1', family: 4 as const }];
  const fixture = await startServer(t, { server: { lookup } });
  const samples = await createSamples(fixture);
  const operations = operationsOf((await fixture.ask('/openapi.json')).json);
  return { fixture, samples, operations, callers: await createCallers(fixture), undocumented: new Set() };
}

async function createCallers({ server, adminKey, key }: Fixture): Promise<Caller[]> {
  const nobody = { scope: null, tenant: null };
  const revoked = await server.keys.create({ scope: 'admin', by: 'test' });
  await server.keys.revoke(revoked.id);
  const expired = await server.keys.create({ scope: 'admin', by: 'test', expiresAt: 1 });
  const wrong = adminKey.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  const callers: Caller[] = [
    { name: 'no key', key: null, ...nobody },
    { name: 'a wrong key', key: wrong, ...nobody },
    { name: 'nonsense', key: 'duly_nonsense', ...nobody },
    { name: 'a revoked key', key: revoked.key, ...nobody },
    { name: 'an expired key', key: expired.key, ...nobody },
  ];
  for (const tenant of [null, 'a', 'b']) {
    for (const scope of scopes) {
      const whose = tenant === null ? 'no tenant' : `tenant ${tenant}`;
      callers.push({ name: `${scope}, ${whose}`, key: await key(scope, tenant), scope, tenant });
    }
  }
  return callers;
}

/** What the document says of a caller at an operation. */
function expectedOf(operation: Operation, { scope, tenant }: Caller): 'passes' | 401 | 403 | 404 {
  if (operation.isOpen) return 'passes';
  if (scope === null) return 401;
  if (operation.scope === undefined || !allows(scope, operation.scope)) return 403;
  if (tenant === null) return 'passes';
  if (operation.tenant === 'refused') return 403;
  return tenant === 'b' && operation.path.includes('{') ? 404 : 'passes';
}

async function send({ fixture, samples }: World, operation: Operation, { key }: Caller): Promise<Answer> {
  const { method, name } = operation;
  const hasBody = operation.body !== null;
  const response = await fetch(new URL(addressOf(samples, operation), fixture.url), {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(hasBody ? { 'Content-Type': 'application/json' } : {}),
    },
    ...(hasBody ? { body: JSON.stringify(samples.bodies[name] ?? {}) } : {}),
  });
  const type = response.headers.get('content-type') ?? '';
  // A stream has no end; its head is all that is checked here.
  if (type.startsWith('text/event-stream')) await response.body?.cancel();
  return { status: response.status, type, text: response.bodyUsed ? '' : await response.text() };
}

/** Sends, and checks what holds for every answer. */
async function ask(world: World, operation: Operation, caller: Caller): Promise<Answer & { said: string }> {
  const answer = await send(world, operation, caller);
  const { status, type, text } = answer;
  const said = `${operation.name} with ${caller.name}: ${status} ${text.slice(0, 400)}`;
  assert.ok(status < 500, said);
  if (!operation.statuses.has(String(status))) world.undocumented.add(`${operation.name}: ${status}`);
  if (status >= 400) {
    assert.ok(isDocumentedRefusal(operation, status, type), `${said}\nof type ${type}`);
    const { code, status: inBody } = JSON.parse(text) as { code: string; status: number };
    const isProblem = code in errorCodes && inBody === status;
    assert.ok(isProblem || !type.startsWith('application/problem+json'), said);
  }
  const expected = expectedOf(operation, caller);
  if (expected === 'passes') assert.ok(operation.isOpen || ![401, 429].includes(status), said);
  else assert.equal(status, expected, said);
  // Independent of what the document says: nothing of tenant "a" reaches others. A 404 repeats the id that was sent.
  if (caller.scope === null || caller.tenant === 'b') {
    assert.ok(!text.includes(onlyForA) && !text.includes(scheduleForA), said);
    if (status !== 404) {
      for (const [, id = ''] of world.samples.names.slice(0, 3)) assert.ok(!text.includes(id), said);
    }
  }
  return { ...answer, said };
}

/** What tenant "a" has, as an admin sees it. */
async function snapshot({ fixture, samples }: World): Promise<unknown[]> {
  const paths = samples.names.slice(0, 3).map(([prefix, id]) => `${prefix}${id}`);
  return Promise.all(paths.map(async (path) => (await fixture.ask(path)).json));
}

test('every operation has samples, and says who may use it', async (t) => {
  const { operations, samples } = await createWorld(t);
  assert.deepEqual(
    operations.flatMap((operation) => missingSamples(samples, operation)),
    [],
  );
  for (const { name, isOpen, scope, tenant } of operations) {
    const isSaid = isOpen ? scope === undefined && tenant === undefined : scopes.includes(scope as Scope);
    assert.ok(isSaid, `${name}: spread "...secured(scope)" or "...unsecured" into its createRoute().`);
  }
  assert.deepEqual(
    operations.filter(({ isOpen }) => isOpen).map(({ name }) => name),
    ['GET /livez', 'GET /signin', 'POST /signin'],
  );
});

test('a route without samples fails with what to add', async (t) => {
  const { samples } = await createWorld(t);
  const [operation] = operationsOf({
    paths: { '/api/new/{id}': { post: { requestBody: { required: true, content: {} }, responses: {} } } },
    components: { schemas: {} },
  });
  assert.deepEqual(missingSamples(samples, operation as Operation), [
    'POST /api/new/{id} has no sample: add the values of its path to "names" in packages/server/test/samples.ts.',
    'POST /api/new/{id} has no sample: add a valid body to "bodies" in packages/server/test/samples.ts.',
  ]);
});

test('operations × keys × tenants: refused where the document says so, and nothing of another tenant is seen or changed', async (t) => {
  const world = await createWorld(t);
  const before = await snapshot(world);
  assert.ok(JSON.stringify(before).includes(onlyForA));
  const isRefused = (operation: Operation, caller: Caller): boolean =>
    !operation.isOpen && (expectedOf(operation, caller) !== 'passes' || caller.tenant === 'b');
  let count = 0;
  for (const operation of world.operations) {
    for (const caller of world.callers.filter((one) => isRefused(operation, one))) {
      await ask(world, operation, caller);
      count++;
    }
  }
  assert.deepEqual(await snapshot(world), before, 'what was refused has changed nothing');

  // Reads before changes, and deletions last, so that everything is there when it is asked for.
  const order = (method: string): number => ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'].indexOf(method);
  const operations = world.operations.toSorted((one, two) => order(one.method) - order(two.method));
  let seen = 0;
  for (const operation of operations) {
    for (const caller of world.callers.filter((one) => !isRefused(operation, one))) {
      const { status, text, said } = await ask(world, operation, caller);
      count++;
      if (text.includes(onlyForA)) seen++;
      const isFound =
        operation.method === 'GET' && /^\/api\/(?:jobs|schedules|webhooks)\/\{/.test(operation.path);
      if (isFound) assert.ok(status === 200, said);
    }
  }
  assert.deepEqual([...world.undocumented], []);
  assert.ok(seen > 20, `those who may see it do: ${seen}`);
  assert.equal(count, world.operations.length * world.callers.length);
});

/** Samples that cannot succeed here, with the status that they must have instead, and why. */
const otherwise: Readonly<Record<string, [status: number, why: string]>> = {
  'GET /api/ws': [426, 'fetch() opens no WebSocket'],
  'POST /signin': [401, 'no sign-in link was opened'],
  'POST /api/locks/{name}/acquire': [409, 'the samples hold the lock'],
  'POST /api/nodes/{id}/drain': [404, 'no node runs'],
};

test('an admin key succeeds at every operation with its samples', async (t) => {
  const world = await createWorld(t);
  const admin = world.callers.find(({ name }) => name === 'admin, no tenant') as Caller;
  const order = (method: string): number => ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'].indexOf(method);
  const wrong: string[] = [];
  for (const operation of world.operations.toSorted((one, two) => order(one.method) - order(two.method))) {
    const { status, said } = await ask(world, operation, admin);
    const expected = otherwise[operation.name]?.[0];
    if (expected === undefined ? status >= 400 : status !== expected) wrong.push(said);
  }
  assert.deepEqual(wrong, []);
});
