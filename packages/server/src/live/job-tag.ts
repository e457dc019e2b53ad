import { hash } from 'node:crypto';
import { type Job, type JobJson, toJobJson } from '@duly/core';

/**
 * The `tag` is a short text that differs when a job does, for ETags and for streams that go on; `length` is that of its JSON. The lease is left out: a beat every few seconds is no
 * news. It is made of the whole job whoever asks, so it tells nothing that is not shown to them.
 */
export function describeJob(job: Job): { tag: string; length: number } {
  const { lease_until_at: _, ...shown }: JobJson = toJobJson(job, { stack: true });
  const text = JSON.stringify(shown);
  return { tag: hash('sha256', text, 'base64url').slice(0, 22), length: text.length };
}

/** The tag as an ETag. Weak: what is shown depends on who asks, and leaves the lease aside. */
export function jobEtag(job: Job): string {
  return etagOf(describeJob(job).tag);
}

/** A tag as an ETag. */
export function etagOf(tag: string): string {
  return `W/"${tag}"`;
}

/** Whether `If-None-Match` names this ETag. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const bare = (text: string): string => text.trim().replace(/^W\//, '');
  return header.split(',').some((one) => one.trim() === '*' || bare(one) === bare(etag));
}
