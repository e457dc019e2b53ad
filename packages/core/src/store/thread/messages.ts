import type { PlainError } from '../../base/errors.ts';
import type {
  ClaimRequest,
  EngineInfo,
  EngineVerb,
  ExchangeReply,
  HeartbeatState,
  Notification,
  Settlement,
  WatchedTransaction,
} from '../../contract/engine.ts';
import type { HeartbeatResult, LeaseRef } from '../heartbeats.ts';
import type { GrantedLock } from '../lock-renewal.ts';
import type { SharedLeases } from '../shared-leases.ts';
import type { Delivery } from './parked-claims.ts';

/** What the main thread posts to the store's thread. */
export type ToThread =
  | { kind: 'call'; id: number; verb: EngineVerb; input: object }
  /** A call is being made ready. */
  | { kind: 'soon' }
  | { kind: 'probe'; id: number }
  /** Somebody subscribes to notifications. */
  | { kind: 'listen' }
  /** A transaction of the user's own has notifications to send once it has ended. */
  | { kind: 'watch-transaction'; watched: WatchedTransaction }
  | { kind: 'close'; id: number }
  /** The main loop has turned. */
  | { kind: 'pong' }
  | { kind: 'heartbeats-open'; heartbeats: number; node: string; heartbeatMs: number; shared: SharedLeases }
  | { kind: 'heartbeats-drop'; heartbeats: number; leases: LeaseRef[] }
  | { kind: 'heartbeats-begin'; heartbeats: number; id: number; lease: LeaseRef }
  | { kind: 'heartbeats-check'; heartbeats: number }
  | { kind: 'heartbeats-close'; heartbeats: number }
  /** Claims of this node may stand. */
  | { kind: 'parked-open'; node: string; delivered: Int32Array }
  | { kind: 'parked-close'; id: number; node: string }
  /** A lock will be acquired with this token, and is to be renewed from its grant on. */
  | { kind: 'lock-open'; token: string; renewed: BigInt64Array }
  /** A lock that the previous thread renewed. */
  | { kind: 'lock-resume'; token: string; renewed: BigInt64Array; lock: GrantedLock }
  | { kind: 'lock-close'; token: string };

/** What the store's thread posts to the main thread. */
export type FromThread =
  | { kind: 'open'; info: EngineInfo }
  | { kind: 'refused'; error: PlainError }
  | { kind: 'reply'; id: number; reply: unknown }
  | { kind: 'error'; id: number; error: PlainError }
  /** `nodes`: those whose parked claims are being used because of it. */
  | { kind: 'notification'; notification: Notification; nodes: string[] }
  | { kind: 'delivered'; delivered: Delivery }
  /** Jobs that were claimed and that the worker had no time for. */
  | { kind: 'returned'; settle: Settlement[]; reply: ExchangeReply }
  | { kind: 'claim-failed'; claim: ClaimRequest; error: PlainError; tookMs: number }
  | { kind: 'ping' }
  | { kind: 'heartbeat'; heartbeats: number; news: HeartbeatResult }
  | { kind: 'begun'; id: number; state: HeartbeatState['state'] }
  | { kind: 'heartbeats-error'; heartbeats: number; error: PlainError }
  | { kind: 'lock-lost'; token: string };
