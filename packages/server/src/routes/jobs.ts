import { DulyError, type Job, type JobChange, parseInstant, type Why } from '@duly/core';
import { toAttemptJson, toSnakeCase } from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { secured } from '../auth/secured.ts';
import { own, readOwn } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { bulkJson } from '../jobs/bulk-json.ts';
import { filterOfBody, filterOfQuery } from '../jobs/job-filter.ts';
import { presentBrief, presentCreated, presentJob, seesStacks } from '../jobs/job-presenter.ts';
import { createJob } from '../jobs/new-job.ts';
import { jobEtag, matchesEtag } from '../live/job-tag.ts';
import { changedJob, readWait, waitQuery } from '../live/long-poll.ts';
import { readPosition } from '../request/position.ts';
import { body, cursor, json, limit, listJson, listOf, name } from '../schemas/answers.ts';
import { createdJobSchema, jobPath, jobSchema, newJobSchema } from '../schemas/job.ts';
import {
  attemptSchema,
  bulkBody,
  bulkResultSchema,
  cancelBody,
  countSchema,
  jobChangeSchema,
  logLineSchema,
  noteBody,
  rescheduleBody,
  whySchema,
} from '../schemas/job-actions.ts';
import { jobListQuery } from '../schemas/job-filter.ts';
import { problems, refusal } from '../schemas/problem.ts';
import { checkRight } from '../targets/work.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['jobs'];

const create = createRoute({
  method: 'post',
  path: '/api/jobs',
  operationId: 'createJob',
  tags,
  summary: 'Create a job',
  ...secured('run'),
  request: body(newJobSchema),
  responses: {
    201: json(createdJobSchema, 'It was created.'),
    200: json(createdJobSchema, 'No new one was created: the job that holds the key.'),
    ...problems,
  },
});

const list = createRoute({
  method: 'get',
  path: '/api/jobs',
  operationId: 'listJobs',
  tags,
  summary: 'List jobs, newest first',
  description:
    'Filters may be joined; `input.<path>=<value>` filters on the input (`input.user.id=42`; `input.user.id="42"` is the text). A page may be short, even empty, while `has_more` is true.',
  ...secured('read'),
  request: { query: jobListQuery },
  responses: {
    200: json(listOf(jobSchema).extend({ total: countSchema.optional() }), 'A page of jobs.'),
    404: refusal(404),
    ...problems,
  },
});

const latest = createRoute({
  method: 'get',
  path: '/api/jobs/latest',
  operationId: 'getLatestJob',
  tags,
  summary: 'The latest job of a type, a tenant, a key',
  description: 'With `status=COMPLETED`: the latest that has a result.',
  ...secured('read'),
  request: {
    query: z.strictObject({
      type: name.optional(),
      tenant: name.optional(),
      key: name.optional(),
      status: z.string().max(200).optional(),
    }),
  },
  responses: { 200: json(jobSchema, 'The job.'), 404: refusal(404), ...problems },
});

const bulk = createRoute({
  method: 'post',
  path: '/api/jobs/bulk',
  operationId: 'changeJobs',
  tags,
  summary: 'Act on all jobs that match',
  ...secured('operate'),
  request: body(bulkBody),
  responses: { 200: json(bulkResultSchema, 'What it came to, or would.'), 404: refusal(404), ...problems },
});

const read = createRoute({
  method: 'get',
  path: '/api/jobs/{id}',
  operationId: 'getJob',
  tags,
  summary: 'Show a job, or wait for it to change',
  ...secured('read'),
  request: { params: jobPath, query: waitQuery },
  responses: {
    200: json(jobSchema, 'The job.'),
    304: { description: 'It is as `If-None-Match` says; with `wait`, and it still is.' },
    ...problems,
  },
});

const cancel = createRoute({
  method: 'post',
  path: '/api/jobs/{id}/cancel',
  operationId: 'cancelJob',
  tags,
  summary: 'Cancel a job; a running one is asked',
  ...secured('run'),
  request: { params: jobPath, ...body(cancelBody, { required: false }) },
  responses: {
    200: json(jobChangeSchema, 'It is cancelled.'),
    202: json(jobChangeSchema, 'It runs, and is asked to stop.'),
    ...problems,
  },
});

const retry = createRoute({
  method: 'post',
  path: '/api/jobs/{id}/retry',
  operationId: 'retryJob',
  tags,
  summary: 'Bring a FAILED, CANCELLED or EXPIRED job back',
  ...secured('operate'),
  request: { params: jobPath, ...body(noteBody, { required: false }) },
  responses: { 200: json(jobChangeSchema, 'It waits for a worker.'), ...problems },
});

