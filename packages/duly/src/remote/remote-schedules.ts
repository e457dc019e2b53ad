import type {
  ApplyOptions,
  BackfillOptions,
  BackfillResult,
  DeclaredTask,
  Schedule,
  ScheduleDefinition,
  ScheduleDiff,
  SchedulesFilter,
} from '@duly/core';
import { commandTaskName, toDeclaredTaskJson, toDefinitionJson, toSnakeCase } from '@duly/core/internal';
import type { Client as HttpClient } from '@duly/server/client';
import type { CommandInput } from '../import/shell-command.ts';
import { camelName, fromJson, scheduleFromJson } from './from-json.ts';

/** How a server is asked. */
export interface RemoteCalls {
  call: HttpClient['call'];
  /** Asks for a list, and gives its data. */
  data(name: string, options?: object): Promise<unknown[]>;
  /** What stands for the job of an id. */
  job(id: string): object;
}

interface ListQuery extends SchedulesFilter {
  definition?: boolean;
}

const pageSize = 500;

/** `duly.schedules`, asked of a server over HTTP. */
export function createRemoteSchedules({ call, data, job }: RemoteCalls) {
  const pathOf = (reference: unknown): { path: { id: string } } => {
    const { id = reference } = Object(reference) as { id?: unknown };
    return { path: { id: String(id) } };
  };
  const page = async ({ tenant, app, cursor, definition, ...rest }: ListQuery) => {
    const query = {
      ...rest,
      ...(tenant == null ? {} : { tenant }),
      ...(app == null ? {} : { app }),
      ...(cursor == null ? {} : { cursor }),
      ...(definition ? { definition: 'true' } : {}),
    };
    const found = await call('GET /api/schedules', { query: query as never });
    const schedules = found.data.map((one) => scheduleFromJson(one as never));
    return {
      // The address cannot say "of no tenant" and "of no app".
      schedules: schedules.filter(
        (one) => (tenant !== null || one.tenant === null) && (app !== null || one.app === null),
      ),
      nextCursor: found.next_cursor,
    };
  };
  const declared = async (
    name: 'POST /api/schedules/diff' | 'POST /api/schedules/apply',
    set: readonly ScheduleDefinition[],
    { app, release, prune, tasks = [] }: ApplyOptions,
  ): Promise<ScheduleDiff[]> => {
    const body = {
      app,
      ...(release === undefined ? {} : { release }),
      ...(prune === undefined ? {} : { prune }),
      tasks: tasks.map((task: DeclaredTask) => toDeclaredTaskJson(task)),
      schedules: set.map(toDefinitionJson),
    };
    const { data: plan } = await call(name, { body: body as never });
    return plan.map((diff) => ({
      ...diff,
      fields: diff.fields.map((one) => ({ ...one, field: camelName(one.field) })),
    })) as ScheduleDiff[];
  };

  return {
    list: (filter: SchedulesFilter = {}) => page(filter),
    async *each(filter: SchedulesFilter = {}): AsyncGenerator<Schedule> {
      let cursor: string | null = null;
      do {
        const found: Awaited<ReturnType<typeof page>> = await page({
          limit: pageSize,
          ...filter,
          definition: true,
          ...(cursor === null ? {} : { cursor }),
        });
        yield* found.schedules;
        cursor = found.nextCursor;
      } while (cursor !== null);
    },
    async get(id: unknown, { deleted = false } = {}) {
      const query = { definition: 'true' as const, ...(deleted ? { deleted: 'true' as const } : {}) };
      return scheduleFromJson((await call('GET /api/schedules/{id}', { ...pathOf(id), query })) as never);
    },
    async put(definition: ScheduleDefinition) {
      const body = bodyOf(definition) as never;
      return scheduleFromJson((await call('POST /api/schedules', { body })) as never);
    },
    async preview(id: unknown, { count, after }: { count?: number; after?: string } = {}) {
      const query = { ...(count === undefined ? {} : { count }), ...(after === undefined ? {} : { after }) };
      const slots = await data('GET /api/schedules/{id}/preview', { ...pathOf(id), query });
      return slots.map((one) => new Date((one as { slot: string }).slot));
    },
    async backfill(id: unknown, options: BackfillOptions): Promise<BackfillResult> {
      const created = await call('POST /api/schedules/{id}/backfill', {
        ...pathOf(id),
        body: toSnakeCase(options) as never,
      });
      const { slots, ...rest } = fromJson<Omit<BackfillResult, 'slots'> & { slots: string[] }>(created);
      return { ...rest, slots: slots.map((slot) => new Date(slot)) };
    },
    diff: (set: readonly ScheduleDefinition[], options: ApplyOptions) =>
      declared('POST /api/schedules/diff', set, options),
    apply: (set: readonly ScheduleDefinition[], options: ApplyOptions) =>
      declared('POST /api/schedules/apply', set, options),
    async pause(id: unknown, options: { note?: string; until?: number }) {
      return scheduleFromJson(
        (await call('POST /api/schedules/{id}/pause', { ...pathOf(id), ...noted(options) })) as never,
      );
    },
    async resume(id: unknown, options: { note?: string }) {
      return scheduleFromJson(
        (await call('POST /api/schedules/{id}/resume', { ...pathOf(id), ...noted(options) })) as never,
      );
    },
    async trigger(id: unknown, options: { allow?: boolean; input?: unknown; note?: string }) {
      const created = await call('POST /api/schedules/{id}/trigger', {
        ...pathOf(id),
        body: options as never,
      });
      return { ...created, job: created.job === null ? null : job((created.job as { id: string }).id) };
    },
    async skipNext(id: unknown, options: { note?: string }) {
      const skipped = await call('POST /api/schedules/{id}/skip-next', { ...pathOf(id), ...noted(options) });
      const slot = skipped.slot === null ? null : new Date(skipped.slot);
      return { slot, schedule: scheduleFromJson(skipped.schedule as never) };
    },
    slots: async (reference: { id: string }, { limit }: { limit: number }) =>
      (await data('GET /api/schedules/{id}/slots', { ...pathOf(reference.id), query: { limit } })).map(
        (one) => fromJson(one),
      ),
    async delete(id: unknown, { note }: { note?: string } = {}) {
      const query = note === undefined ? {} : { note };
      await call('DELETE /api/schedules/{id}', { ...pathOf(id), query } as never);
    },
  };
}

/** A definition as the server takes it: a command is not a task by its name there, but a target, which it may refuse. */
function bodyOf(definition: ScheduleDefinition): Record<string, unknown> {
  const json = toDefinitionJson(definition) as Record<string, unknown>;
  if (definition.type !== commandTaskName) return json;
  const { type: _, input, ...rest } = json;
  const { command, ...given } = input as CommandInput & { input?: unknown };
  return { ...rest, target: { command }, ...given };
}

/** The body of what takes a note, and perhaps an end. */
export function noted(options: { note?: string; until?: unknown } = {}): { body: never } {
  return {
    body: {
      ...(options.note === undefined ? {} : { note: options.note }),
      ...(options.until === undefined ? {} : { until: new Date(options.until as number).toISOString() }),
    } as never,
  };
}
