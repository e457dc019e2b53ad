import type { AttemptJson, JobJson } from '@duly/core/internal';
import type { DeadGroups, JobBulkResult, LogLine, Upcoming, Why } from '@duly/server/client';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import type { JobFilter } from '../search/job-search.ts';
import { useChange } from './change.ts';
import type { Count, Page } from './page.ts';
import { get, post, type Query } from './request.ts';

export type { DeadGroup } from '@duly/server/client';

/** A job as the API shows it. */
export type Job = JobJson;

/** An input in one line. What is long was cut, and is a text already. */
export function inputText(input: unknown): string {
  return typeof input === 'string' ? input : (JSON.stringify(input) ?? 'null');
}

/** The newest jobs that match, read again with every change. */
export function useNewestJobs(query: Query, { isPaused = false, limit = 100 } = {}) {
  return useQuery({
    queryKey: ['jobs', query, limit],
    queryFn: ({ signal }) => get<Page<Job>>('api/jobs', { ...query, limit, brief: true }, signal),
    enabled: !isPaused,
    placeholderData: (before) => before,
  });
}

/** How many match. Counting takes longer than reading the first of them, so it is asked for by itself and less often. */
export function useJobTotal(query: Query, { isPaused = false } = {}) {
  return useQuery({
    queryKey: ['jobs', 'total', query],
    queryFn: ({ signal }) =>
      get<Page<Job> & { total: Count }>(
        'api/jobs',
        { ...query, limit: 1, count: 'true', brief: true },
        signal,
      ),
    enabled: !isPaused,
    meta: { pace: 'own' },
    refetchInterval: 5_000,
  });
}

/** A page of those that were made before the ones at a cursor. */
export function readOlderJobs(query: Query, cursor: string): Promise<Page<Job>> {
  return get<Page<Job>>('api/jobs', { ...query, limit: 200, cursor, brief: true });
}

/** What falls due in the coming hour, by the minute, and the earliest of it. */
export function useUpcoming(limit: number) {
  return useQuery({
    queryKey: ['jobs', 'upcoming', limit],
    queryFn: ({ signal }) => get<Upcoming>('api/upcoming', { within: '1h', limit }, signal),
    // Counting may look at many jobs, so it is not done with every change.
    meta: { pace: 'own' },
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  });
}

/** The jobs that were made inside this one. */
export function useChildren(id: string) {
  return useQuery({
    queryKey: ['jobs', 'children', id],
    queryFn: ({ signal }) => get<Page<Job>>('api/jobs', { parent: id, limit: 50, brief: true }, signal),
  });
}

/** What is read of one job is read again when this one changes: it may be large, and the store busy with others. */
const ofJob = (id: string) => ({ meta: { job: id }, refetchInterval: 10_000 });

/** One job. */
export function useJob(id: string) {
  return useQuery({
    queryKey: ['job', id],
    queryFn: ({ signal }) => get<Job>(`api/jobs/${encodeURIComponent(id)}`, {}, signal),
    ...ofJob(id),
  });
}

/** Its attempts, oldest first. */
export function useAttempts(id: string) {
  return useQuery({
    queryKey: ['job', id, 'attempts'],
    queryFn: ({ signal }) =>
      get<Page<AttemptJson>>(`api/jobs/${encodeURIComponent(id)}/attempts`, {}, signal),
    ...ofJob(id),
  });
}

/** More lines than this are nothing to read in a page. */
const lineCountMax = 5_000;

/** What its handler wrote: the newest lines, of which only those that are new are read again. */
export function useLogs(id: string) {
  const queryKey = ['job', id, 'logs'];
  return useQuery({
    queryKey,
    queryFn: async ({ client, signal }) => {
      let lines = client.getQueryData<LogLine[]>(queryKey) ?? [];
      let page: Page<LogLine>;
      do {
        const cursor = lines.at(-1)?.n;
        page = await get<Page<LogLine>>(
          `api/jobs/${encodeURIComponent(id)}/logs`,
          { limit: 1_000, cursor },
          signal,
        );
        if (page.data.length > 0) lines = [...lines, ...page.data].slice(-lineCountMax);
      } while (page.has_more);
      return lines;
    },
    ...ofJob(id),
  });
}

/** Why it is as it is. */
export function useWhy(id: string) {
  return useQuery({
    queryKey: ['job', id, 'why'],
    queryFn: ({ signal }) => get<Why>(`api/jobs/${encodeURIComponent(id)}/why`, {}, signal),
  });
}

