import type { Engine } from '../contract/engine.ts';
import type { HeartbeatResult, Heartbeats } from './heartbeats.ts';
import type { LockRenewals } from './lock-renewal.ts';
import type { ParkedClaim, ParkedClaimOptions } from './parked-claim.ts';

/** What heartbeats need besides the store itself. */
export interface StoreHeartbeatsOptions {
  node: string;
  leaseMs: number;
  heartbeatMs: number;
  onHeartbeat(news: HeartbeatResult): void;
  onError?(error: unknown): void;
}

/** An open store: its engine, and what keeps leases alive beside the main loop. */
export interface Store {
  engine: Engine;
  createHeartbeats(options: StoreHeartbeatsOptions): Heartbeats;
  /** Lets claims of a worker stand; missing: a worker that hears of jobs asks for them by itself. */
  openParkedClaim?(options: ParkedClaimOptions): ParkedClaim;
  /** Renews locks beside the main loop; missing: they are renewed in it. */
  locks?: LockRenewals;
  /** A call will follow at once, or so it seems. A thread that slept is awake by the time it comes. */
  expect?(): void;
}
