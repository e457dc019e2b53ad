import type { SigningSecrets, Webhook } from '@duly/server/client';
import { useQuery } from '@tanstack/react-query';
import type { Job } from './jobs.ts';
import type { Page } from './page.ts';
import { get } from './request.ts';

export type { Webhook } from '@duly/server/client';

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
      get<SigningSecrets>(`api/webhooks/${encodeURIComponent(id)}/secrets`, {}, signal),
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
