// What the routes of schedules have in common.

import type { Schedule } from '@duly/core';
import { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import type { ServerContext } from '../http/context.ts';
import { findSchedule } from '../schedules/find.ts';
import { json } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { scheduleSchema } from '../schemas/schedule.ts';
import { checkRight } from '../targets/work.ts';

/** In paths of one schedule. */
export const schedulePath = z.object({
  id: z.string().min(1).max(200).openapi({ description: 'Its id, or its name.' }),
});

/** An instant, or a wall time of the schedule's zone. */
export const moment = z.string().max(100);

/** The answer that is one schedule. */
export const oneSchedule = { 200: json(scheduleSchema, 'The schedule.'), ...problems };

/** Without the fields that were left out: the library takes a field that is there for one that was meant. */
export function given<Value extends object>(
  value: Value,
): { [Field in keyof Value]?: Exclude<Value[Field], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as never;
}

/** The schedule, if the caller may create jobs of it and choose what they get. */
export async function findToRun(context: ServerContext, caller: Caller, id: string): Promise<Schedule> {
  const schedule = await findSchedule(context, caller, id);
  checkRight(caller, schedule.type);
  return schedule;
}
