/** What the generated tests send: ids of resources that belong to tenant "a", and bodies that each route takes. */
import assert from 'node:assert/strict';
import type { Fixture } from './fixture.ts';
import type { Operation } from './operations.ts';

/** The samples. */
export interface Samples {
  /** The values of the parameters in a path, by the beginning of the path. The first that fits is taken. */
  names: readonly [prefix: string, ...values: string[]][];
  /** Bodies by method and path; a body that may be left out and is not here is `{}`. */
  bodies: Readonly<Record<string, unknown>>;
  /** Queries that a route needs, by method and path. */
  queries: Readonly<Record<string, string>>;
}

/** Planted into everything that belongs to tenant "a" and that a caller chooses. */
export const onlyForA = 'what only tenant a may see';

/** The name of the schedule of tenant "a". */
export const scheduleForA = 'nightly-only-for-a';

/** Creates resources of tenant "a" and names them. */
export async function createSamples({ duly, ask }: Fixture): Promise<Samples> {
  const job = await duly.taskNamed('work').in('1h', onlyForA, {
    tenant: 'a',
    metadata: { note: onlyForA },
    dedupe: { key: 'k' },
  });
  const schedule = await duly.schedules.put({
    type: 'work',
    name: scheduleForA,
    cron: '0 0 * * *',
    tenant: 'a',
    input: onlyForA,
  });
  const webhook = { url: 'https://example.com/hook' };
  const created = async (path: string, body: object): Promise<string> => {
    const { status, json } = await ask(path, { body });
    assert.equal(status, 201, JSON.stringify(json));
    return json.id;
  };
  const [hook, rule, channel, window, key] = [
    await created('/api/webhooks', { ...webhook, tenant: 'a', note: onlyForA }),
    await created('/api/alerts/rules', { kind: 'stuck' }),
    await created('/api/alerts/channels', { kind: 'slack', url: webhook.url }),
    await created('/api/alerts/windows', { cron: '0 2 * * *', duration: '1h' }),
    await created('/api/keys', { scope: 'read', tenant: 'a', note: onlyForA }),
  ];
  const value = await ask('/api/values/only/for-a', { method: 'PUT', body: { value: onlyForA, ttl: '1h' } });
  assert.ok(value.status < 300, JSON.stringify(value.json));
  const lock = await ask('/api/locks/only-for-a/acquire', { body: { holder: onlyForA } });
  assert.equal(lock.status, 200, JSON.stringify(lock.json));
  const lease = { id: job.id, fence: 1 };
  return {
    names: [
      ['/api/jobs/', job.id],
      ['/api/webhooks/', hook],
      ['/api/schedules/', schedule.id],
      ['/api/queues/', 'default'],
      ['/api/alerts/rules/', rule],
      ['/api/alerts/channels/', channel],
      ['/api/alerts/windows/', window],
      ['/api/keys/', key],
      ['/api/locks/', 'only-for-a'],
      ['/api/values/', 'only', 'for-a'],
      ['/api/nodes/', 'node_none'],
    ],
    bodies: {
      'POST /api/jobs': { type: 'work', tenant: 'a' },
      'POST /api/jobs/bulk': { action: 'cancel', filter: { type: 'work' } },
      'POST /api/jobs/{id}/reschedule': { delay: '2h' },
      'POST /api/schedules': { type: 'work', name: scheduleForA, cron: '0 1 * * *', tenant: 'a' },
      'PATCH /api/schedules/{id}': { priority: 3 },
      'POST /api/schedules/preview': { cron: '0 0 * * *' },
      'POST /api/schedules/diff': { app: 'x', schedules: [] },
      'POST /api/schedules/apply': { app: 'x', schedules: [] },
      'POST /api/schedules/{id}/backfill': { from: '2026-01-01', to: '2026-01-02' },
      'POST /api/dead/retry': { all: true },
      'POST /api/dead/discard': { all: true },
      'POST /api/keys': { scope: 'read' },
      'POST /api/webhooks': webhook,
      'PATCH /api/webhooks/{id}': { note: 'changed' },
      'POST /api/alerts/rules': { kind: 'stuck' },
      'PATCH /api/alerts/rules/{id}': { enabled: false },
      'POST /api/alerts/channels': { kind: 'slack', url: webhook.url },
      'POST /api/alerts/windows': { cron: '0 2 * * *', duration: '1h' },
      'POST /api/pauses': { queue: 'sample' },
      'POST /api/pauses/resume': { queue: 'sample' },
      'POST /api/locks/{name}/renew': { fence: lock.json.fence },
      'POST /api/locks/{name}/release': { fence: lock.json.fence },
      'PUT /api/values/{name}/{key}': { value: 1, ttl: '1h' },
      'PATCH /api/values/{name}/{key}': { ttl: '2h' },
      'POST /api/worker/claim': { worker: 'sample', tasks: [{ type: 'none' }] },
      'POST /api/worker/heartbeat': { leases: [lease] },
      'POST /api/worker/report': { reports: [{ ...lease, progress: { percent: 1 } }] },
      'POST /api/worker/settle': { outcomes: [{ ...lease, outcome: 'completed' }] },
    },
    queries: {
      'GET /api/day': 'from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z',
      'GET /api/schedules/{id}/why': 'slot=2026-01-01T00:00:00Z',
    },
  };
}

/** What is missing in the samples for this operation; empty: nothing. */
export function missingSamples(samples: Samples, { name, path, parameters, body }: Operation): string[] {
  const values = samples.names.find(([prefix]) => path.startsWith(prefix));
  const wanted = path.match(/\{/g)?.length ?? 0;
  const needsQuery = parameters.some((one) => one.in === 'query' && one.required === true);
  const missing: string[] = [];
  if (wanted > 0 && (values?.length ?? 0) - 1 !== wanted) missing.push('the values of its path to "names"');
  if (body?.required === true && !(name in samples.bodies)) missing.push('a valid body to "bodies"');
  if (needsQuery && !(name in samples.queries)) missing.push('its required query to "queries"');
  return missing.map((what) => `${name} has no sample: add ${what} in packages/server/test/samples.ts.`);
}

/** The path and query of an operation, filled with its samples. */
export function addressOf(samples: Samples, { name, path }: Operation): string {
  const [, ...values] = samples.names.find(([prefix]) => path.startsWith(prefix)) ?? [];
  const filled = path.replace(/\{[^}]+\}/g, () => encodeURIComponent(values.shift() ?? 'none'));
  const query = samples.queries[name];
  return query === undefined ? filled : `${filled}?${query}`;
}
