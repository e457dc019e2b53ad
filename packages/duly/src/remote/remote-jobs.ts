// Jobs, asked of a server over HTTP.

import type { ActionOptions, Job, JobOptions, JobsFilter } from '@duly/core';
import { fromJson, jobFromJson } from './from-json.ts';
import { noted, type RemoteCalls } from './remote-schedules.ts';

/** How jobs are asked of a server. */
export interface RemoteJobCalls extends Pick<RemoteCalls, 'call' | 'data'> {
  /** The lines that the handlers of a job logged. */
  logsOf(id: string): Promise<unknown[]>;
}

/** Reads and changes jobs. */
export function createRemoteJobs({ call, data, logsOf }: RemoteJobCalls) {
  const jobs = (filter: JobsFilter) => {
    const page = async ({ limit, cursor = null }: { limit: number; cursor?: string | null }) => {
      const query = { ...queryOf(filter), limit, ...(cursor === null ? {} : { cursor }) };
      const found = await call('GET /api/jobs', { query: query as never });
      return { jobs: found.data.map((one) => jobFromJson(one as never)), nextCursor: found.next_cursor };
    };
    return { page, first: async () => (await page({ limit: 1 })).jobs[0] ?? null };
  };

  const idOf = async (reference: {
    id?: string;
    type?: string;
    key?: string;
    tenant?: string;
  }): Promise<string> => {
    if (reference.id !== undefined) return reference.id;
    const { type, key, tenant } = reference;
    const query = { type, key, ...(tenant === undefined ? {} : { tenant }) } as never;
    return (await call('GET /api/jobs/latest', { query })).id;
  };
  const job = (id: string) => ({
    id,
    async get(): Promise<Job> {
      const [found, attempts] = await Promise.all([
        call('GET /api/jobs/{id}', { path: { id } }),
        data('GET /api/jobs/{id}/attempts', { path: { id } }),
      ]);
      return jobFromJson(
        found as never,
        attempts.map((one) => fromJson(one)),
      );
    },
    logs: () => logsOf(id),
  });

  return {
    jobs,
    job,
    async cancel(
      reference: { id?: string },
      { note, terminate }: { note?: string; terminate?: boolean } = {},
    ) {
      const body = { ...(note === undefined ? {} : { note }), ...(terminate ? { terminate } : {}) };
      return fromJson(
        await call('POST /api/jobs/{id}/cancel', { path: { id: await idOf(reference) }, body }),
      );
    },
    async retry(id: string, options: { note?: string } = {}) {
      return fromJson(await call('POST /api/jobs/{id}/retry', { path: { id }, ...noted(options) }));
    },
    async reschedule(reference: { id?: string }, due: { in?: number; at?: number }) {
      const body =
        due.at === undefined ? { delay: due.in as number } : { run_at: new Date(due.at).toISOString() };
      return fromJson(
        await call('POST /api/jobs/{id}/reschedule', { path: { id: await idOf(reference) }, body }),
      );
    },
  };
}

/** Dead letters, of the jobs that a filter finds. */
export function createRemoteDead<Found>(
  { call }: Pick<RemoteCalls, 'call'>,
  jobs: (filter: JobsFilter) => Found,
) {
  const actOnDead = async (
    name: 'POST /api/dead/retry' | 'POST /api/dead/discard',
    filter: JobsFilter,
    { note, dryRun, asOf, expected }: ActionOptions = {},
  ) => {
    const which = Object.keys(filter).length === 0 ? { all: true } : { filter };
    const body = {
      ...which,
      ...(note === undefined ? {} : { note }),
      ...(dryRun ? { dry_run: true } : {}),
      ...(asOf === undefined ? {} : { as_of: asOf }),
      ...(expected === undefined ? {} : { expected }),
    };
    return fromJson(await call(name, { body: body as never }));
  };

  return {
    list: (filter: JobsFilter) => jobs({ ...filter, dead: true } as JobsFilter),
    retry: (filter: JobsFilter, how: ActionOptions) => actOnDead('POST /api/dead/retry', filter, how),
    discard: (filter: JobsFilter, how: ActionOptions) => actOnDead('POST /api/dead/discard', filter, how),
  };
}

/** A task by its name: creates jobs of it. */
export function createRemoteTask(
  { call }: Pick<RemoteCalls, 'call'>,
  job: (id: string) => object,
  name: string,
) {
  const create = async (input: unknown, due: object, options: JobOptions = {}) => {
    const { dedupe, ...rest } = options as JobOptions & { dedupe?: { key: string } };
    const key = dedupe === undefined ? {} : { key: dedupe.key };
    const body = { type: name, ...(input === undefined ? {} : { input }), ...due, ...rest, ...key };
    const created = await call('POST /api/jobs', { body: body as never });
    const view = jobFromJson(created as never);
    const { deduped = false } = created as { deduped?: boolean };
    return { ...job(view.id), status: view.status, dueAt: view.dueAt, deduped };
  };
  return {
    now: (input: unknown, options?: JobOptions) => create(input, {}, options),
    in: (delay: number, input: unknown, options?: JobOptions) => create(input, { delay }, options),
    at: (at: number, input: unknown, options?: JobOptions) =>
      create(input, { run_at: new Date(at).toISOString() }, options),
  };
}

function queryOf(filter: JobsFilter): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(filter)) {
    if (name === 'input')
      for (const [path, one] of Object.entries(value as object)) query[`input.${path}`] = one;
    // Several strings must all match, so they are no list with commas.
    else if (name === 'text') query['text'] = value;
    else {
      const list = [value].flat().map((one) => (one instanceof Date ? one.toISOString() : one));
      const text =
        name === 'since' && typeof value === 'number' ? new Date(value).toISOString() : list.join(',');
      query[name] = text;
    }
  }
  return query;
}
