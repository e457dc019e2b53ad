import {
  explain,
  isDulyError,
  type LedgerSlot,
  parseInstant,
  preview as previewRule,
  type Rule,
  readMoment,
  resolveRule,
  type Schedule,
  type ScheduleDiff,
} from '@duly/core';
import {
  snakeName,
  toComingSlotJson,
  toDefinitionJson,
  toLedgerJson,
  toScheduleJson,
  toSnakeCase,
} from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { secured } from '../auth/secured.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { presentJob, refuseRedacted, shownInput, shownInside } from '../jobs/job-presenter.ts';
import { redacted } from '../jobs/redact.ts';
import { invalidCursor } from '../request/position.ts';
import { changesOf, declaredTaskOf, definitionOf, inputFor, ruleOf } from '../schedules/definition.ts';
import { findSchedule } from '../schedules/find.ts';
import { body, cursor, json, limit, listJson, listOf, name, note } from '../schemas/answers.ts';
import { noteBody } from '../schemas/job-actions.ts';
import { problems } from '../schemas/problem.ts';
import {
  backfillResultSchema,
  comingSlotSchema,
  declaredSetSchema,
  ledgerSlotSchema,
  newScheduleSchema,
  rulePreviewBody,
  rulePreviewSchema,
  scheduleChangesSchema,
  scheduleDiffSchema,
  scheduleSchema,
  slotWhySchema,
  triggerResultSchema,
} from '../schemas/schedule.ts';
import { checkRight } from '../targets/work.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['schedules'];
const path = z.object({ id: z.string().min(1).max(200).openapi({ description: 'Its id, or its name.' }) });
const moment = z.string().max(100);
const withDefinition = z
  .enum(['true', 'false'])
  .optional()
  .openapi({ description: 'Whether `definition` is returned too: the body that creates the same schedule.' });
const one = { 200: json(scheduleSchema, 'The schedule.'), ...problems };

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

const previewUnkept = createRoute({
  method: 'post',
  path: '/api/schedules/preview',
  operationId: 'previewRule',
  tags,
  summary: 'A rule in words and its next slots, before it is stored',
  ...secured('read'),
  request: body(rulePreviewBody),
  responses: { 200: json(rulePreviewSchema, 'The rule.'), ...problems },
});

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

const read = createRoute({
  method: 'get',
  path: '/api/schedules/{id}',
  operationId: 'getSchedule',
  tags,
  summary: 'Show a schedule',
  ...secured('read'),
  request: {
    params: path,
    query: z.strictObject({ deleted: z.enum(['true', 'false']).optional(), definition: withDefinition }),
  },
  responses: one,
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
  request: { params: path, ...body(scheduleChangesSchema) },
  responses: one,
});

const remove = createRoute({
  method: 'delete',
  path: '/api/schedules/{id}',
  operationId: 'deleteSchedule',
  tags,
  summary: 'Delete it: unstarted jobs are cancelled, running ones finish, the ledger stays',
  ...secured('operate'),
  request: { params: path, query: z.strictObject({ note: note.optional() }) },
  responses: { 204: { description: 'It is gone.' }, ...problems },
});

const pause = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/pause',
  operationId: 'pauseSchedule',
  tags,
  summary: 'Stop decisions; jobs already created go on',
  ...secured('operate'),
  request: {
    params: path,
    ...body(
      z.strictObject({
        note: note.optional(),
        until: z.string().max(100).optional().openapi({
          description:
            "When it ends by itself: an instant, a wall time or date in the schedule's zone, or after so long (`2h`).",
        }),
      }),
      { required: false },
    ),
  },
  responses: one,
});

const resume = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/resume',
  operationId: 'resumeSchedule',
  tags,
  summary: 'Go on, and decide what fell in the pause',
  ...secured('operate'),
  request: { params: path, ...body(noteBody, { required: false }) },
  responses: one,
});

const revert = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/revert',
  operationId: 'revertSchedule',
  tags,
  summary: 'Take an override back: what the code declares rules again',
  ...secured('operate'),
  request: { params: path, ...body(noteBody, { required: false }) },
  responses: one,
});

const trigger = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/trigger',
  operationId: 'triggerSchedule',
  tags,
  summary: 'One run now; also while paused',
  ...secured('run'),
  request: {
    params: path,
    ...body(
      z.strictObject({ allow: z.boolean().optional(), input: z.unknown().optional(), note: note.optional() }),
      { required: false },
    ),
  },
  responses: {
    201: json(triggerResultSchema, 'A job was created.'),
    200: json(
      triggerResultSchema,
      'No job was created: it was merged into one that waits, or skipped by the overlap policy.',
    ),
    ...problems,
  },
});

