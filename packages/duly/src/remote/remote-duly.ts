import { type Duly, DulyError, type ErrorCode, type PauseTarget } from '@duly/core';
import { ApiError, createClient, type Client as HttpClient } from '@duly/server/client';
import { fromJson } from './from-json.ts';
import { createRemoteDead, createRemoteJobs, createRemoteTask } from './remote-jobs.ts';
import { createRemoteKeys } from './remote-keys.ts';
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

  const logsOf = async (id: string): Promise<unknown[]> => {
    const lines: unknown[] = [];
    try {
      for await (const line of http.each('GET /api/jobs/{id}/logs', { path: { id } }))
        lines.push(fromJson(line));
    } catch (error) {
      throw asDulyError(error, server.url);
    }
    return lines;
  };
  const { jobs, job, ...ofJobs } = createRemoteJobs({ call, data, logsOf });
  const schedules = refusing('schedules', createRemoteSchedules({ call, data, job }));

  const remote = refusing('duly', {
    jobs,
    job,
    schedules,
    /** Read by the commands of keys alone: a Duly knows nothing of them. */
    remoteKeys: createRemoteKeys({ call, data }),
    dead: refusing('dead', createRemoteDead({ call }, jobs)),
    ...ofJobs,
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
    task: ({ name }: { name: string }) => createRemoteTask({ call }, job, name),
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
