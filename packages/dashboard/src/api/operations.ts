import type {
  Alert,
  AlertChannel,
  AlertRule,
  AlertWindow,
  AuditEntry,
  Key,
  Lock,
  Node,
  Pause,
  Queues,
  Task,
} from '@duly/server/client';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSeesAll } from '../shell/caller.tsx';
import { useChange } from './change.ts';
import type { Page } from './page.ts';
import { get, post, type Query, request } from './request.ts';

export type {
  Alert,
  AlertChannel,
  AlertRule,
  AlertWindow,
  AuditEntry,
  Key,
  Node,
  Pause,
  Queue,
  Task,
} from '@duly/server/client';

/** All queues, and how many jobs are in each status. */
export function useQueues() {
  return useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => get<Queues>('api/queues', {}, signal),
  });
}

/** The pauses in force. */
export function usePauses() {
  return useQuery({
    queryKey: ['pauses'],
    queryFn: ({ signal }) => get<Page<Pause>>('api/pauses', {}, signal),
  });
}

/** What a pause holds, in words. */
export function pauseName({ scope, name }: Pick<Pause, 'scope' | 'name'>): string {
  return scope === 'all' ? 'everything' : `${scope} ${name}`;
}

/** All live nodes. */
export function useNodes() {
  return useQuery({
    queryKey: ['nodes'],
    queryFn: ({ signal }) => get<Page<Node>>('api/nodes', {}, signal),
  });
}

/** All keys. */
export function useKeys() {
  return useQuery({ queryKey: ['keys'], queryFn: ({ signal }) => get<Page<Key>>('api/keys', {}, signal) });
}

/** The audit, newest first, page after page as they are asked for. */
export function useAudit(query: Query) {
  return useInfiniteQuery({
    queryKey: ['audit', query],
    queryFn: ({ pageParam, signal }) =>
      get<Page<AuditEntry>>('api/audit', { limit: 100, cursor: pageParam, ...query }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: (before) => before,
    meta: { pace: 'own' },
    // Whoever reads what is long past does not wait for what is new.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 ? 2_000 : false),
  });
}

/** Sends a change to any address of the API, and has everything read again. */
export function useSend<Answer = unknown>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'POST') {
  const queries = useQueryClient();
  return useChange({
    mutationFn: ({ path, body }: { path: string; body?: unknown }) =>
      method === 'POST'
        ? post<Answer>(path, body)
        : request<Answer>(method, path, body === undefined ? {} : { body }),
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** What fires now. */
export function useAlerts() {
  return useQuery({
    queryKey: ['alerts'],
    queryFn: ({ signal }) => get<Page<Alert>>('api/alerts', {}, signal),
  });
}

/** All rules. */
export function useAlertRules() {
  return useQuery({
    queryKey: ['alerts', 'rules'],
    queryFn: ({ signal }) => get<Page<AlertRule>>('api/alerts/rules', {}, signal),
  });
}

/** All channels. */
export function useAlertChannels() {
  return useQuery({
    queryKey: ['alerts', 'channels'],
    queryFn: ({ signal }) => get<Page<AlertChannel>>('api/alerts/channels', {}, signal),
  });
}

/** All maintenance windows. */
export function useAlertWindows() {
  return useQuery({
    queryKey: ['alerts', 'windows'],
    queryFn: ({ signal }) => get<Page<AlertWindow>>('api/alerts/windows', {}, signal),
  });
}

/** Who holds which locks. */
export function useLocks(query: Query) {
  return useQuery({
    queryKey: ['locks', query],
    queryFn: ({ signal }) => get<Page<Lock>>('api/locks', { limit: 500, ...query }, signal),
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  });
}

/** All tasks by name, for those who see the whole store; read once somebody wants to see them. */
export function useTasks({ isWanted = true } = {}) {
  return useQuery({
    queryKey: ['tasks'],
    queryFn: ({ signal }) => get<Page<Task>>('api/tasks', {}, signal),
    enabled: useSeesAll() && isWanted,
    // They change with the programs, not with the jobs.
    meta: { pace: 'own' },
    refetchInterval: 5_000,
  });
}
