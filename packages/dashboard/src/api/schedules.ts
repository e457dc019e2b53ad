import type { ComingSlot, Day, LedgerSlot, RulePreview, Schedule } from '@duly/server/client';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useChange } from './change.ts';
import type { Page } from './page.ts';
import { get, post, type Query, request } from './request.ts';

export type { Day, LedgerSlot, Schedule } from '@duly/server/client';

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

/** The schedules that are due next. */
export function useDueSchedules(limit: number) {
  return useQuery({
    queryKey: ['schedules', 'due', limit],
    queryFn: ({ signal }) => get<Page<Schedule>>('api/schedules', { order: 'due', limit }, signal),
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

/** Its ledger, newest first, page after page as they are asked for. */
export function useLedger(id: string) {
  return useInfiniteQuery({
    queryKey: ['schedule', id, 'ledger'],
    queryFn: ({ pageParam, signal }) =>
      get<Page<LedgerSlot>>(
        `api/schedules/${encodeURIComponent(id)}/slots`,
        { limit: 100, cursor: pageParam },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    meta: { pace: 'own' },
    refetchInterval: ({ state }) => 1_000 * Math.max(2, state.data?.pages.length ?? 0),
  });
}

/** Its last slots, for a strip: one of many on a page, so they are read at their own pace. */
export function useLastSlots(id: string) {
  return useQuery({
    queryKey: ['schedule', id, 'strip'],
    queryFn: ({ signal }) =>
      get<Page<LedgerSlot>>(`api/schedules/${encodeURIComponent(id)}/slots`, { limit: 50 }, signal),
    meta: { pace: 'own' },
    refetchInterval: 10_000,
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

/** Reads a rule that is being typed. */
export function usePreview(rule: Record<string, unknown> | null, count = 5) {
  return useQuery({
    queryKey: ['preview', rule, count],
    queryFn: () => post<RulePreview>('api/schedules/preview', { ...rule, count }),
    enabled: rule !== null,
    retry: false,
    placeholderData: (before) => before,
  });
}

/** Does something to a schedule: `pause`, `resume`, `trigger`, `skip-next`, `backfill`, `revert`. */
export function useScheduleAction<Answer = unknown>(id: string, action: string) {
  const queries = useQueryClient();
  return useChange({
    mutationFn: (body: unknown = {}) =>
      post<Answer>(`api/schedules/${encodeURIComponent(id)}/${action}`, body),
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** Changes a schedule; null takes a field back to its default. */
export function useScheduleEdit(id: string) {
  const queries = useQueryClient();
  return useChange({
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

function readDay(from: number, to: number, query: Query, signal: AbortSignal): Promise<Day> {
  const span = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  return get<Day>('api/day', { ...span, ...query }, signal);
}

/** What became of the slots of that time, and what is to come: schedules by name, page after page as they are asked for. */
export function useDay(from: number, to: number) {
  return useInfiniteQuery({
    queryKey: ['day', from, to],
    queryFn: ({ pageParam, signal }) => readDay(from, to, { cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: (before) => before,
    meta: { pace: 'own' },
    // Two hundred schedules a page are played for it.
    refetchInterval: ({ state }) => 5_000 * Math.max(1, state.data?.pages.length ?? 0),
  });
}

/** What is to come in that time, of the schedules that are due next. */
export function useComingSlots(from: number, to: number) {
  return useQuery({
    queryKey: ['day', 'due', from, to],
    queryFn: ({ signal }) => readDay(from, to, { order: 'due' }, signal),
    placeholderData: (before) => before,
    // Hundreds of rules are played for it, and what is to come changes with the schedules and not with the jobs.
    meta: { pace: 'own' },
    refetchInterval: 10_000,
  });
}
