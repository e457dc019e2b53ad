import { noteServerDate } from '../time/server-clock.ts';
import { placeOf } from './place.ts';

/** What the server answers when it refuses. */
export interface Problem {
  title: string;
  status: number;
  code: string;
  detail: string;
  hint?: string;
}

/** A request that was refused, or never answered: `status` 0. */
export class RequestError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = 'RequestError';
    this.problem = problem;
  }
}

/** Whether it passes by itself: nobody answered, or whoever did could not reach what it needs. */
export function isPassing(error: unknown): error is RequestError {
  return error instanceof RequestError && [0, 502, 503, 504].includes(error.problem.status);
}

/** Whether the server no longer knows the caller. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof RequestError && error.problem.status === 401;
}

const unreachable: Problem = {
  title: 'Unreachable',
  status: 0,
  code: 'unreachable',
  detail: 'The server cannot be reached.',
  hint: 'It is asked again and again; nothing you see is lost.',
};

/** Values of a query; those that are undefined, null or '' are left out. */
export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    if (Array.isArray(value)) for (const one of value) search.append(name, one);
    else search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Asks the server; throws a `RequestError` that can be shown as it is. */
export async function request<Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  { query = {}, body, signal }: { query?: Query; body?: unknown; signal?: AbortSignal } = {},
): Promise<Answer> {
  let response: Response;
  const askedAt = Date.now();
  try {
    response = await fetch(placeOf(`${path}${searchOf(query)}`), {
      method,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestError(unreachable);
  }
  noteServerDate(response.headers.get('date'), { askedAt, answeredAt: Date.now() });
  const text = await response.text();
  const answer: unknown = text === '' ? null : readJson(text);
  if (response.ok) return answer as Answer;
  throw new RequestError({
    title: response.statusText || 'Refused',
    status: response.status,
    code: 'unknown',
    detail: `The server answered ${response.status}.`,
    ...(typeof answer === 'object' ? answer : {}),
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Reads. */
export function get<Answer>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  return request('GET', path, { query, ...(signal === undefined ? {} : { signal }) });
}

/** Changes. */
export function post<Answer>(path: string, body: unknown = {}): Promise<Answer> {
  return request('POST', path, { body });
}
