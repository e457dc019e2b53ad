// The slots of a schedule: those to come, its ledger, and why a slot is what it is.

import {
  explain,
  type LedgerSlot,
  parseInstant,
  preview as previewRule,
  type Rule,
  readMoment,
  resolveRule,
  type Schedule,
} from '@duly/core';
import { toComingSlotJson, toLedgerJson, toSnakeCase } from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { invalidCursor } from '../request/position.ts';
import { ruleOf } from '../schedules/definition.ts';
import { findSchedule } from '../schedules/find.ts';
import { body, cursor, json, limit, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import {
  comingSlotSchema,
  ledgerSlotSchema,
  rulePreviewBody,
  rulePreviewSchema,
  slotWhySchema,
} from '../schemas/schedule.ts';
import { given, moment, schedulePath } from './schedule-requests.ts';

const tags = ['schedules'];

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

const preview = createRoute({
  method: 'get',
  path: '/api/schedules/{id}/preview',
  operationId: 'previewSchedule',
  tags,
  summary: 'The next slots that should fire',
  ...secured('read'),
  request: {
    params: schedulePath,
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
    params: schedulePath,
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
  request: { params: schedulePath, query: z.strictObject({ slot: moment }) },
  responses: { 200: json(slotWhySchema, 'In a sentence, and for programs.'), ...problems },
});

/** Adds the preview of a rule that is not stored. */
export function addRulePreview(routes: OpenAPIHono<ServerEnv>, context: ServerContext): void {
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
}

/** Adds the slots of one schedule: those to come, its ledger, and why a slot is what it is. */
export function addScheduleSlots(routes: OpenAPIHono<ServerEnv>, context: ServerContext): void {
  const { schedules } = context.duly;

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

/** The rule, to read the clock of its zone; of one that cannot be read here only the zone is known. */
function readableRule({ rule, createdAt, timezone, unreadable }: Schedule): Rule {
  if (unreadable !== null) return resolveRule({ rate: '1 day', timezone });
  return resolveRule(rule, { anchorAt: createdAt.getTime() });
}
