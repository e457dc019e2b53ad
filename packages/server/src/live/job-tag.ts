import { hash } from 'node:crypto';
import type { Job } from '@duly/core';
import { type JobJson, toJobJson } from '@duly/core/internal';
import { withoutHidden } from '../jobs/job-presenter.ts';
import type { RedactOptions } from '../options.ts';

/**
 * The `tag` is a short string that differs when a job does, for ETags and for streams that go on; `length` is that of its JSON. The lease is left out: a heartbeat every few
 * seconds is no news. Hidden fields are left out too: a reader who knows the rest of the job could try their values against the hash.
 */
export function describeJob(job: Job, redact: Required<RedactOptions>): { tag: string; length: number } {
  const { lease_until_at: _, ...shown }: JobJson = withoutHidden(toJobJson(job, { stack: true }), redact);
  const text = JSON.stringify(shown);
  return { tag: hash('sha256', text, 'base64url').slice(0, 22), length: text.length };
}

/** The tag as an ETag. Weak: what is shown depends on who asks, and leaves the lease aside. */
export function jobEtag(job: Job, redact: Required<RedactOptions>): string {
  return etagOf(describeJob(job, redact).tag);
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
