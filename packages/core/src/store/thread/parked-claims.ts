import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type {
  ClaimedJob,
  ClaimRequest,
  Engine,
  ExchangeReply,
  Notification,
  Settlement,
} from '../../contract/engine.ts';
import { isAboutJobs } from '../../contract/notifications.ts';
import { settlementOf } from '../../lifecycle/settle.ts';

/** What a claim that stood was given. Plain data: it travels to the worker's thread. */
export interface Delivery {
  claim: ClaimRequest;
  /** The worker takes the jobs by changing this number, in the word it shares with the thread, to `noDelivery`. */
  number: number;
  reply: ExchangeReply;
  tookMs: number;
}

/** The word that a worker and the thread share, when nothing waits to be taken. */
export const noDelivery = 0;

/** What parked claims are made of. */
export interface ParkedClaimsOptions {
  engine: Pick<Engine, 'exchange'>;
  clock: Clock;
  random: Random;
  /** A claim was used, and given jobs or nothing. */
  onDelivered(delivered: Delivery): void;
  /** A claim was used and failed. */
  onFailed(claim: ClaimRequest, error: unknown, tookMs: number): void;
  /** These were not taken in time and go back now: their leases are to be renewed no longer. */
  onNotTaken(jobs: ClaimedJob[]): void;
  /** They went back. */
  onReturned(settle: Settlement[], reply: ExchangeReply): void;
}

/** Claims of workers that have nothing to do, kept where jobs are heard of first. */
export interface ParkedClaims {
  /** Claims of this node may stand from now on. */
  open(node: string, delivered: Int32Array): void;
  /** A claim goes out: the one that its worker left before stands no more. */
  begin(claim: ClaimRequest): void;
  /** It is answered, or failed (null). That of a worker that does nothing stands from here on, if it found nothing. */
  end(claim: ClaimRequest, reply: ExchangeReply | null): void;
  /** There may be jobs: reports whose parked claims ask for one of their types, and then uses these claims. */
  use(notification: Notification, onBegin: (nodes: string[]) => void): void;
  /** Claims of this node stand no more; resolves when none is being used. */
  close(node: string): Promise<void>;
}

interface NodeClaims {
  delivered: Int32Array;
  /** Claims of the node that are on their way. */
  onTheWay: number;
  parked: ClaimRequest | null;
  using: Promise<void> | null;
}

// A worker whose main loop has not turned for so long has no time for jobs, and others may. As long as a job waits there for a place.
const takeMsMax = 250;
const numberMax = 0x7fff_ffff;

/** Makes room for parked claims. */
export function createParkedClaims(options: ParkedClaimsOptions): ParkedClaims {
  const { engine, clock, random, onDelivered, onFailed, onNotTaken, onReturned } = options;
  const claimsByNode = new Map<string, NodeClaims>();
  let lastNumber = 0;

  async function useOne(claims: NodeClaims, claim: ClaimRequest): Promise<void> {
    const sinceElapsed = clock.elapsed();
    claims.onTheWay++;
    try {
      const reply = await engine.exchange({ settle: [], claim });
      lastNumber = (lastNumber % numberMax) + 1;
      if (reply.claimed.length > 0) deliver(claims, lastNumber, reply.claimed);
      onDelivered({ claim, number: lastNumber, reply, tookMs: clock.elapsed() - sinceElapsed });
      answered(claims, claim, reply);
    } catch (error) {
      answered(claims, claim, null);
      onFailed(claim, error, clock.elapsed() - sinceElapsed);
    }
  }

  /** Of the worker, who takes them, and the timer, who takes them back, one comes first. */
  function deliver(claims: NodeClaims, number: number, jobs: ClaimedJob[]): void {
    Atomics.store(claims.delivered, 0, number);
    clock.after(takeMsMax, () => void returnJobs(claims, number, jobs), { unref: true });
  }

  async function returnJobs(claims: NodeClaims, number: number, jobs: ClaimedJob[]): Promise<void> {
    if (Atomics.compareExchange(claims.delivered, 0, number, noDelivery) !== number) return;
    onNotTaken(jobs);
    const outcome = { kind: 'released', started: false, stopped: true } as const;
    const settle = jobs.map((job) => settlementOf({ job, outcome, report: null, random, backoff: null }));
    // A store that cannot take them now lets their leases end by themselves.
    const reply = await engine.exchange({ settle, claim: null }).catch(() => null);
    if (reply !== null) onReturned(settle, reply);
  }

  function answered(claims: NodeClaims, claim: ClaimRequest, reply: ExchangeReply | null): void {
    claims.onTheWay--;
    const isNothing =
      reply !== null && reply.claimed.length === 0 && !reply.more && reply.soloSinceAt === null;
    // What was given before must be taken first, and only a worker that is idle is sure to be so until its next claim.
    const isFree = claims.onTheWay === 0 && Atomics.load(claims.delivered, 0) === noDelivery;
    if (isNothing && isFree && claim.idle && claim.limit > 0) claims.parked = claim;
  }

  return {
    open(node, delivered) {
      Atomics.store(delivered, 0, noDelivery);
      claimsByNode.set(node, { delivered, onTheWay: 0, parked: null, using: null });
    },
    begin({ node }) {
      const claims = claimsByNode.get(node);
      if (claims === undefined) return;
      claims.onTheWay++;
      claims.parked = null;
    },
    end(claim, reply) {
      const claims = claimsByNode.get(claim.node);
      // Closed and opened again in between, it is not the one that began.
      if (claims !== undefined && claims.onTheWay > 0) answered(claims, claim, reply);
    },
    use(notification, onBegin) {
      const used = [...claimsByNode].filter(
        ([, { parked }]) => parked !== null && isAboutJobs(notification, typesOf(parked)),
      );
      onBegin(used.map(([node]) => node));
      for (const [, claims] of used) {
        const claim = claims.parked as ClaimRequest;
        claims.parked = null;
        claims.using = useOne(claims, claim);
      }
    },
    async close(node) {
      const claims = claimsByNode.get(node);
      claimsByNode.delete(node);
      await claims?.using;
    },
  };
}

function typesOf({ tasks }: ClaimRequest): Set<string> {
  return new Set(tasks.map(({ type }) => type));
}