const skipNext = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/skip-next',
  operationId: 'skipNextSlot',
  tags,
  summary: 'Name the next slot to be skipped',
  ...secured('operate'),
  request: { params: path, ...body(noteBody, { required: false }) },
  responses: {
    200: json(
      z.strictObject({ slot: z.string().nullable(), schedule: scheduleSchema }),
      'The slot; null: there is none to skip.',
    ),
    ...problems,
  },
});

const backfill = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/backfill',
  operationId: 'backfillSchedule',
  tags,
  summary: 'Create runs for slots of the past that have no COMPLETED one',
  ...secured('operate'),
  request: {
    params: path,
    ...body(
      z.strictObject({
        from: moment,
        to: moment.optional(),
        order: z.enum(['oldest', 'newest']).optional(),
        concurrency: z.int().optional(),
        reprocess: z.boolean().optional(),
        allow: z.boolean().optional(),
        dry_run: z.boolean().optional(),
        note: note.optional(),
      }),
    ),
  },
  responses: { 200: json(backfillResultSchema, 'What it created, or would.'), ...problems },
});

const preview = createRoute({
  method: 'get',
  path: '/api/schedules/{id}/preview',
  operationId: 'previewSchedule',
  tags,
  summary: 'The next slots that should fire',
  ...secured('read'),
  request: {
    params: path,
    query: z.strictObject({
      after: moment.optional(),
      count: z.coerce.number().int().min(1).max(10_000).optional().openapi({ type: 'integer' }),
    }),
  },
  responses: { 200: json(listOf(comingSlotSchema), 'The slots.'), ...problems },
});

const slots = createRoute({
  method: 'get',
  path: '/api/schedules/{id}/slots',
  operationId: 'listSlots',
  tags,
  summary: 'The ledger by range, newest first; it remains when the schedule is deleted',
  ...secured('read'),
  request: {
    params: path,
    query: z.strictObject({ from: moment.optional(), to: moment.optional(), limit, cursor }),
  },
  responses: { 200: json(listOf(ledgerSlotSchema), 'Lines of the ledger.'), ...problems },
});

const why = createRoute({
  method: 'get',
  path: '/api/schedules/{id}/why',
  operationId: 'explainSlot',
  tags,
  summary: 'What became of a slot and why, or what is to become of it',
  ...secured('read'),
  request: { params: path, query: z.strictObject({ slot: moment }) },
  responses: { 200: json(slotWhySchema, 'In a sentence, and for programs.'), ...problems },
});