const runAgain = createRoute({
  method: 'post',
  path: '/api/jobs/{id}/run-again',
  operationId: 'runJobAgain',
  tags,
  summary: 'Create a new job like this one, due now',
  ...secured('run'),
  request: { params: jobPath },
  responses: { 201: json(createdJobSchema, 'The new job.'), ...problems },
});

const reschedule = createRoute({
  method: 'post',
  path: '/api/jobs/{id}/reschedule',
  operationId: 'rescheduleJob',
  tags,
  summary: 'Move a waiting job to another instant',
  ...secured('operate'),
  request: { params: jobPath, ...body(rescheduleBody) },
  responses: { 200: json(jobChangeSchema, 'It is due then.'), ...problems },
});

const logs = createRoute({
  method: 'get',
  path: '/api/jobs/{id}/logs',
  operationId: 'listJobLogs',
  tags,
  summary: 'The lines that its handler logged, oldest first',
  ...secured('read'),
  request: { params: jobPath, query: z.strictObject({ limit, cursor }) },
  responses: { 200: json(listOf(logLineSchema), 'A page of lines.'), ...problems },
});

const attempts = createRoute({
  method: 'get',
  path: '/api/jobs/{id}/attempts',
  operationId: 'listJobAttempts',
  tags,
  summary: 'Its last attempts, oldest first',
  ...secured('read'),
  request: { params: jobPath },
  responses: { 200: json(listOf(attemptSchema), 'The attempts.'), ...problems },
});

const why = createRoute({
  method: 'get',
  path: '/api/jobs/{id}/why',
  operationId: 'explainJob',
  tags,
  summary: 'What became of it, or what it waits for',
  ...secured('read'),
  request: { params: jobPath },
  responses: { 200: json(whySchema, 'In a sentence, and for programs.'), ...problems },
});

