import {
  type ActionOptions,
  type Duly,
  DulyError,
  type ErrorCode,
  type Job,
  type JobOptions,
  type JobsFilter,
  type PauseTarget,
} from '@duly/core';
import { ApiError, createClient, type Client as HttpClient } from '@duly/server/client';
import { fromJson, jobFromJson } from './from-json.ts';
import { createRemoteSchedules, noted } from './remote-schedules.ts';
import { requiresStoreAccess } from './server.ts';

/** Where a server is, and the key for it. */
export interface RemoteServer {
  url: string;
  key: string | undefined;
}

/**
 * What commands ask a Duly for, asked of a server over HTTP. What only the store itself can answer is refused with `requires_store_access`.
 */
export function createRemoteDuly(server: RemoteServer, onChange: (page: string) => void = () => {}): Duly {
  const http = createClient({ url: server.url, ...(server.key === undefined ? {} : { key: server.key }) });
  const call = (async (...given: Parameters<HttpClient['call']>) => {
    try {
      const answer = await http.call(...given);
      if (given[0].startsWith('POST ') && given[0] !== 'POST /api/schedules/diff')
        onChange(pageOf(given[0], given[1] as never, answer));
      return answer;
    } catch (error) {
      throw asDulyError(error, server.url);
    }
  }) as HttpClient['call'];
  const data = async (name: string, options: object = {}): Promise<unknown[]> =>
    ((await call(name as never, options as never)) as { data: unknown[] }).data;

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
    async logs() {
      const lines: unknown[] = [];
      try {
        for await (const line of http.each('GET /api/jobs/{id}/logs', { path: { id } }))
          lines.push(fromJson(line));
      } catch (error) {
        throw asDulyError(error, server.url);
      }
      return lines;
    },
  });

  const schedules = refusing('schedules', createRemoteSchedules({ call, data, job }));

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

  const remote = refusing('duly', {
    jobs,
    job,
    schedules,
    /** Read by the commands of keys alone: a Duly knows nothing of them. */
    remoteKeys: {
      list: async () => (await data('GET /api/keys')).map((one) => keyFromJson(one as KeyJson)),
      async create({ scope, tenant, note, expiresAt }: CreatedKeyOptions) {
        const body = {
          ...{ scope, tenant },
          ...(note === null ? {} : { note }),
          ...(expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() }),
        };
        const created = await call('POST /api/keys', { body: body as never });
        return { ...keyFromJson(created as KeyJson), key: created.key };
      },
      revoke: (id: string) => call('DELETE /api/keys/{id}', { path: { id } }),
    },
    dead: refusing('dead', {
      list: (filter: JobsFilter) => jobs({ ...filter, dead: true } as JobsFilter),
      retry: (filter: JobsFilter, how: ActionOptions) => actOnDead('POST /api/dead/retry', filter, how),
      discard: (filter: JobsFilter, how: ActionOptions) => actOnDead('POST /api/dead/discard', filter, how),
    }),
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
    async why(id: string, slot?: string) {
      if (slot === undefined) return fromJson(await call('GET /api/jobs/{id}/why', { path: { id } }));
      return fromJson(await call('GET /api/schedules/{id}/why', { path: { id }, query: { slot } }));
    },
    // Who did what is for admins; whoever may only read sees the rest.
    audit: async ({ subject, limit }: { subject?: string; limit: number }) =>
      (await data('GET /api/audit', { query: { subject, limit } }).catch(() => [])).map((one) =>
        fromJson(one),
      ),
    nodes: async () => (await data('GET /api/nodes')).map((one) => fromJson(one)),
    pauses: async () => (await data('GET /api/pauses')).map((one) => fromJson(one)),
    async pause(target: PauseTarget, options: { note?: string; until?: number } = {}) {
      const { body } = noted(options) as { body: object };
      return fromJson(await call('POST /api/pauses', { body: { ...target, ...body } as never }));
    },
    async resume(target: PauseTarget) {
      return (await call('POST /api/pauses/resume', { body: target as never })).resumed;
    },
    task({ name }: { name: string }) {
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
    },
    async queues() {
      const { data: list, status } = (await call('GET /api/queues')) as never as {
        data: object[];
        status: object;
      };
      return { queues: list.map((one) => fromJson(one)), status };
    },
    locks: refusing('locks', {
      async list(query: Record<string, unknown>) {
        const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value != null));
        const page = await call('GET /api/locks', { query: given as never });
        return { locks: page.data.map((one) => fromJson(one)), nextCursor: page.next_cursor };
      },
    }),
    forecast: async (asked: object) => fromJson(await call('GET /api/forecast', { query: asked as never })),
    async stop() {},
  });
  return remote as unknown as Duly;
}

interface KeyJson {
  created_at: string;
  expires_at: string | null;
}

interface CreatedKeyOptions {
  scope: string;
  tenant: string | null;
  note: string | null;
  expiresAt: number | null;
}

/** A key as `@duly/server/keys` tells it: instants as numbers. */
function keyFromJson(json: KeyJson): object {
  return {
    ...fromJson<object>(json),
    createdAt: Date.parse(json.created_at),
    expiresAt: json.expires_at === null ? null : Date.parse(json.expires_at),
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

/** The page of the dashboard that shows what was changed. */
function pageOf(name: string, options: { path?: { id?: string } } | undefined, answer: unknown): string {
  const { id = (answer as { id?: string } | null)?.id ?? '' } = options?.path ?? {};
  if (name.startsWith('POST /api/jobs')) return `/jobs/${encodeURIComponent(id)}`;
  if (name.startsWith('POST /api/dead')) return '/dead';
  if (name === 'POST /api/keys') return '/keys';
  if (name === 'POST /api/schedules/apply') return '/schedules';
  if (name.startsWith('POST /api/schedules')) return `/schedules/${encodeURIComponent(id)}`;
  return '/queues';
}

/** What is not among the methods needs the store itself. */
function refusing<Methods extends object>(what: string, methods: Methods): Methods {
  return new Proxy(methods, {
    get(target, name, receiver) {
      // A promise is recognised by its `then`.
      if (name in target || typeof name === 'symbol' || name === 'then')
        return Reflect.get(target, name, receiver);
      throw requiresStoreAccess(`${what}.${name}`);
    },
  });
}

const keyHint =
  'Give its key: $DULY_KEY, a profile, or --server-key <key>. Where the store is, "duly keys add" creates one.';

function asDulyError(error: unknown, url: string): unknown {
  if (error instanceof ApiError) {
    const { code, message, details } = error;
    // What the server says about headers is of no use on a command line.
    const hint = code === 'unauthenticated' ? keyHint : error.hint;
    return new DulyError(code as ErrorCode, { message, ...(hint === undefined ? {} : { hint }), details });
  }
  if (!(error instanceof TypeError)) return error;
  return new DulyError('server_unavailable', {
    message: `The server at "${url}" cannot be reached.`,
    hint: 'Check the address, and that it runs: duly up',
    details: { url },
    cause: error,
  });
}
