import { DulyError, parseInstant, type Schedule } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { cursor, instant, json } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

/** A picture of more than this is no picture. */
const scheduleCountMax = 200;
const slotCountMax = 300;
/** So many slots to come are looked at; closer together than this part of the picture they are one bar. */
const comingCountMax = 20_000;
const partOfPicture = 600;
const rangeMsMax = 8 * 86_400_000;

const daySlot = z.strictObject({
  slot: instant,
  to: instant.openapi({ description: 'The last slot of a run of slots with one decision; else the same.' }),
  count: z.int().nullable(),
  status: z.string().openapi({ description: 'What became of it; `coming` for one that is still to come.' }),
});

const daySchema = z
  .strictObject({
    from: instant,
    to: instant,
    now: instant,
    has_more: z.boolean().openapi({ description: `A page has ${scheduleCountMax} schedules.` }),
    next_cursor: z.string().nullable(),
    data: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        type: z.string(),
        timezone: z.string(),
        words: z.string(),
        paused: z.boolean(),
        slots: z.array(daySlot),
        capped: z.boolean().openapi({ description: `It has more than ${slotCountMax} slots in this time.` }),
      }),
    ),
  })
  .openapi('Day');

const read = createRoute({
  method: 'get',
  path: '/api/day',
  operationId: 'getDay',
  tags: ['schedules'],
  summary: 'The slots of all schedules in a stretch of time: what became of them, and what is to come',
  ...secured('read'),
  request: {
    query: z.strictObject({
      from: z.string().max(100),
      to: z.string().max(100),
      order: z.enum(['name', 'due']).optional().openapi({
        description:
          '`due`: of those that are due next, without those that are due at no time. Default `name`.',
      }),
      cursor,
    }),
  },
  responses: { 200: json(daySchema, 'By schedule.'), ...problems },
});

interface Bar {
  from: number;
  to: number;
  /** null: more than were counted. */
  count: number | null;
}

/** Instants in order, those closer than `gapMs` to the one before put together. */
function barsOf(instants: readonly number[], gapMs: number): Bar[] {
  const bars: Bar[] = [];
  for (const at of instants) {
    const last = bars.at(-1);
    if (last !== undefined && at - last.to < gapMs) {
      last.to = at;
      last.count = (last.count ?? 0) + 1;
    } else bars.push({ from: at, to: at, count: 1 });
  }
  return bars;
}

/** `/api/day`. */
export function dayRoutes({ duly, clock }: ServerContext): OpenAPIHono<ServerEnv> {
  const { schedules } = duly;

  /** The slots to come before `toAt`. Few at first: most schedules have few in any picture. */
  async function comingOf(id: string, after: number, toAt: number) {
    const slots: number[] = [];
    for (let count = 50; slots.length < comingCountMax; count = 2_000) {
      const page = await schedules.preview({ id }, { after: slots.at(-1) ?? after, count });
      for (const slot of page) if (slot.getTime() < toAt) slots.push(slot.getTime());
      if (page.length < count || (page.at(-1) as Date).getTime() >= toAt) return { slots, isWhole: true };
    }
    return { slots, isWhole: false };
  }

  async function linesOf(schedule: Schedule, fromAt: number, toAt: number) {
    const { id, name, type, timezone, words, paused } = schedule;
    const now = clock.now();
    const past =
      fromAt < now
        ? await schedules.slots({ id }, { from: fromAt, to: Math.min(toAt, now), limit: slotCountMax })
        : [];
    const mayCome = toAt > now && schedule.unreadable === null;
    const coming = mayCome
      ? await comingOf(id, Math.max(now, fromAt - 1), toAt)
      : { slots: [], isWhole: true };
    const known = past.map((line) => ({
      slot: line.slot.toISOString(),
      to: line.to.toISOString(),
      count: line.count,
      status: line.status as string,
    }));
    const bars = barsOf(coming.slots, (toAt - fromAt) / partOfPicture);
    const last = bars.at(-1);
    // So many that nobody looks at them all go on as they began.
    if (last !== undefined && !coming.isWhole) Object.assign(last, { to: toAt - 1, count: null });
    const next = bars.map(({ from, to, count }) => ({
      slot: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      count,
      status: 'coming',
    }));
    return {
      ...{ id, name, type, timezone, words },
      paused: paused !== null,
      slots: [...known.reverse(), ...next].slice(0, slotCountMax),
      capped: known.length + next.length > slotCountMax || known.length === slotCountMax || !coming.isWhole,
    };
  }

  return newRoutes().openapi(read, async (c) => {
    const { from, to, order, cursor: place } = c.req.valid('query');
    const fromAt = parseInstant(from, 'from');
    const toAt = parseInstant(to, 'to');
    if (toAt <= fromAt || toAt - fromAt > rangeMsMax) {
      throw new DulyError('request_invalid', {
        message: 'Expected "to" to be after "from", by at most eight days.',
        details: { issues: [{ in: 'query', path: 'to', message: 'is not after "from", or too far' }] },
      });
    }
    const { caller } = c.var;
    const page = await schedules.list({
      limit: scheduleCountMax,
      ...(order === undefined ? {} : { order }),
      ...(place === undefined ? {} : { cursor: place }),
      ...(caller.tenant === null ? {} : { tenant: tenantFor(caller, undefined) as string }),
    });
    const data = await Promise.all(page.schedules.map((schedule) => linesOf(schedule, fromAt, toAt)));
    return c.json(
      {
        from: new Date(fromAt).toISOString(),
        to: new Date(toAt).toISOString(),
        now: new Date(clock.now()).toISOString(),
        has_more: page.nextCursor !== null,
        next_cursor: page.nextCursor,
        data,
      },
      200,
    );
  });
}
