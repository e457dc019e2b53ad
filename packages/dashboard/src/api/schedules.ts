import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Status } from '../ui/status.tsx';
import type { Page } from './page.ts';
import { get, post, type Query, request } from './request.ts';

/** A schedule as the API shows it, as far as the dashboard reads it. */
export interface Schedule {
  id: string;
  name: string;
  type: string;
  app: string | null;
  tenant: string | null;
  status: 'active' | 'paused' | 'disabled' | 'ended' | 'deleted';
  kind: 'cron' | 'rate' | 'delay' | 'rrule';
  cron?: unknown;
  rate?: unknown;
  delay?: unknown;
  rrule?: unknown;
  timezone: string;
  words: string;
  unreadable: { code: string; message: string; hint: string | null } | null;
  next_slot: string | null;
  next_run_at: string | null;
  last_run: {
    slot: string;
    job_id: string;
    status: Status | null;
    duration_ms: number | null;
    lateness_ms: number | null;
  } | null;
  skips: string[];
  paused: {
    by: string | null;
    note: string | null;
    at: string;
    until_at: string | null;
    cause: string;
  } | null;
  flagged: { at: string; failure_count: number } | null;
  drift: {
    kind: 'overridden' | 'undeclared';
    fields: { field: string; declared: unknown; stands: unknown }[];
    by: string | null;
    at: string | null;
    note: string | null;
  } | null;
  policies: Record<string, unknown>;
  input: unknown;
  queue: string;
  priority: number;
  fired_count: number;
  failures_in_row: number;
  note: string | null;
  created_at: string;
  updated_at: string;
}

/** A line of the ledger: a slot, or a run of slots with one decision. */
export interface LedgerSlot {
  slot: string;
  to: string;
  count: number | null;
  status: string;
  decision: string | null;
  reason: string | null;
  folded: { month: string; counts: { decision: string; count: number }[] } | null;
  node: string | null;
  decided_at: string | null;
  runs: { id: string; origin: string; status: Status; lateness_ms: number | null }[];
}

/** A slot to come. */
export interface ComingSlot {
  slot: string;
  local: string;
  gap: { date: string; time: string } | null;
  repeat: 'first' | 'last' | null;
}

/** The schedules that a search finds, by name, page after page as they are asked for. The more were, the more seldom they are read again. */
export function useScheduleList(search: string) {
  return useInfiniteQuery({
    queryKey: ['schedules', 'list', search],
    queryFn: ({ pageParam, signal }) =>
      get<Page<Schedule>>('api/schedules', { limit: 100, search, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: (before) => before,
    meta: { pace: 'own' },
    refetchInterval: ({ state }) => 1_000 * Math.max(2, state.data?.pages.length ?? 0),
  });
}

/** The first schedules, by name. */
export function useSchedules(query: Query = {}) {
  return useQuery({
    queryKey: ['schedules', query],
    queryFn: ({ signal }) => get<Page<Schedule>>('api/schedules', { limit: 500, ...query }, signal),
    placeholderData: (before) => before,
  });
}

/** One schedule. */
export function useSchedule(id: string) {
  return useQuery({
    queryKey: ['schedule', id],
    queryFn: ({ signal }) => get<Schedule>(`api/schedules/${encodeURIComponent(id)}`, {}, signal),
  });
}

/** Its ledger, newest first. */
export function useSlots(id: string, query: Query = {}) {
  return useQuery({
    queryKey: ['schedule', id, 'slots', query],
    queryFn: ({ signal }) =>
      get<Page<LedgerSlot>>(`api/schedules/${encodeURIComponent(id)}/slots`, { limit: 50, ...query }, signal),
  });
}

/** Its last slots, for a strip: one of many on a page, so they are read at their own pace. */
export function useLastSlots(id: string) {
  return useQuery({
    queryKey: ['schedule', id, 'strip'],
    queryFn: ({ signal }) =>
      get<Page<LedgerSlot>>(`api/schedules/${encodeURIComponent(id)}/slots`, { limit: 50 }, signal),
    meta: { pace: 'own' },
    refetchInterval: 5_000,
  });
}

/** What comes next of a stored schedule. */
export function useComing(id: string, count = 10) {
  return useQuery({
    queryKey: ['schedule', id, 'preview', count],
    queryFn: ({ signal }) =>
      get<{ data: ComingSlot[] }>(`api/schedules/${encodeURIComponent(id)}/preview`, { count }, signal),
  });
}

/** A rule as it would be: in words, and what comes next. */
export interface Preview {
  words: string;
  timezone: string;
  slots: ComingSlot[];
}

/** Reads a rule that is being typed. */
export function usePreview(rule: Record<string, unknown> | null, count = 5) {
  return useQuery({
    queryKey: ['preview', rule, count],
    queryFn: () => post<Preview>('api/schedules/preview', { ...rule, count }),
    enabled: rule !== null,
    retry: false,
    placeholderData: (before) => before,
  });
}

/** Does something to a schedule: `pause`, `resume`, `trigger`, `skip-next`, `backfill`, `revert`. */
export function useScheduleAction<Answer = unknown>(id: string, action: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: unknown = {}) =>
      post<Answer>(`api/schedules/${encodeURIComponent(id)}/${action}`, body),
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** Changes a schedule; null takes a field back to its default. */
export function useScheduleEdit(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (changes: Record<string, unknown>) =>
      request<Schedule>('PATCH', `api/schedules/${encodeURIComponent(id)}`, { body: changes }),
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** Spreads the runs of a schedule. */
export function giveJitter(id: string, jitterMs: number): Promise<Schedule> {
  return request<Schedule>('PATCH', `api/schedules/${encodeURIComponent(id)}`, {
    body: { jitter: jitterMs, edit_note: 'advised by the forecast' },
  });
}

/** The slots of all schedules in a stretch of time. */
export interface Day {
  now: string;
  has_more: boolean;
  data: {
    id: string;
    name: string;
    type: string;
    timezone: string;
    words: string;
    paused: boolean;
    slots: { slot: string; to: string; count: number | null; status: string }[];
    capped: boolean;
  }[];
}

/** What became of the slots of that time, and what is to come. */
export function useDay(from: number, to: number) {
  return useQuery({
    queryKey: ['day', from, to],
    queryFn: ({ signal }) =>
      get<Day>('api/day', { from: new Date(from).toISOString(), to: new Date(to).toISOString() }, signal),
    placeholderData: (before) => before,
  });
}
