import {
  type ActionOptions,
  type ActionResult,
  DulyError,
  type Job,
  type JobPage,
  parseInstant,
} from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Caller } from '../auth/caller.ts';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { bulkJson } from '../jobs/bulk-json.ts';
import { type ErrorCause, groupByCause, isCausedBy } from '../jobs/error-groups.ts';
import { filterOfBody, filterOfQuery } from '../jobs/job-filter.ts';
import { presentBrief, presentJob } from '../jobs/job-presenter.ts';
import { body, instant, json, limit, listJson, listOf, note } from '../schemas/answers.ts';
import { jobSchema } from '../schemas/job.ts';
import { bulkResultSchema, countSchema, guardFields } from '../schemas/job-actions.ts';
import { idsMax, jobFilterSchema, jobListQuery } from '../schemas/job-filter.ts';
import { problems, refusal } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['dead letters'];
/** Of each group so many are shown. */
const shownCount = 3;
/** Some hundred milliseconds; who has more learns what to do from these. */
const lookedAtMax = 5_000;
const pageSize = 1_000;
const exampleLength = 1_000;
/** So many are acted on at once. */
const actedOnMax = 500;

const list = createRoute({
  method: 'get',
  path: '/api/dead',
  operationId: 'listDead',
  tags,
  summary: 'List dead letters: FAILED jobs that wait for a person, newest first',
  ...secured('read'),
  request: { query: jobListQuery },
  responses: {
    200: json(listOf(jobSchema).extend({ total: countSchema.optional() }), 'A page of dead letters.'),
    404: refusal(404),
    ...problems,
  },
});

const causeFields = {
  type: z.string().max(200),
  name: z.string().max(1_000).openapi({ description: 'The name of the error.' }),
  pattern: z
    .string()
    .max(1_000)
    .openapi({ description: 'Its message, without what differs from one job to the next.' }),
};

const groupSchema = z
  .strictObject({
    ...causeFields,
    example: z.string().openapi({ description: 'The message of the newest, its first 1,000 characters.' }),
    count: z.int(),
    first_at: instant.nullable(),
    last_at: instant.nullable(),
    jobs: z.array(jobSchema).openapi({
      description: `The newest, at most ${shownCount}, as \`brief=true\` of \`GET /api/jobs\` shows them.`,
    }),
  })
  .openapi('DeadGroup');

const groups = createRoute({
  method: 'get',
  path: '/api/dead/groups',
  operationId: 'listDeadGroups',
  tags,
  summary: 'Dead letters by what they failed of, the largest group first',
  ...secured('read'),
  request: { query: z.strictObject({ limit }) },
  responses: {
    200: json(
      z
        .strictObject({
          data: z.array(groupSchema),
          group_count: z
            .int()
            .openapi({ description: 'How many groups there are; `limit` says how many are shown.' }),
          looked_at: countSchema.openapi({
            description: 'How many dead letters were looked at, the newest first; `capped`: there are more.',
          }),
        })
        .openapi('DeadGroups'),
      'The groups.',
    ),
    404: refusal(404),
    ...problems,
  },
});

const actBody = z
  .strictObject({
    filter: jobFilterSchema.optional(),
    group: z.strictObject(causeFields).optional().openapi({
      description: 'All of this group, instead of a filter: also those that were not looked at.',
    }),
    all: z.literal(true).optional().openapi({ description: 'All of them, instead of a filter.' }),
    dry_run: z.boolean().optional(),
    ...guardFields,
    note: note.optional(),
  })
  .openapi('DeadAction');

const act = (verb: 'retry' | 'discard', summary: string) =>
  createRoute({
    method: 'post',
    path: `/api/dead/${verb}`,
    operationId: `${verb}Dead`,
    tags,
    summary,
    ...secured('operate'),
    request: body(actBody),
    responses: { 200: json(bulkResultSchema, 'What it came to, or would.'), 404: refusal(404), ...problems },
  });

const retry = act('retry', 'Bring dead letters back');
const discard = act('discard', 'Take dead letters off the list; they stay in history for their retention');

