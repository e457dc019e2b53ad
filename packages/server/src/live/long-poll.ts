import { isTerminal, type Job } from '@duly/core';
import { z } from '@hono/zod-openapi';
import type { ServerContext } from '../http/context.ts';
import { waitSecondsMax } from '../request/wait.ts';
import { etagOf, jobEtag, matchesEtag } from './job-tag.ts';

/** How long to wait for news, as a query. */
export const waitQuery = z.strictObject({
  wait: z.coerce.number().min(0).max(waitSecondsMax).optional().openapi({
    type: 'number',
    description:
      'Seconds to wait until the status or the progress changes, at most 60: from what `If-None-Match` names, or from now on. `Prefer: wait=30` is the same. A job that is over is shown at once.',
  }),
});

/** Reads how long to wait: from the query, or from `Prefer: wait=30` (RFC 7240), of which more than the most is cut. */
export function readWait(
  query: number | undefined,
  prefer: string | undefined,
): { ms: number; preferred: boolean } {
  if (query !== undefined) return { ms: query * 1_000, preferred: false };
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(prefer ?? '') ?? [];
  if (seconds === undefined) return { ms: 0, preferred: false };
  return { ms: Math.min(Number(seconds), waitSecondsMax) * 1_000, preferred: true };
}

/**
 * The job once it differs from what is known, which is what `If-None-Match` says or else the job as it was read; after the wait as it is. Answers at once when it
 * differs already or is over.
 */
export async function changedJob(
  { live, clock, options }: Pick<ServerContext, 'live' | 'clock' | 'options'>,
  ask: { actor: string; job: Job; known: string | undefined; waitMs: number; signal(): AbortSignal },
): Promise<Job> {
  const { job, known, waitMs } = ask;
  // Most requests know no ETag and do not wait.
  if (waitMs === 0 || isTerminal(job.status)) return job;
  const etag = jobEtag(job, options.redact);
  const isNews = known !== undefined && !matchesEtag(known, etag);
  if (isNews) return job;
  // Only asked for here: to have one costs.
  const signal = ask.signal();
  const watch = await live.watchJob(job.id, { actor: ask.actor });
  const timer = clock.after(waitMs, () => watch.close(), { unref: true });
  const leave = (): void => watch.close();
  signal.addEventListener('abort', leave, { once: true });
  try {
    for (;;) {
      const state = watch.state();
      if (etagOf(state.tag) !== etag) return await state.job();
      if (watch.isClosed || signal.aborted) return job;
      await watch.changed();
    }
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', leave);
    watch.close();
  }
}
