import type { Operations, Problem } from './generated.ts';

export type * from './generated.ts';

/** How to reach a server. */
export interface ClientOptions {
  /** Where it is, with its base path: `http://127.0.0.1:4600`. In a page of the server itself: its own origin. */
  url: string | URL;
  /** The key; left out, whatever `fetch` sends: the cookie of a browser that is signed in. */
  key?: string;
  /** The platform's own unless given. */
  fetch?: (input: string, init: RequestInit) => Promise<Response>;
}

/** What one call takes beside the name of its route. */
export type CallOptions<Name extends keyof Operations> = Given<'path', Operations[Name]['path']> &
  Given<'query', QueryOf<Name>> &
  GivenBody<Operations[Name]['body']> & {
    signal?: AbortSignal;
    headers?: Record<string, string>;
    /** Done once, however often it is sent within 24 hours. */
    idempotencyKey?: string;
  };

/** Lists of jobs also filter on any path of the input: `{ 'input.user.id': 42 }`. */
type QueryOf<Name extends keyof Operations> = Name extends 'GET /api/jobs' | 'GET /api/dead'
  ? Operations[Name]['query'] & { [path: `input.${string}`]: string | number | boolean | undefined }
  : Operations[Name]['query'];

type Given<Field extends string, Value> = keyof Value extends never
  ? { [Name in Field]?: never }
  : Record<never, never> extends Value
    ? { [Name in Field]?: Value }
    : { [Name in Field]: Value };

type GivenBody<Value> = [Value] extends [never]
  ? { body?: never }
  : undefined extends Value
    ? { body?: Value }
    : { body: Value };

type Arguments<Name extends keyof Operations> =
  Record<never, never> extends CallOptions<Name>
    ? [options?: CallOptions<Name>]
    : [options: CallOptions<Name>];

/** Names of routes that answer with a list. */
export type ListName = {
  [Name in keyof Operations]: Operations[Name]['answer'] extends {
    data: unknown[];
    next_cursor: string | null;
  }
    ? Name
    : never;
}[keyof Operations];

type ItemOf<Name extends ListName> = Operations[Name]['answer'] extends { data: (infer Item)[] }
  ? Item
  : never;

/** A typed client of the HTTP API. */
export interface Client {
  /** Calls a route by its name, `client.call('GET /api/jobs/{id}', { path: { id } })`. Throws an `ApiError`. */
  call<Name extends keyof Operations>(
    name: Name,
    ...options: Arguments<Name>
  ): Promise<Operations[Name]['answer']>;
  /** All items of a list, page by page. */
  each<Name extends ListName>(name: Name, ...options: Arguments<Name>): AsyncGenerator<ItemOf<Name>>;
}

/** What a server answered that is no success. Recognise it by its `code`. */
export class ApiError extends Error {
  readonly status: number;
  /** The code of the problem; `http_error` for an answer that is none, as of a proxy. */
  readonly code: string;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown>;

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? `The server answered ${status}.`);
    this.name = 'ApiError';
    this.status = status;
    this.code = problem.code ?? 'http_error';
    this.hint = problem.hint;
    this.details = (problem.details as Record<string, unknown>) ?? {};
  }
}

/**
 * Creates a client. It needs nothing but `fetch`, so it runs in browsers too.
 *
 * ```ts
 * const client = createClient({ url: 'http://127.0.0.1:4600', key });
 * const job = await client.call('POST /api/jobs', { body: { type: 'video_transcode', input } });
 * ```
 */
export function createClient({
  url,
  key,
  fetch: send = (input, init) => fetch(input, init),
}: ClientOptions): Client {
  const base = String(url).replace(/\/+$/, '');

  async function call(name: string, options: LooseOptions = {}): Promise<unknown> {
    const [method, template] = name.split(' ') as [string, string];
    const { body, signal, headers, idempotencyKey } = options;
    const response = await send(`${base}${addressOf(template, options)}`, {
      method,
      headers: {
        Accept: 'application/json',
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    const isJson = /^application\/(?:[\w.-]+\+)?json/.test(response.headers.get('content-type') ?? '');
    const answer: unknown = isJson && text !== '' ? JSON.parse(text) : text === '' ? null : text;
    if (response.ok) return answer;
    throw new ApiError(response.status, isJson ? (answer as Problem) : {});
  }

  return {
    call: call as Client['call'],
    async *each(name: string, options: LooseOptions = {}) {
      let cursor: string | null = null;
      do {
        const query: LooseOptions['query'] = { ...options.query, ...(cursor === null ? {} : { cursor }) };
        const page = (await call(name, { ...options, query })) as {
          data: never[];
          next_cursor: string | null;
        };
        yield* page.data;
        cursor = page.next_cursor;
      } while (cursor !== null);
    },
  } as Client;
}

interface LooseOptions {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  idempotencyKey?: string;
}

function addressOf(template: string, { path = {}, query = {} }: LooseOptions): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined) search.append(name, String(one));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}
