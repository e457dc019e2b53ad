import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSeesAll } from '../shell/caller.tsx';
import type { Status } from '../ui/status.tsx';
import type { Count, Page } from './page.ts';
import { get, post, type Query, request } from './request.ts';

/** A pause in force. */
export interface Pause {
  scope: 'all' | 'queue' | 'task';
  name: string | null;
  by: string;
  note: string | null;
  since_at: string;
  until_at: string | null;
}

/** A queue with what is ready in it. */
export interface Queue {
  queue: string;
  paused: boolean;
  pause: Pause | null;
  lanes: { type: string; version: number; ready: Count; oldest_due_at: string | null }[];
}

/** A live node. */
export interface Worker {
  id: string;
  app: string;
  release: string | null;
  host: string;
  pid: number;
  roles: string[];
  tasks: { type: string; version: number }[];
  queues: string[] | null;
  concurrency: number;
  running: number;
  running_by_type: { type: string; count: number }[];
  not_ready: string | null;
  started_at: string;
  beat_at: string;
  silent: boolean;
  drain_requested_at: string | null;
}

/** A key, without its secret. */
export interface Key {
  id: string;
  scope: string;
  tenant: string | null;
  note: string | null;
  created_at: string;
  created_by: string;
  expires_at: string | null;
}

/** Who did what. */
export interface AuditEntry {
  position: number;
  at: string;
  actor: string;
  action: string;
  subject: string;
  before: unknown;
  after: unknown;
  note: string | null;
}

/** All queues, and how many jobs are in each status. */
export function useQueues() {
  return useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => get<Page<Queue> & { status: Record<Status, Count> }>('api/queues', {}, signal),
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
export function useWorkers() {
  return useQuery({
    queryKey: ['workers'],
    queryFn: ({ signal }) => get<Page<Worker>>('api/workers', {}, signal),
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
    refetchInterval: ({ state }) => (state.data?.pages.length === 1 ? 2_000 : false),
  });
}

/** Sends a change to any address of the API, and has everything read again. */
export function useSend<Answer = unknown>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'POST') {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ path, body }: { path: string; body?: unknown }) =>
      method === 'POST'
        ? post<Answer>(path, body)
        : request<Answer>(method, path, body === undefined ? {} : { body }),
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** An alert that fires. */
export interface Alert {
  rule: string;
  subject: string;
  message: string;
  fired_at: string;
  muted: boolean;
}

/** A rule about what to tell a person. Durations are in milliseconds. */
export interface AlertRule {
  id: string;
  kind: string;
  enabled: boolean;
  for: number;
  types: string[] | null;
  channels: string[] | null;
  after?: number;
  above?: number;
  window?: number;
  min_count?: number;
  count?: number;
}

/** Whom alerts are told to. */
export interface AlertChannel {
  id: string;
  kind: string;
  note: string | null;
  to: string;
}

/** A time in which nobody is told: once, or by the calendar. */
export interface AlertWindow {
  id: string;
  note: string | null;
  rules: string[] | null;
  open: boolean;
  from?: string;
  until?: string;
  cron?: string;
  timezone?: string;
  duration?: number;
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

/** A lock that is held now. */
export interface HeldLock {
  kind: 'lock' | 'leader' | 'once';
  name: string;
  holder: { host: string; pid: number; node: string };
  fence: number;
  until: string;
}

/** Who holds which locks. */
export function useLocks(query: Query) {
  return useQuery({
    queryKey: ['locks', query],
    queryFn: ({ signal }) => get<Page<HeldLock>>('api/locks', { limit: 500, ...query }, signal),
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  });
}

/** A task that a worker handles, or has told of. */
export interface Task {
  type: string;
  workers: number;
  version: number | null;
  /** JSON Schema of its input; null: it is not known. */
  input_schema: Record<string, unknown> | null;
}

/** All tasks by name, for those who see the whole store. */
export function useTasks() {
  return useQuery({
    queryKey: ['tasks'],
    queryFn: ({ signal }) => get<Page<Task>>('api/tasks', {}, signal),
    enabled: useSeesAll(),
  });
}
