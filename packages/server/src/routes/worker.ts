import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { waitMs } from '../request/wait.ts';
import { body, json } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import {
  claimBody,
  claimedSchema,
  heartbeatBody,
  heartbeatsSchema,
  reportBody,
  reportedSchema,
  settleBody,
  settledSchema,
  toClaimedJson,
  toOutcome,
  toReport,
} from '../schemas/worker.ts';
import { refuseBuiltIn } from '../targets/work.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['workers in any language'];
// A worker takes jobs of all tenants, so a tenant's key must not.
const run = secured('run', { tenant: 'refused' });

const claim = createRoute({
  method: 'post',
  path: '/api/worker/claim',
  operationId: 'claimJobs',
  tags,
  summary: 'Take jobs under lease, and wait for some',
  description:
    'A job is given to one worker at a time, with a fence. Renew its lease every `heartbeat_ms`; a lease that is not renewed for `lease_ms` is lost, and the job goes to another worker.',
  ...run,
  request: body(claimBody),
  responses: { 200: json(claimedSchema, 'What was there; no job after the wait.'), ...problems },
});

const heartbeat = createRoute({
  method: 'post',
  path: '/api/worker/heartbeat',
  operationId: 'heartbeat',
  tags,
  summary: 'Renew leases, and receive which jobs are to stop',
  ...run,
  request: body(heartbeatBody),
  responses: { 200: json(heartbeatsSchema, 'The state of each lease, in the same order.'), ...problems },
});

const report = createRoute({
  method: 'post',
  path: '/api/worker/report',
  operationId: 'reportProgress',
  tags,
  summary: 'Show progress and log lines of running jobs',
  ...run,
  request: body(reportBody),
  responses: { 200: json(reportedSchema, 'What became of each, in the same order.'), ...problems },
});

const settle = createRoute({
  method: 'post',
  path: '/api/worker/settle',
  operationId: 'settleJobs',
  tags,
  summary: 'Hand in how jobs ended',
  description: 'Safe to repeat: an outcome that was recorded is `done` again.',
  ...run,
  request: body(settleBody),
  responses: { 200: json(settledSchema, 'What became of each, in the same order.'), ...problems },
});

/** `/api/worker/*`: the lease protocol over HTTP. */
export function workerRoutes({ duly }: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();
  // A lease belongs to its caller: a worker may claim through one server and settle through another.
  const remoteOf = (c: Context<ServerEnv>) => duly.remote.ownedBy(c.get('caller').actor);

  routes.openapi(claim, async (c) => {
    const { worker: id, wait, limit = 1, token, tasks, ...about } = c.req.valid('json');
    for (const { type } of tasks) refuseBuiltIn(type, 'tasks');
    const claimed = await remoteOf(c).claim({
      worker: {
        id,
        tasks: tasks.map(({ type, version = 1 }) => ({ type, version })),
        ...(about.queues === undefined ? {} : { queues: about.queues }),
        ...(about.running === undefined ? {} : { running: about.running }),
        ...(about.concurrency === undefined ? {} : { concurrency: about.concurrency }),
        ...(about.host === undefined ? {} : { host: about.host }),
        ...(about.pid === undefined ? {} : { pid: about.pid }),
      },
      limit,
      wait: waitMs(wait),
      signal: c.req.raw.signal,
      ...(token === undefined ? {} : { token }),
    });
    const { jobs, drain, leaseMs, heartbeatMs } = claimed;
    return c.json(
      { jobs: jobs.map(toClaimedJson), drain, lease_ms: leaseMs, heartbeat_ms: heartbeatMs },
      200,
    );
  });

  routes.openapi(heartbeat, async (c) => {
    const { leases, worker, running } = c.req.valid('json');
    const states = await remoteOf(c).heartbeat(leases, {
      ...(worker === undefined ? {} : { worker }),
      ...(running === undefined ? {} : { running }),
    });
    return c.json({ leases: leases.map(({ id }, i) => ({ id, state: states[i] ?? 'lost' })) }, 200);
  });

  routes.openapi(report, async (c) => {
    const { reports } = c.req.valid('json');
    const results = await remoteOf(c).report(reports.map(toReport));
    return c.json({ reports: reports.map(({ id }, i) => ({ id, result: results[i] ?? 'lost' })) }, 200);
  });

  routes.openapi(settle, async (c) => {
    const { outcomes } = c.req.valid('json');
    const settled = await remoteOf(c).settle(
      outcomes.map((one) => ({ ...toReport(one), outcome: toOutcome(one) })),
    );
    return c.json({ outcomes: settled }, 200);
  });

  return routes;
}
