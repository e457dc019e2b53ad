import { useQuery } from '@tanstack/react-query';
import type { Job } from './jobs.ts';
import type { Page } from './page.ts';
import { get } from './request.ts';

/** How a job can end, as a webhook chooses among them. */
export const ends = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'] as const;

/** An address that is told of the ends of jobs. */
export interface Webhook {
  id: string;
  url: string;
  note: string | null;
  tenant: string | null;
  types: string[] | null;
  schedules: string[] | null;
  statuses: (typeof ends)[number][] | null;
  enabled: boolean;
  /** Why nothing is sent to it, where it was not a person who disabled it. */
  disabled_reason: string | null;
  created_at: string;
  created_by: string;
}

/** All webhooks. */
export function useWebhooks() {
  return useQuery({
    queryKey: ['webhooks'],
    queryFn: ({ signal }) => get<Page<Webhook>>('api/webhooks', {}, signal),
  });
}

/** One webhook. */
export function useWebhook(id: string) {
  return useQuery({
    queryKey: ['webhooks', id],
    queryFn: ({ signal }) => get<Webhook>(`api/webhooks/${encodeURIComponent(id)}`, {}, signal),
  });
}

/** The secrets in use, the newest first; read once somebody wants to see them, and not kept. */
export function useWebhookSecrets(id: string, isWanted: boolean) {
  return useQuery({
    queryKey: ['webhooks', id, 'secrets'],
    queryFn: ({ signal }) =>
      get<{ secrets: string[] }>(`api/webhooks/${encodeURIComponent(id)}/secrets`, {}, signal),
    enabled: isWanted,
    gcTime: 0,
  });
}

/** Its last deliveries, newest first. Each is a job with all its tries. */
export function useDeliveries(id: string) {
  return useQuery({
    queryKey: ['webhooks', id, 'deliveries'],
    queryFn: ({ signal }) =>
      get<Page<Job>>('api/jobs', { type: 'duly:webhook', 'input.endpoint': id, limit: 50 }, signal),
  });
}
