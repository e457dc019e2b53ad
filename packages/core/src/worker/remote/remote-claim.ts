// Gives work to a remote worker, and waits for it.

import { parseDuration } from '../../base/duration.ts';
import { type OptionNames, readName, readOptions, readWholeNumber } from '../../base/option-reader.ts';
import { replyElapsed } from '../../base/reply-elapsed.ts';
import type { ClaimRequest } from '../../contract/engine.ts';
import { isAboutJobs } from '../../contract/notifications.ts';
import { nodeHeartbeatMs } from '../../contract/timings.ts';
import { toRemoteJob } from './remote-job.ts';
import { nodeOf, readWorker } from './remote-node.ts';
import type { RemoteClaim, RemoteClaimed } from './remote-protocol.ts';
import type { RemoteParts } from './remote-workers.ts';

const claimNames: OptionNames<RemoteClaim> = {
  worker: true,
  limit: true,
  token: true,
  wait: true,
  signal: true,
};
const unprovenSleepMs = 1_000;

/** Takes work for a worker of this owner, and waits for it if the claim says so. */
export async function claimRemotely(
  { deps, roster, leases }: RemoteParts,
  owner: string | null,
  given: RemoteClaim,
): Promise<RemoteClaimed> {
  const { clock, ids, leaseMs, heartbeatMs, closed } = deps;
  const { worker, limit = 1, token, wait = 0, signal } = readOptions(given, 'claim()', claimNames);
  const info = readWorker(worker, owner);
  const waitMs = parseDuration(wait, 'wait');
  const claim: ClaimRequest = {
    token: token === undefined ? ids.newId('claim') : nodeOf(readName(token, 'token'), owner),
    node: info.id,
    tasks: info.tasks.map(({ type, version }) => ({ type, version, limit: 1_000 })),
    queues: info.queues,
    limit: readWholeNumber(limit, 'limit', 1, 1_000),
    leaseMs,
    idle: info.running === 0,
  };
  const engine = await deps.engine();
  const none = { jobs: [], leaseMs, heartbeatMs };
  const endElapsed = clock.elapsed() + waitMs;
  const isGone = (): boolean => signal?.aborted ?? false;
  let news = new AbortController();
  const types = new Set(info.tasks.map(({ type }) => type));
  const off = engine.subscribe((notification) => {
    if (isAboutJobs(notification, types) || notification.kind === 'disconnected') news.abort();
  });
  try {
    for (let repeat = token !== undefined; ; repeat = false) {
      if (isGone()) return { ...none, drain: false };
      if (await roster.heartbeat(engine, info)) return { ...none, drain: true };
      // Before the question: a notification that comes while it is asked must not be missed.
      if (news.signal.aborted) news = new AbortController();
      const askedElapsed = clock.elapsed();
      const reply = await engine.exchange({ settle: [], claim, repeat });
      const repliedElapsed = replyElapsed(askedElapsed, clock.elapsed());
      roster.received(reply);
      const jobs = await leases.begin(engine, info.id, reply.claimed);
      // This process may have stood still since the claim: a job whose lease has ended is not handed out.
      const isLate = clock.elapsed() - askedElapsed >= leaseMs;
      if (isGone() || isLate) await leases.giveBack(engine, jobs);
      else if (jobs.length > 0) return { ...none, jobs: jobs.map(toRemoteJob), drain: false };
      const leftMs = endElapsed - clock.elapsed();
      if (leftMs <= 0 || isGone()) return { ...none, drain: false };
      const passedMs = clock.elapsed() - repliedElapsed;
      const dueMs =
        reply.nextDueAt === null ? Number.POSITIVE_INFINITY : reply.nextDueAt - reply.now - passedMs;
      const sleepMs = Math.min(
        leftMs,
        Math.max(dueMs, 1),
        Math.max(deps.maxSleepMs(), unprovenSleepMs),
        nodeHeartbeatMs,
      );
      const cuts = [news.signal, closed, ...(signal === undefined ? [] : [signal])];
      await clock.sleep(sleepMs, AbortSignal.any(cuts));
      closed.throwIfAborted();
    }
  } finally {
    off();
  }
}