/** `/api/dead`. */
export function deadRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { duly } = context;
  const routes = newRoutes();

  routes.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const { dead: _, ...filter } = await filterOfQuery(context, c.var.caller, query);
    const jobs = duly.dead.list(filter);
    const [page, total] = await Promise.all([
      jobs.page({ limit: query.limit ?? 100, cursor: query.cursor ?? null }),
      query.count === 'true' ? jobs.count() : undefined,
    ]);
    const present = query.brief === 'true' ? presentBrief : presentJob;
    const data = page.jobs.map((job) => present(context, c.var.caller, job));
    return c.json({ ...listJson(data, page.nextCursor), ...(total === undefined ? {} : { total }) }, 200);
  });

  routes.openapi(groups, async (c) => {
    const { caller } = c.var;
    const letters = duly.dead.list(await filterOfBody(context, caller, {}));
    const found: Job[] = [];
    let cursor: string | null = null;
    do {
      const page: JobPage = await letters.page({
        limit: Math.min(pageSize, lookedAtMax - found.length),
        cursor,
      });
      found.push(...page.jobs);
      cursor = page.nextCursor;
    } while (cursor !== null && found.length < lookedAtMax);
    const all = groupByCause(found);
    const data = all.slice(0, c.req.valid('query').limit ?? 100).map(({ jobs, example, ...cause }) => ({
      ...cause,
      example: example.slice(0, exampleLength),
      count: jobs.length,
      first_at: jobs.at(-1)?.finishedAt?.toISOString() ?? null,
      last_at: jobs[0]?.finishedAt?.toISOString() ?? null,
      jobs: jobs.slice(0, shownCount).map((job) => presentBrief(context, caller, job)),
    }));
    return c.json(
      { data, group_count: all.length, looked_at: { count: found.length, capped: cursor !== null } },
      200,
    );
  });

  /** Acts on everything of a group, however much there is. */
  async function doToGroup(
    caller: Caller,
    verb: 'retry' | 'discard',
    group: ErrorCause,
    { expected, ...options }: ActionOptions,
  ): Promise<ActionResult> {
    const whose = await filterOfBody(context, caller, {});
    const ids: string[] = [];
    for await (const job of duly.dead.list({ ...whose, type: group.type })) {
      if (isCausedBy(job, group)) ids.push(job.id);
    }
    const act = async (how: ActionOptions): Promise<ActionResult> => {
      const result: ActionResult = { changed: 0, refused: 0 };
      const found: string[] = [];
      let asOf = how.asOf;
      for (let at = 0; at === 0 || at < ids.length; at += actedOnMax) {
        const part = await duly.dead.list({ ...whose, ids: ids.slice(at, at + actedOnMax) })[verb]({
          ...how,
          ...(asOf === undefined ? {} : { asOf }),
        });
        result.changed += part.changed;
        result.refused += part.refused;
        found.push(...(part.ids ?? []));
        asOf ??= part.asOf;
        if (how.dryRun) Object.assign(result, { ids: found.slice(0, idsMax), asOf: part.asOf });
      }
      return result;
    };
    if (expected === undefined || options.dryRun) return act(options);
    const { changed, asOf } = await act({ ...options, dryRun: true });
    if (changed > expected) {
      throw new DulyError('too_many_match', {
        message: `Expected at most ${expected} dead letters in this group, but it has ${changed}. Nothing was changed.`,
        hint: 'Count again with a dry run, then repeat the action with the new number.',
        details: { expected, found: changed },
      });
    }
    return act({ ...options, ...(asOf === undefined ? {} : { asOf }) });
  }

  async function doTo(c: Context<ServerEnv>, verb: 'retry' | 'discard', given: z.infer<typeof actBody>) {
    const { filter = {}, group, all, dry_run: dryRun = false, note: why, as_of: asOf, expected } = given;
    const options: ActionOptions = {
      dryRun,
      ...(why === undefined ? {} : { note: why }),
      ...(asOf === undefined ? {} : { asOf: parseInstant(asOf, 'as_of') }),
      ...(expected === undefined ? {} : { expected }),
    };
    if (group !== undefined && all === undefined && Object.keys(filter).length === 0) {
      return { ...bulkJson(await doToGroup(c.var.caller, verb, group, options)), dry_run: dryRun };
    }
    if (group !== undefined || (Object.keys(filter).length === 0) === (all === undefined)) {
      throw new DulyError('request_invalid', {
        message: 'Expected one of "filter" with at least one field, "group", and "all": true.',
        details: { issues: [{ in: 'body', path: 'filter', message: 'is empty, or stands beside another' }] },
      });
    }
    const { dead: _, ...which } = await filterOfBody(context, c.var.caller, filter);
    const result = await duly.dead.list(which)[verb](options);
    return { ...bulkJson(result), dry_run: dryRun };
  }

  routes.openapi(retry, async (c) => c.json(await doTo(c, 'retry', c.req.valid('json')), 200));
  routes.openapi(discard, async (c) => c.json(await doTo(c, 'discard', c.req.valid('json')), 200));
  return routes;
}
