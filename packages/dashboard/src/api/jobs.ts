import type { AttemptJson, JobJson } from '@duly/core';
import {
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import type { Count, Page } from './page.ts';
import { get, post, type Query } from './request.ts';

/** A job as the API shows it. */
export type Job = JobJson;

/** A line that a handler wrote. */
export interface LogLine {
  attempt: number;
  at: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
}

/** The sentence that explains a job. */
export interface Why {
  sentence: string;
}

/** Newest first, page after page. */
export function useJobs(query: Query, { isHeld = false } = {}) {
  return useInfiniteQuery({
    queryKey: ['jobs', query],
    queryFn: ({ pageParam, signal }) =>
      get<Page<Job> & { total?: Count }>(
        'api/jobs',
        { ...query, limit: 100, cursor: pageParam, count: pageParam === null ? 'true' : null },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.next_cursor : undefined),
    enabled: !isHeld,
    placeholderData: (before) => before,
  });
}

/** One job. */
export function useJob(id: string) {
  return useQuery({ queryKey: ['job', id], queryFn: ({ signal }) => get<Job>(`api/jobs/${id}`, {}, signal) });
}

/** Its attempts, oldest first. */
export function useAttempts(id: string) {
  return useQuery({
    queryKey: ['job', id, 'attempts'],
    queryFn: ({ signal }) => get<Page<AttemptJson>>(`api/jobs/${id}/attempts`, {}, signal),
  });
}

/** What its handler wrote. */
export function useLogs(id: string) {
  return useQuery({
    queryKey: ['job', id, 'logs'],
    queryFn: ({ signal }) => get<Page<LogLine>>(`api/jobs/${id}/logs`, { limit: 1_000 }, signal),
  });
}

/** Why it is as it is. */
export function useWhy(id: string) {
  return useQuery({
    queryKey: ['job', id, 'why'],
    queryFn: ({ signal }) => get<Why>(`api/jobs/${id}/why`, {}, signal),
  });
}

function afterwards(queries: QueryClient) {
  return () => queries.invalidateQueries();
}

/** Does something to one job: `cancel`, `retry`, `run-again`. */
export function useJobAction(id: string, action: 'cancel' | 'retry' | 'run-again') {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: unknown = {}) => post<Job>(`api/jobs/${id}/${action}`, body),
    onSuccess: afterwards(queries),
  });
}

/** What a bulk action came to, or would. */
export interface BulkResult {
  changed: number;
  /** They match, and their status does not allow it. */
  refused: number;
  dry_run: boolean;
}

/** Does something to every job that matches. */
export function useBulk() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: { action: 'cancel' | 'retry' | 'discard'; filter: unknown; dry_run: boolean }) =>
      post<BulkResult>('api/jobs/bulk', body),
    onSuccess: (_answer, { dry_run }) => (dry_run ? undefined : queries.invalidateQueries()),
  });
}

/** Dead letters, newest first. */
export function useDead(query: Query) {
  return useQuery({
    queryKey: ['dead', query],
    queryFn: ({ signal }) =>
      get<Page<Job> & { total?: Count }>('api/dead', { ...query, limit: 500, count: 'true' }, signal),
    placeholderData: (before) => before,
  });
}

/** Brings dead letters back, or takes them off the list. */
export function useDeadAction(verb: 'replay' | 'discard') {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: { filter?: unknown; all?: true; dry_run?: boolean }) =>
      post<BulkResult>(`api/dead/${verb}`, body),
    onSuccess: () => queries.invalidateQueries(),
  });
}