/** `/api/jobs` and what is below it, following a job excepted. */
export function jobRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { duly, options } = context;
  const routes = newRoutes();
  /** The job, if the caller sees it; looked at before anything is done to it. */
  const find = (caller: Caller, id: string): Promise<Job> => readOwn(duly, caller, id);

  routes.openapi(create, async (c) => {
    const handle = await createJob(context, c.get('caller'), c.req.valid('json'), c.get('jobId') ?? null);
    const job = own(c.get('caller'), await handle.created());
    c.header('Location', `${options.basePath}/api/jobs/${job.id}`);
    const created = presentCreated(context, c.get('caller'), job, handle.deduped);
    return c.json(created, handle.deduped ? 200 : 201);
  });

  routes.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const jobs = duly.jobs(await filterOfQuery(context, c.get('caller'), query));
    const [page, total] = await Promise.all([
      jobs.page({ limit: query.limit ?? 100, cursor: query.cursor ?? null }),
      query.count === 'true' ? jobs.count() : undefined,
    ]);
    const present = query.brief === 'true' ? presentBrief : presentJob;
    const data = page.jobs.map((job) => present(context, c.get('caller'), job));
    return c.json({ ...listJson(data, page.nextCursor), ...(total === undefined ? {} : { total }) }, 200);
  });

  routes.openapi(latest, async (c) => {
    const filter = await filterOfQuery(context, c.get('caller'), c.req.valid('query'));
    const job = await duly.jobs(filter).first();
    if (job === null) {
      throw new DulyError('job_not_found', {
        message: 'No job matches.',
        hint: 'Check type, tenant and key.',
      });
    }
    return c.json(presentJob(context, c.get('caller'), job), 200);
  });

  routes.openapi(bulk, async (c) => {
    const given = c.req.valid('json');
    const { action, filter, dry_run: dryRun = false, note, limit: size, cursor: from, expected } = given;
    if (Object.keys(filter).length === 0) {
      throw new DulyError('request_invalid', {
        message: 'Expected "filter" to name at least one field: without any, every job would match.',
        details: { issues: [{ in: 'body', path: 'filter', message: 'is empty' }] },
      });
    }
    const jobs = duly.jobs(await filterOfBody(context, c.get('caller'), filter));
    const how = {
      dryRun,
      ...(note === undefined ? {} : { note }),
      ...(given.as_of === undefined ? {} : { asOf: parseInstant(given.as_of, 'as_of') }),
    };
    if (size === undefined && from === undefined) {
      const result = await jobs[action]({ ...how, ...(expected === undefined ? {} : { expected }) });
      return c.json({ ...bulkJson(result), dry_run: dryRun }, 200);
    }
    if (expected !== undefined) {
      throw new DulyError('request_invalid', {
        message: 'Expected "expected" without "limit" and "cursor": it bounds the whole action.',
        details: { issues: [{ in: 'body', path: 'expected', message: 'is beside limit or cursor' }] },
      });
    }
    const { nextCursor, ...result } = await jobs.actPage(action, {
      ...how,
      ...(size === undefined ? {} : { limit: size }),
      ...(from === undefined ? {} : { cursor: from }),
    });
    return c.json({ ...bulkJson(result), dry_run: dryRun, next_cursor: nextCursor }, 200);
  });

  routes.openapi(read, async (c) => {
    const wait = readWait(c.req.valid('query').wait, c.req.header('prefer'));
    const known = c.req.header('if-none-match');
    const found = await find(c.get('caller'), c.req.valid('param').id);
    const signal = (): AbortSignal => c.req.raw.signal;
    const { actor } = c.get('caller');
    const job = await changedJob(context, { actor, job: found, known, waitMs: wait.ms, signal });
    const etag = jobEtag(job, options.redact);
    c.header('ETag', etag);
    if (wait.preferred) c.header('Preference-Applied', `wait=${wait.ms / 1_000}`);
    if (matchesEtag(known, etag)) return c.body(null, 304);
    return c.json(presentJob(context, c.get('caller'), job), 200);
  });

  routes.openapi(cancel, async (c) => {
    const { id } = await find(c.get('caller'), c.req.valid('param').id);
    const { note, terminate } = c.req.valid('json');
    const change = await duly.cancel(
      { id },
      { ...(note === undefined ? {} : { note }), ...(terminate === undefined ? {} : { terminate }) },
    );
    return c.json(changeJson(change), change.result === 'asked' ? 202 : 200);
  });

  routes.openapi(retry, async (c) => {
    const { id } = await find(c.get('caller'), c.req.valid('param').id);
    return c.json(changeJson(await duly.retry(id, c.req.valid('json').note)), 200);
  });

  routes.openapi(runAgain, async (c) => {
    const { id, type } = await find(c.get('caller'), c.req.valid('param').id);
    checkRight(c.get('caller'), type);
    const handle = await duly.job(id).runAgain();
    c.header('Location', `${options.basePath}/api/jobs/${handle.id}`);
    return c.json({ ...presentJob(context, c.get('caller'), await handle.get()), deduped: false }, 201);
  });

  routes.openapi(reschedule, async (c) => {
    const { id } = await find(c.get('caller'), c.req.valid('param').id);
    const { run_at: at, delay } = c.req.valid('json');
    if ((at === undefined) === (delay === undefined)) {
      throw new DulyError('request_invalid', { message: 'Expected either "run_at" or "delay".' });
    }
    const due = at === undefined ? { in: delay as string | number } : { at: parseInstant(at, 'run_at') };
    return c.json(changeJson(await duly.reschedule({ id }, due)), 200);
  });

  routes.openapi(logs, async (c) => {
    const { id } = await find(c.get('caller'), c.req.valid('param').id);
    const { limit: wanted = 100, cursor: from } = c.req.valid('query');
    const after = from === undefined ? 0 : readPosition(from);
    const lines = await duly.job(id).logs({ after, limit: wanted + 1 });
    const page = lines.slice(0, wanted).map((line) => ({ ...line, at: line.at.toISOString() }));
    return c.json(listJson(page, lines.length > wanted ? String(page.at(-1)?.n) : null), 200);
  });

  routes.openapi(attempts, async (c) => {
    const job = await find(c.get('caller'), c.req.valid('param').id);
    const stack = seesStacks(c.get('caller'));
    return c.json(listJson(job.attemptList.map((one) => toAttemptJson(one, { stack }))), 200);
  });

  routes.openapi(why, async (c) => {
    const { id } = await find(c.get('caller'), c.req.valid('param').id);
    return c.json(whyJson(await duly.why(id), seesStacks(c.get('caller'))), 200);
  });

  return routes;
}

function changeJson({ id, result, status, dueAt }: JobChange) {
  return { id, result, status, due_at: dueAt === null ? null : dueAt.toISOString() };
}

function whyJson(why: Why, stack: boolean): z.infer<typeof whySchema> {
  const shown = toSnakeCase(why) as z.infer<typeof whySchema>;
  return { ...shown, error: stack ? shown.error : withoutStack(shown.error) };
}

type ErrorJson = z.infer<typeof whySchema>['error'];

function withoutStack(error: ErrorJson): ErrorJson {
  if (error === null) return null;
  const { stack: _, cause, ...rest } = error;
  return {
    ...rest,
    ...(cause === undefined ? {} : { cause: withoutStack(cause) as NonNullable<ErrorJson> }),
  };
}
