// What an app declares, compared with the store and applied.

import { createRoute, type OpenAPIHono, type z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { shownInside } from '../jobs/job-presenter.ts';
import { declaredTaskOf, definitionOf } from '../schedules/definition.ts';
import { diffJson } from '../schedules/schedule-presenter.ts';
import { body, json, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { declaredSetSchema, scheduleDiffSchema } from '../schemas/schedule.ts';

const tags = ['schedules'];

const diff = createRoute({
  method: 'post',
  path: '/api/schedules/diff',
  operationId: 'diffSchedules',
  tags,
  summary: 'What applying a declared set would do',
  ...secured('operate', { tenant: 'refused', changes: false }),
  request: body(declaredSetSchema),
  responses: { 200: json(listOf(scheduleDiffSchema), 'The plan.'), ...problems },
});

const apply = createRoute({
  method: 'post',
  path: '/api/schedules/apply',
  operationId: 'applySchedules',
  tags,
  summary: 'Apply the schedules that an app declares',
  ...secured('operate', { tenant: 'refused' }),
  request: body(declaredSetSchema),
  responses: { 200: json(listOf(scheduleDiffSchema), 'What was done.'), ...problems },
});

/** Adds the comparison and the application of a declared set. */
export function addDeclaredSchedules(routes: OpenAPIHono<ServerEnv>, context: ServerContext): void {
  const { duly, options } = context;
  const { schedules } = duly;

  routes.openapi(diff, async (c) => {
    const { set, options: how } = declaredOf(context, c.var.caller, c.req.valid('json'));
    return c.json(listJson(shownInside((await schedules.diff(set, how)).map(diffJson), options.redact)), 200);
  });

  routes.openapi(apply, async (c) => {
    const { set, options: how } = declaredOf(context, c.var.caller, c.req.valid('json'));
    return c.json(
      listJson(shownInside((await schedules.apply(set, how)).map(diffJson), options.redact)),
      200,
    );
  });
}

function declaredOf(
  context: ServerContext,
  caller: Parameters<typeof definitionOf>[1],
  { app, release, prune, tasks, schedules }: z.infer<typeof declaredSetSchema>,
) {
  return {
    set: schedules.map((schedule) => definitionOf(context, caller, schedule)),
    options: {
      app,
      ...(tasks === undefined ? {} : { tasks: tasks.map(declaredTaskOf) }),
      ...(release === undefined ? {} : { release }),
      ...(prune === undefined ? {} : { prune }),
    },
  };
}
