import { isDulyError } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { changesOf, definitionOf } from '../schedules/definition.ts';
import { findSchedule } from '../schedules/find.ts';
import { createSchedulePresenter } from '../schedules/schedule-presenter.ts';
import { body, cursor, json, limit, listJson, listOf, name, note } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newScheduleSchema, scheduleChangesSchema, scheduleSchema } from '../schemas/schedule.ts';
import { newRoutes } from './new-routes.ts';
import { addScheduleActions } from './schedule-actions.ts';
import { addDeclaredSchedules } from './schedule-declared.ts';
import { findToRun, oneSchedule, schedulePath } from './schedule-requests.ts';
import { addRulePreview, addScheduleSlots } from './schedule-slots.ts';

const tags = ['schedules'];
const withDefinition = z
  .enum(['true', 'false'])
  .optional()
  .openapi({ description: 'Whether `definition` is returned too: the body that creates the same schedule.' });

const list = createRoute({
  method: 'get',
  path: '/api/schedules',
  operationId: 'listSchedules',
  tags,
  summary: 'List schedules by name, or by when they are due',
  ...secured('read'),
  request: {
    query: z.strictObject({
      name: name.optional(),
      type: name.optional(),
      tenant: name.optional(),
      app: name.optional(),
      status: z.enum(['active', 'paused', 'disabled', 'ended']).optional(),
      search: name.optional().openapi({
        description: 'A part of the name, the type, the tenant or the rule in words, in capitals or not.',
      }),
      order: z.enum(['name', 'due']).optional().openapi({
        description:
          '`due`: what is due next first, without what is due at no time; one page, and not with `type`, `status`, `search` or `cursor`. Default `name`.',
      }),
      definition: withDefinition,
      limit,
      cursor,
    }),
  },
  responses: { 200: json(listOf(scheduleSchema), 'A page of schedules.'), ...problems },
});

const put = createRoute({
  method: 'post',
  path: '/api/schedules',
  operationId: 'putSchedule',
  tags,
  summary: 'Create a schedule, or edit the one with this name',
  ...secured('operate'),
  request: body(newScheduleSchema),
  responses: {
    201: json(scheduleSchema, 'It was created.'),
    200: json(scheduleSchema, 'There was one of this name; it is so now.'),
    ...problems,
  },
});

const read = createRoute({
  method: 'get',
  path: '/api/schedules/{id}',
  operationId: 'getSchedule',
  tags,
  summary: 'Show a schedule',
  ...secured('read'),
  request: {
    params: schedulePath,
    query: z.strictObject({ deleted: z.enum(['true', 'false']).optional(), definition: withDefinition }),
  },
  responses: oneSchedule,
});

const edit = createRoute({
  method: 'patch',
  path: '/api/schedules/{id}',
  operationId: 'updateSchedule',
  tags,
  summary: 'Change some fields; null takes one back to its default',
  description:
    'The next slot changes at once. On a schedule that code declares it is an override: it survives deploys and shows as drift until it is reverted.',
  ...secured('operate'),
  request: { params: schedulePath, ...body(scheduleChangesSchema) },
  responses: oneSchedule,
});

const remove = createRoute({
  method: 'delete',
  path: '/api/schedules/{id}',
  operationId: 'deleteSchedule',
  tags,
  summary: 'Delete it: unstarted jobs are cancelled, running ones finish, the ledger stays',
  ...secured('operate'),
  request: { params: schedulePath, query: z.strictObject({ note: note.optional() }) },
  responses: { 204: { description: 'It is gone.' }, ...problems },
});

/** `/api/schedules` and what is below it. */
export function scheduleRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { duly, options } = context;
  const { schedules } = duly;
  const routes = newRoutes();
  const { present, presentWhole } = createSchedulePresenter(context);

  routes.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const { name: wanted, type, tenant, app, status, search, order, limit: size, cursor: from } = query;
    const whose = c.var.caller.tenant === null ? tenant : tenantFor(c.var.caller, tenant);
    const page = await schedules.list({
      ...(wanted === undefined ? {} : { name: wanted }),
      ...(type === undefined ? {} : { type }),
      ...(whose === undefined ? {} : { tenant: whose }),
      ...(app === undefined ? {} : { app }),
      ...(status === undefined ? {} : { status }),
      ...(search === undefined ? {} : { search }),
      ...(order === undefined ? {} : { order }),
      ...(size === undefined ? {} : { limit: size }),
      ...(from === undefined ? {} : { cursor: from }),
    });
    const shown = page.schedules.map(query.definition === 'true' ? presentWhole : present);
    return c.json(listJson(shown, page.nextCursor), 200);
  });

  routes.openapi(put, async (c) => {
    const definition = definitionOf(context, c.var.caller, c.req.valid('json'));
    const identity = {
      name: definition.name ?? definition.type,
      tenant: definition.tenant ?? null,
      app: null,
    };
    const before = await schedules.get(identity).catch((error: unknown) => {
      if (isDulyError(error, 'schedule_not_found')) return null;
      throw error;
    });
    const schedule = await schedules.put(definition);
    c.header('Location', `${options.basePath}/api/schedules/${schedule.id}`);
    return c.json(present(schedule), before === null ? 201 : 200);
  });

  addRulePreview(routes, context);
  addDeclaredSchedules(routes, context);

  routes.openapi(read, async (c) => {
    const query = c.req.valid('query');
    const deleted = query.deleted === 'true';
    const found = await findSchedule(context, c.var.caller, c.req.valid('param').id, { deleted });
    return c.json(query.definition === 'true' ? presentWhole(found) : present(found), 200);
  });

  routes.openapi(edit, async (c) => {
    const schedule = await findToRun(context, c.var.caller, c.req.valid('param').id);
    const { id } = schedule;
    const { edit_note: editNote, ...given } = c.req.valid('json');
    const changes = changesOf(context, c.var.caller, schedule, given);
    const how = editNote === undefined ? {} : { note: editNote as string };
    return c.json(present(await schedules.edit({ id }, changes, how)), 200);
  });

  routes.openapi(remove, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id);
    const { note: why } = c.req.valid('query');
    await schedules.delete({ id }, why === undefined ? {} : { note: why });
    return c.body(null, 204);
  });

  addScheduleActions(routes, context);
  addScheduleSlots(routes, context);
  return routes;
}
