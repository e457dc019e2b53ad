// What can be done to one schedule: pause, resume, revert, trigger, skip a slot, backfill.

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { presentJob, refuseRedacted } from '../jobs/job-presenter.ts';
import { inputFor } from '../schedules/definition.ts';
import { findSchedule } from '../schedules/find.ts';
import { createSchedulePresenter } from '../schedules/schedule-presenter.ts';
import { body, json, note } from '../schemas/answers.ts';
import { noteBody } from '../schemas/job-actions.ts';
import { problems } from '../schemas/problem.ts';
import { backfillResultSchema, scheduleSchema, triggerResultSchema } from '../schemas/schedule.ts';
import { findToRun, given, moment, oneSchedule, schedulePath } from './schedule-requests.ts';

const tags = ['schedules'];

const pause = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/pause',
  operationId: 'pauseSchedule',
  tags,
  summary: 'Stop decisions; jobs already created go on',
  ...secured('operate'),
  request: {
    params: schedulePath,
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
  responses: oneSchedule,
});

const resume = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/resume',
  operationId: 'resumeSchedule',
  tags,
  summary: 'Go on, and decide what fell in the pause',
  ...secured('operate'),
  request: { params: schedulePath, ...body(noteBody, { required: false }) },
  responses: oneSchedule,
});

const revert = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/revert',
  operationId: 'revertSchedule',
  tags,
  summary: 'Take an override back: what the code declares rules again',
  ...secured('operate'),
  request: { params: schedulePath, ...body(noteBody, { required: false }) },
  responses: oneSchedule,
});

const trigger = createRoute({
  method: 'post',
  path: '/api/schedules/{id}/trigger',
  operationId: 'triggerSchedule',
  tags,
  summary: 'One run now; also while paused',
  ...secured('run'),
  request: {
    params: schedulePath,
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
  request: { params: schedulePath, ...body(noteBody, { required: false }) },
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
    params: schedulePath,
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

/** Adds what can be done to one schedule. */
export function addScheduleActions(routes: OpenAPIHono<ServerEnv>, context: ServerContext): void {
  const { duly, options } = context;
  const { schedules } = duly;
  const { present } = createSchedulePresenter(context);

  routes.openapi(pause, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id);
    return c.json(present(await schedules.pause({ id }, given(c.req.valid('json')))), 200);
  });

  routes.openapi(resume, async (c) => {
    const { id } = await findSchedule(context, c.var.caller, c.req.valid('param').id);
    return c.json(present(await schedules.resume({ id }, given(c.req.valid('json')))), 200);
  });

  routes.openapi(revert, async (c) => {
    const { id } = await findToRun(context, c.var.caller, c.req.valid('param').id);
    return c.json(present(await schedules.revert({ id }, given(c.req.valid('json')))), 200);
  });

  routes.openapi(trigger, async (c) => {
    const schedule = await findToRun(context, c.var.caller, c.req.valid('param').id);
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
    const { id } = await findToRun(context, c.var.caller, c.req.valid('param').id);
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
}
