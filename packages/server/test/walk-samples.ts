/** What the walk over all routes sends: ids of things that belong to tenant "a", and bodies that a route takes. */
import type { Fixture } from './fixture.ts';

/** The samples. */
export interface Samples {
  /** The value of a name in a path, by the beginning of the path. The first that fits is taken. */
  names: readonly [prefix: string, value: string][];
  /** Bodies by method and path; what is not here is sent `{}`. */
  bodies: Readonly<Record<string, unknown>>;
  /** Queries that a route needs, by method and path. */
  queries: Readonly<Record<string, string>>;
}

/** What stands in the input of a job of tenant "a". */
export const onlyForA = 'what only tenant a may see';

/** Makes things of tenant "a" and names them. */
export async function makeSamples({ duly, ask }: Fixture): Promise<Samples> {
  const job = await duly.taskNamed('work').in('1h', onlyForA, { tenant: 'a', dedupe: { key: 'k' } });
  const schedule = await duly.schedules.put({
    task: 'work',
    name: 'nightly',
    cron: '0 0 * * *',
    tenant: 'a',
  });
  const webhook = { url: 'https://example.com/hook' };
  const { json } = await ask('/api/webhooks', { body: { ...webhook, tenant: 'a', note: onlyForA } });
  return {
    names: [
      ['/api/jobs/', job.id],
      ['/api/webhooks/', json.id],
      ['/api/schedules/', schedule.id],
      ['/api/queues/', 'default'],
    ],
    bodies: {
      'POST /api/jobs': { type: 'work', tenant: 'a' },
      'POST /api/jobs/bulk': { action: 'cancel', filter: { type: 'work' } },
      'POST /api/jobs/{id}/reschedule': { delay: '2h' },
      'POST /api/schedules': { type: 'work', name: 'nightly', cron: '0 1 * * *', tenant: 'a' },
      'POST /api/schedules/preview': { cron: '0 0 * * *' },
      'POST /api/schedules/diff': { app: 'x', schedules: [] },
      'POST /api/schedules/apply': { app: 'x', schedules: [] },
      'POST /api/schedules/{id}/backfill': { from: '2026-01-01', to: '2026-01-02' },
      'POST /api/dead/replay': { all: true },
      'POST /api/dead/discard': { all: true },
      'POST /api/keys': { scope: 'read' },
      'POST /api/webhooks': webhook,
      'POST /api/alerts/rules': { kind: 'stuck' },
      'POST /api/alerts/channels': { kind: 'slack', url: webhook.url },
      'POST /api/alerts/windows': { cron: '0 2 * * *', duration: '1h' },
      'POST /api/pauses': { queue: 'walk' },
      'POST /api/pauses/resume': { queue: 'walk' },
    },
    queries: {
      'GET /api/day': 'from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z',
      'GET /api/schedules/{id}/why': 'slot=2026-01-01T00:00:00Z',
    },
  };
}
