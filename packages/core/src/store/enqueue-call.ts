import type {
  ClaimedJob,
  ClaimRequest,
  Engine,
  EnqueuedItem,
  GroupReply,
  JobSpec,
} from '../contract/engine.ts';

/** The answer to a group of jobs to create, with the store's instant at which it was given. */
export type CreatedGroup = GroupReply<EnqueuedItem> & { now: number };

/** A worker that claims jobs in the transaction that creates them: `now()` starts after one commit. */
export interface ClaimSource {
  /** A claim for its free capacity; null: it has none. Must be answered with `receive`. */
  request(): ClaimRequest | null;
  /** `unknown`: the answer was lost, and leases may have been granted: the worker asks for them again. */
  receive(request: ClaimRequest, claimed: ClaimedJob[] | 'unknown'): void;
}

/** The call that creates jobs. It carries the claim of a worker of this process, if there is one. */
export interface EnqueueCall {
  /** Sends these groups. With `repeat`, the same array was sent before and its answer was lost. */
  send(groups: JobSpec[][], how: { repeat: boolean }): Promise<CreatedGroup[]>;
  /** Its outcome stays unknown: the worker asks for the leases that may have been granted. */
  giveUp(groups: JobSpec[][]): void;
}

/** Creates the call. `claimSource` is called for each send. */
export function createEnqueueCall(
  engine: Pick<Engine, 'enqueue'>,
  claimSource: () => ClaimSource | null,
): EnqueueCall {
  // By the array that is sent. A repeated call repeats the claim even if its worker has no free capacity by
  // then, so that leases which may have been granted do not end as lost: their jobs are released unspent.
  const sent = new WeakMap<JobSpec[][], { claim: ClaimRequest; source: ClaimSource }>();

  return {
    async send(groups, { repeat }) {
      const before = sent.get(groups);
      const source = before?.source ?? claimSource();
      const request = groups.some(isDueNow) ? (source?.request() ?? null) : null;
      const claim = before?.claim ?? request;
      if (claim !== null && source !== null) sent.set(groups, { claim, source });
      let claimed: ClaimedJob[] = [];
      try {
        const reply = await engine.enqueue({
          groups: groups.map((jobs) => ({ jobs })),
          ...(repeat ? { repeat } : {}),
          ...(claim === null ? {} : { claim }),
        });
        claimed = reply.claimed;
        const { now } = reply;
        return reply.groups.map((group) => ({ ...group, now }));
      } finally {
        if (request !== null) source?.receive(request, claimed);
        // No capacity is reserved for this send.
        else if (claim !== null && claimed.length > 0) source?.receive({ ...claim, limit: 0 }, claimed);
      }
    },
    giveUp(groups) {
      const before = sent.get(groups);
      // A limit of 0 claims nothing new.
      before?.source.receive({ ...before.claim, limit: 0 }, 'unknown');
    },
  };
}

function isDueNow(jobs: JobSpec[]): boolean {
  return jobs.some(({ due }) => 'inMs' in due && due.inMs === 0);
}
