import { DulyError, parseDuration, parseInstant, resolveRule } from '@duly/core';
import { createRoute, type OpenAPIHono, type z } from '@hono/zod-openapi';
import type { AlertRule } from '../alerts/alert-rule.ts';
import type { AlertTable } from '../alerts/alert-store.ts';
import { noMailer } from '../alerts/alert-task.ts';
import type { AlertChannel, AlertChannelValue } from '../alerts/channel.ts';
import { isMuted, type MaintenanceWindow } from '../alerts/maintenance.ts';
import { changedRule, readRule, toRuleJson } from '../alerts/rule-json.ts';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { checkTargetUrl } from '../outgoing/target-url.ts';
import {
  alertChannelSchema,
  alertPath,
  alertRuleChangeSchema,
  alertRuleSchema,
  alertSchema,
  alertWindowSchema,
  newAlertChannelSchema,
  newAlertRuleSchema,
  newAlertWindowSchema,
} from '../schemas/alert.ts';
import { body, json, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['alerts'];
// Alerts are about the whole store.
const looks = secured('read', { tenant: 'refused' });
const decides = secured('admin', { tenant: 'refused' });
const nothing = { 204: { description: 'It is done.' } };

const list = createRoute({
  method: 'get',
  path: '/api/alerts',
  operationId: 'listAlerts',
  tags,
  summary: 'What fires now',
  ...looks,
  responses: { 200: json(listOf(alertSchema), 'What fires now.'), ...problems },
});
const listRules = createRoute({
  method: 'get',
  path: '/api/alerts/rules',
  operationId: 'listAlertRules',
  tags,
  summary: 'List alert rules',
  ...looks,
  responses: { 200: json(listOf(alertRuleSchema), 'All of them.'), ...problems },
});
const createRule = createRoute({
  method: 'post',
  path: '/api/alerts/rules',
  operationId: 'createAlertRule',
  tags,
  summary: 'Create an alert rule',
  ...decides,
  request: body(newAlertRuleSchema),
  responses: { 201: json(alertRuleSchema, 'It was created.'), ...problems },
});
const changeRule = createRoute({
  method: 'patch',
  path: '/api/alerts/rules/{id}',
  operationId: 'updateAlertRule',
  tags,
  summary: 'Change an alert rule',
  ...decides,
  request: { params: alertPath, ...body(alertRuleChangeSchema) },
  responses: { 200: json(alertRuleSchema, 'As it is now.'), ...problems },
});
const deleteRule = createRoute({
  method: 'delete',
  path: '/api/alerts/rules/{id}',
  operationId: 'deleteAlertRule',
  tags,
  summary: 'Delete an alert rule',
  ...decides,
  request: { params: alertPath },
  responses: { ...nothing, ...problems },
});
const listChannels = createRoute({
  method: 'get',
  path: '/api/alerts/channels',
  operationId: 'listAlertChannels',
  tags,
  summary: 'List where alerts are sent',
  ...decides,
  responses: { 200: json(listOf(alertChannelSchema), 'All of them.'), ...problems },
});
const createChannel = createRoute({
  method: 'post',
  path: '/api/alerts/channels',
  operationId: 'createAlertChannel',
  tags,
  summary: 'Add a channel that alerts are sent to',
  ...decides,
  request: body(newAlertChannelSchema),
  responses: { 201: json(alertChannelSchema, 'It was created.'), ...problems },
});
const testChannel = createRoute({
  method: 'post',
  path: '/api/alerts/channels/{id}/test',
  operationId: 'testAlertChannel',
  tags,
  summary: 'Send a test through a channel',
  ...decides,
  request: { params: alertPath },
  responses: { ...nothing, ...problems },
});
const deleteChannel = createRoute({
  method: 'delete',
  path: '/api/alerts/channels/{id}',
  operationId: 'deleteAlertChannel',
  tags,
  summary: 'Delete a channel',
  ...decides,
  request: { params: alertPath },
  responses: { ...nothing, ...problems },
});
const listWindows = createRoute({
  method: 'get',
  path: '/api/alerts/windows',
  operationId: 'listMaintenanceWindows',
  tags,
  summary: 'List maintenance windows, in which no alert is sent',
  ...looks,
  responses: { 200: json(listOf(alertWindowSchema), 'All of them.'), ...problems },
});
const createWindow = createRoute({
  method: 'post',
  path: '/api/alerts/windows',
  operationId: 'createMaintenanceWindow',
  tags,
  summary: 'Create a maintenance window: once, or by the calendar',
  ...decides,
  request: body(newAlertWindowSchema),
  responses: { 201: json(alertWindowSchema, 'It was created.'), ...problems },
});
const deleteWindow = createRoute({
  method: 'delete',
  path: '/api/alerts/windows/{id}',
  operationId: 'deleteMaintenanceWindow',
  tags,
  summary: 'Delete a maintenance window',
  ...decides,
  request: { params: alertPath },
  responses: { ...nothing, ...problems },
});

/** `/api/alerts` and what is below it. */
export function alertRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { clock, builtIn } = context;
  const { rules, channels, windows, state } = builtIn.alerts.store;
  const routes = newRoutes();

  routes.openapi(list, async (c) => {
    const states = await Promise.all(
      (await rules.list()).map(async ({ id }) => ({ id, ...(await state(id)) })),
    );
    const firing = states.flatMap(({ id, state: { entries } }) =>
      Object.entries(entries).flatMap(([subject, { message, firedAt, resolvedAt, isReported }]) =>
        firedAt === null || resolvedAt !== null
          ? []
          : [{ rule: id, subject, message, fired_at: new Date(firedAt).toISOString(), muted: !isReported }],
      ),
    );
    return c.json(listJson(firing), 200);
  });

  routes.openapi(listRules, async (c) => c.json(listJson((await rules.list()).map(toRuleJson)), 200));
  routes.openapi(createRule, async (c) => {
    const given = c.req.valid('json');
    await refuseUnknown('channels', given.channels, channels);
    return c.json(toRuleJson(await rules.create(readRule(given))), 201);
  });
  routes.openapi(changeRule, async (c) => {
    const rule = await rules.get(c.req.valid('param').id);
    const change = c.req.valid('json');
    await refuseUnknown('channels', change.channels, channels);
    return c.json(toRuleJson(await rules.replace(changedRule(rule, change))), 200);
  });
  routes.openapi(deleteRule, async (c) => {
    const rule = await rules.get(c.req.valid('param').id);
    await rules.delete(rule.id);
    await builtIn.alerts.retire(rule);
    return c.body(null, 204);
  });

  routes.openapi(listChannels, async (c) =>
    c.json(listJson((await channels.list()).map(toChannelJson)), 200),
  );
  routes.openapi(createChannel, async (c) => {
    const value = readChannel(context, c.req.valid('json'));
    // One shape for all kinds is more than the table asks for.
    return c.json(toChannelJson(await channels.create(value as AlertChannel)), 201);
  });
  routes.openapi(testChannel, async (c) => {
    const { id } = await channels.get(c.req.valid('param').id);
    await builtIn.alerts.test(id);
    return c.body(null, 204);
  });
  routes.openapi(deleteChannel, async (c) => {
    const { id } = await channels.get(c.req.valid('param').id);
    const using = (await rules.list()).filter((rule) => rule.channels?.includes(id) === true);
    if (using.length > 0) throw channelInUse(id, using);
    await channels.delete(id);
    return c.body(null, 204);
  });

  const windowJson = (window: MaintenanceWindow) => toWindowJson(window, clock.now());
  routes.openapi(listWindows, async (c) => c.json(listJson((await windows.list()).map(windowJson)), 200));
  routes.openapi(createWindow, async (c) => {
    const given = c.req.valid('json');
    await refuseUnknown('rules', given.rules, rules);
    return c.json(windowJson(await windows.create(readWindow(given))), 201);
  });
  routes.openapi(deleteWindow, async (c) => {
    await windows.delete(c.req.valid('param').id);
    return c.body(null, 204);
  });

  return routes;
}