/** `/api/schedules` and what is below it. */
export function scheduleRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { duly, options } = context;
  const { schedules } = duly;
  const routes = newRoutes();
  const present = (schedule: Schedule): z.infer<typeof scheduleSchema> => {
    const shown = toScheduleJson(schedule);
    const { input, metadata } = options.redact;
    return {
      ...shown,
      input: shownInput(schedule.type, shown.input, input),
      metadata: redacted(shown.metadata, metadata) as typeof shown.metadata,
      // What differs from what the code declares may be the input.
      drift: shownInside(shown.drift, options.redact),
    };
  };
  const presentWhole = (schedule: Schedule): z.infer<typeof scheduleSchema> => {
    const shown = present(schedule);
    const definition = toDefinitionJson(schedule.definition);
    // What is redacted in one place is so in the other.
    for (const field of ['input', 'metadata'] as const)
      if (Object.hasOwn(definition, field)) definition[field] = shown[field];
    return { ...shown, definition };
  };

  /** The schedule, if the caller may create jobs of it and choose what they get. */
  const findToRun = async (caller: Caller, id: string): Promise<Schedule> => {
    const schedule = await findSchedule(context, caller, id);
    checkRight(caller, schedule.type);
    return schedule;
  };

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

  routes.openapi(previewUnkept, (c) => {
    const { after, count = 10, ...rest } = c.req.valid('json');
    const now = context.clock.now();
    const rule = resolveRule(ruleOf(rest), { now });
    const from = after === undefined ? now : readMoment(after, 'after', rule.timezone);
    const found = previewRule(rule, { after: from, count });
    return c.json(
      {
        kind: rule.kind,
        words: explain(rule, { now }),
        timezone: rule.timezone,
        slots: found.map((slot) => toComingSlotJson(slot, rule)),
      },
      200,
    );
  });

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

  routes.openapi(read, async (c) => {
    const query = c.req.valid('query');
    const deleted = query.deleted === 'true';
    const found = await findSchedule(context, c.var.caller, c.req.valid('param').id, { deleted });
    return c.json(query.definition === 'true' ? presentWhole(found) : present(found), 200);
  });

  routes.openapi(edit, async (c) => {
    const schedule = await findToRun(c.var.caller, c.req.valid('param').id);
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

  routes.openapi(pause, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id);
    return c.json(present(await schedules.pause({ id }, given(c.req.valid('json')))), 200);
  });

  routes.openapi(resume, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id);
    return c.json(present(await schedules.resume({ id }, given(c.req.valid('json')))), 200);
  });

  routes.openapi(revert, async (c) => {
    const { id } = await findToRun(c.var.caller, c.req.valid('param').id);
    return c.json(present(await schedules.revert({ id }, given(c.req.valid('json')))), 200);
  });

  routes.openapi(trigger, async (c) => {
    const schedule = await findToRun(c.var.caller, c.req.valid('param').id);
    const asked = given(c.req.valid('json'));
    if ('input' in asked) {
      asked.input = inputFor(schedule, asked.input);
      refuseRedacted(schedule.type, asked.input, options.redact.input);
    }
    const { result, job, reason } = await schedules.trigger({ id: schedule.id }, asked);
    const shown = job === null ? null : presentJob(context, c.var.caller, await job.get());
    if (shown !== null) c.header('Location', `${options.basePath}/api/jobs/${shown.id}`);
    return c.json({ result, job: shown, reason }, result === 'created' ? 201 : 200);
  });

  routes.openapi(skipNext, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id);
    const { slot, schedule } = await schedules.skipNext({ id }, given(c.req.valid('json')));
    return c.json({ slot: slot === null ? null : slot.toISOString(), schedule: present(schedule) }, 200);
  });

  routes.openapi(backfill, async (c) => {
    const { id } = await findToRun(c.var.caller, c.req.valid('param').id);
    const { dry_run: dryRun, from, ...rest } = c.req.valid('json');
    const result = await schedules.backfill(
      { id },
      { from, ...given(rest), ...(dryRun === undefined ? {} : { dryRun }) },
    );
    return c.json(
      {
        slots: result.slots.map((slot) => slot.toISOString()),
        jobs: result.jobs,
        completed_count: result.completedCount,
        compacted_count: result.compactedCount,
        unfinished_count: result.unfinishedCount,
        dry_run: result.dryRun,
      },
      200,
    );
  });

  routes.openapi(preview, async (c) => {
    const schedule = await findSchedule(context, c.var.caller, c.req.valid('param').id);
    const found = await schedules.preview({ id: schedule.id }, given(c.req.valid('query')));
    const rule = readableRule(schedule);
    return c.json(listJson(found.map((slot) => toComingSlotJson(slot, rule))), 200);
  });

  routes.openapi(slots, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id, { deleted: true });
    const { cursor: before, limit: size = 100, from, to } = c.req.valid('query');
    const lines = await schedules.slots(
      { id },
      {
        ...given({ from, to }),
        ...(before === undefined ? {} : { to: readSlotCursor(before) }),
        limit: size,
      },
    );
    return c.json(listJson(lines.map(toLedgerJson), cursorOf(lines, size)), 200);
  });

  routes.openapi(why, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id, { deleted: true });
    const answer = await schedules.why({ id }, c.req.valid('query').slot);
    return c.json(toSnakeCase(answer) as z.infer<typeof slotWhySchema>, 200);
  });

  return routes;
}

function readSlotCursor(cursor: string): number {
  try {
    return parseInstant(cursor, 'cursor');
  } catch {
    throw invalidCursor(cursor);
  }
}

/** Older lines begin before the oldest slot of this page. */
function cursorOf(lines: readonly LedgerSlot[], size: number): string | null {
  const last = lines.at(-1);
  return last === undefined || lines.length < size ? null : last.slot.toISOString();
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

function diffJson(diff: ScheduleDiff): z.infer<typeof scheduleDiffSchema> {
  // The values are what users wrote; only the names of fields are ours.
  return { ...diff, fields: diff.fields.map((field) => ({ ...field, field: snakeName(field.field) })) };
}

/** The rule, to read the clock of its zone; of one that cannot be read here only the zone is known. */
function readableRule({ rule, createdAt, timezone, unreadable }: Schedule): Rule {
  if (unreadable !== null) return resolveRule({ rate: '1 day', timezone });
  return resolveRule(rule, { anchorAt: createdAt.getTime() });
}

/** Without the fields that were left out: the library takes a field that is there for one that was meant. */
function given<Value extends object>(
  value: Value,
): { [Field in keyof Value]?: Exclude<Value[Field], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as never;
}
