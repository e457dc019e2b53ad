// Schedules as callers see them, with what is redacted left out.

import type { Schedule, ScheduleDiff } from '@duly/core';
import { snakeName, toDefinitionJson, toScheduleJson } from '@duly/core/internal';
import type { z } from '@hono/zod-openapi';
import type { ServerContext } from '../http/context.ts';
import { shownInput, shownInside } from '../jobs/job-presenter.ts';
import { redacted } from '../jobs/redact.ts';
import type { scheduleDiffSchema, scheduleSchema } from '../schemas/schedule.ts';

/** How schedules are shown to callers. */
export interface SchedulePresenter {
  /** With what is redacted left out. */
  present(schedule: Schedule): z.infer<typeof scheduleSchema>;
  /** With `definition`: the body that creates the same schedule. */
  presentWhole(schedule: Schedule): z.infer<typeof scheduleSchema>;
}

/** Creates the presenter of a server. */
export function createSchedulePresenter({ options }: Pick<ServerContext, 'options'>): SchedulePresenter {
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
  return { present, presentWhole };
}

/** What applying a declared set does to a schedule. */
export function diffJson(diff: ScheduleDiff): z.infer<typeof scheduleDiffSchema> {
  // The values are what users wrote; only the names of fields are ours.
  return { ...diff, fields: diff.fields.map((field) => ({ ...field, field: snakeName(field.field) })) };
}