function afterwards(queries: QueryClient) {
  return () => queries.invalidateQueries();
}

/** Does something to one job: `cancel`, `retry`, `run-again`. */
export function useJobAction(id: string, action: 'cancel' | 'retry' | 'run-again') {
  const queries = useQueryClient();
  return useChange({
    mutationFn: (body: unknown = {}) => post<Job>(`api/jobs/${encodeURIComponent(id)}/${action}`, body),
    onSuccess: afterwards(queries),
  });
}

/** Which jobs an action on many is for, and where it is sent. */
export type BulkTarget =
  | { path: 'api/jobs/bulk'; action: 'cancel' | 'retry'; filter: JobFilter }
  | {
      path: 'api/dead/retry' | 'api/dead/discard';
      which: { group: ErrorCause } | { all: true };
    };

/** What an action would do, counted at one instant. The action itself is held to it. */
export interface BulkCount {
  target: BulkTarget;
  changed: number;
  refused: number;
  asOf: string;
  ids: string[];
  /** Some of the jobs that would change, the newest. */
  samples: Job[];
}

/** As many as show what kind of jobs they are. */
const sampleCount = 5;

function bulkBody(target: BulkTarget): Record<string, unknown> {
  return target.path === 'api/jobs/bulk'
    ? { action: target.action, filter: target.filter }
    : { ...target.which };
}

/** Counts what an action would do, and reads some of the jobs. Changes nothing. */
export function useBulkCount() {
  return useChange({
    mutationFn: async (target: BulkTarget): Promise<BulkCount> => {
      const body = { ...bulkBody(target), dry_run: true };
      const { changed, refused, as_of = '', ids = [] } = await post<JobBulkResult>(target.path, body);
      const query = { ids: ids.slice(0, sampleCount), limit: sampleCount, brief: true };
      const samples = ids.length === 0 ? [] : (await get<Page<Job>>('api/jobs', query)).data;
      return { target, changed, refused, asOf: as_of, ids, samples };
    },
  });
}

/** Does what was counted, to the jobs whose ids were counted and to no others. */
export function useBulkAct({ onDone }: { onDone: (changed: number, count: BulkCount) => void }) {
  const queries = useQueryClient();
  return useChange({
    mutationFn: ({ target, asOf, ids }: BulkCount) => {
      const guards = { as_of: asOf, expected: ids.length };
      if (target.path !== 'api/jobs/bulk') {
        return post<JobBulkResult>(target.path, { filter: { ids }, ...guards });
      }
      const { action, filter } = target;
      return post<JobBulkResult>(target.path, { action, filter: { ...filter, ids }, ...guards });
    },
    // Said even if the page that asked is gone.
    onSuccess: ({ changed }, count) => onDone(changed, count),
    onSettled: () => queries.invalidateQueries(),
  });
}

/** What dead letters of one group have in common. */
export interface ErrorCause {
  type: string;
  name: string;
  pattern: string;
}

/** What is asked for when something is done to a group. */
export function causeIn({ type, name, pattern }: ErrorCause): ErrorCause {
  return { type, name, pattern };
}

/** What dead letters of a group have in common, in words. */
export function causeWords({ type, name, pattern }: ErrorCause): string[] {
  return [`type is ${type}`, `error is ${name}: ${pattern}`];
}

/** A group by one text. */
export function causeKey({ type, name, pattern }: ErrorCause): string {
  return `${type}\n${name}\n${pattern}`;
}

/** Dead letters by cause, the largest groups first. Thousands are looked at, so they are not read with every change. */
export function useDeadGroups(limit: number) {
  return useQuery({
    queryKey: ['dead', 'groups', limit],
    queryFn: ({ signal }) => get<DeadGroups>('api/dead/groups', { limit }, signal),
    placeholderData: (before) => before,
    meta: { pace: 'own' },
    refetchInterval: ({ state }) => ((state.data?.looked_at.count ?? 0) > 500 ? 15_000 : 2_000),
  });
}

/** Brings one dead letter back, or takes it off the list. */
export function useDeadAction(verb: 'retry' | 'discard') {
  const queries = useQueryClient();
  return useChange({
    mutationFn: (id: string) => post<JobBulkResult>(`api/dead/${verb}`, { filter: { ids: [id] } }),
    onSuccess: () => queries.invalidateQueries(),
  });
}