/** Refuses ids that nothing has: a rule with a channel that is misspelt would tell nobody, and nobody would notice. */
async function refuseUnknown<Item extends { id: string }>(
  field: string,
  ids: readonly string[] | null | undefined,
  table: AlertTable<Item>,
): Promise<void> {
  if (ids === undefined || ids === null) return;
  const known = new Set((await table.list()).map(({ id }) => id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown === undefined) return;
  throw new DulyError('request_invalid', {
    message: `"${field}" of the body: there is no "${unknown}".`,
    hint: `GET /api/alerts/${field} lists them.`,
    details: { issues: [{ in: 'body', path: field, message: `there is no "${unknown}"` }] },
  });
}

function channelInUse(id: string, using: readonly AlertRule[]): DulyError {
  const named = using.map((rule) => `"${rule.id}"`).join(', ');
  return new DulyError('alert_channel_in_use', {
    message: `The channel "${id}" is named by ${using.length === 1 ? 'the rule' : 'the rules'} ${named}, which would reach nobody without it.`,
    hint: 'Give those rules other channels first (PATCH /api/alerts/rules/{id}), or null for all.',
    details: { id, rules: using.map((rule) => rule.id) },
  });
}

function readChannel(
  { options, builtIn }: ServerContext,
  given: z.infer<typeof newAlertChannelSchema>,
): AlertChannelValue {
  const note = given.note ?? null;
  switch (given.kind) {
    case 'webhook':
    case 'slack':
      checkTargetUrl(given.url, builtIn.allowed);
      return { ...given, note };
    case 'email':
      if (options.smtp === null) throw new DulyError('mail_not_set_up', noMailer);
      return { ...given, note };
    case 'command':
      if (options.allowCommands) return { ...given, note };
      throw new DulyError('commands_disabled', {
        message: 'This server does not run commands.',
        hint: 'Start it with --allow-commands.',
      });
  }
}

function toChannelJson(channel: AlertChannel): z.infer<typeof alertChannelSchema> {
  const { id, kind, note } = channel;
  if (channel.kind === 'email') return { id, kind, note, to: channel.to.join(', ') };
  if (channel.kind === 'command') return { id, kind, note, to: channel.argv[0] ?? '' };
  return { id, kind, note, to: new URL(channel.url).host };
}

function readWindow(given: z.infer<typeof newAlertWindowSchema>): Omit<MaintenanceWindow, 'id'> {
  const { rules = null, note = null } = given;
  if ('cron' in given) {
    const { cron, timezone = 'UTC' } = given;
    resolveRule({ cron, timezone });
    return { rules, note, when: { cron, timezone, durationMs: parseDuration(given.duration, 'duration') } };
  }
  const fromAt = parseInstant(given.from, 'from');
  const untilAt = parseInstant(given.until, 'until');
  if (untilAt <= fromAt) {
    const message = 'Expected "until" to be after "from".';
    throw new DulyError('request_invalid', {
      message,
      details: { issues: [{ in: 'body', path: 'until', message }] },
    });
  }
  return { rules, note, when: { fromAt, untilAt } };
}

function toWindowJson(window: MaintenanceWindow, now: number): z.infer<typeof alertWindowSchema> {
  const { id, note, rules, when } = window;
  const shown = {
    id,
    note,
    rules: rules === null ? null : [...rules],
    open: isMuted([{ ...window, rules: null }], '', now),
  };
  if ('cron' in when)
    return { ...shown, cron: when.cron, timezone: when.timezone, duration: when.durationMs };
  return { ...shown, from: new Date(when.fromAt).toISOString(), until: new Date(when.untilAt).toISOString() };
}
