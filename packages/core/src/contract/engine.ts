/**
 * The engine contract: the one seam between Duly and a store.
 *
 * An engine stores and moves; it does not decide. No cron arithmetic, no backoff, no logging. Every verb
 *
 * - takes one object and is atomic: all of it happened, or nothing did;
 * - takes many groups at once: one caller's group is all or nothing, groups fail alone;
 * - is safe to repeat after an unknown outcome (each verb says how);
 * - takes an optional `now`. Production leaves it out and the store's own clock decides; tests and
 *   simulations set it. Every reply carries the instant that ruled.
 *
 * Expected outcomes are values in the reply; exceptions (a `DulyError` with a code) mean a broken store or a broken caller.
 * The verbs are in verbs.ts. How SQLite, PostgreSQL and Redis each do every verb: docs/internals/engine-contract.md.
 */
import type { Settlement } from './jobs.ts';
import type { Reply, Stamp } from './shared.ts';
import type { EngineVerbs, UserTransactionVerb } from './verbs.ts';

export type * from './coordination.ts';
export type * from './job-fields.ts';
export type * from './jobs.ts';
export type * from './operations.ts';
export type * from './reading.ts';
export type * from './schedules.ts';
export type * from './shared.ts';
export type * from './transfer.ts';
export type * from './values.ts';
export type { EngineVerb, EngineVerbs, UserTransactionVerb, VerbCall, VerbTraits } from './verbs.ts';

/**
 * What a notification is about. `probe` is the engine's own, sent with `probe()`; `disconnected` says that notifications no longer arrive,
 * so that callers poll until the next `probe`.
 */
export type NotificationKind = 'jobs' | 'cancel' | 'schedules' | 'locks' | 'probe' | 'disconnected';

/** Says that there may be work. Polling is the truth. */
export interface Notification {
  kind: NotificationKind;
  /**
   * Of `jobs`: the types of the jobs that are ready now or may become ready earlier than a sleeping worker expects. Left out: any type.
   * An engine may list more types than necessary, never fewer.
   */
  types?: readonly string[];
}

/** What an engine can say about itself; about speed and place, never about correctness. */
export interface EngineInfo {
  kind: 'sqlite' | 'postgres' | 'redis';
  /** Names the store itself, by whatever address it is reached; left out where the place does. */
  id?: number;
  /** Where it is, without secrets. */
  place: string;
  /** Version of the store's software. */
  version: string;
  /** `push`: notifications arrive from other processes. `poll`: only from this one. */
  wake: 'push' | 'poll';
  /** Whether the store is kept when the process ends. */
  durable: boolean;
  /** Whether the store works on several calls of one process at once. Left out: one after the other. */
  isParallel?: boolean;
  /** Things a person should know (an affected SQLite version, a clock that disagrees). */
  warnings: string[];
}

/** Records one outcome inside a transaction of the user's own. */
export interface SettleInTransactionInput extends Stamp {
  settlement: Settlement;
}

/**
 * The store inside a transaction of the user's own: what is done through it is there when they commit, and never was when they roll
 * back. Nothing that others want too is held until then, dedupe keys and the settled job excepted.
 */
export interface UserTransaction
  extends Pick<EngineVerbs, UserTransactionVerb>,
    Partial<Pick<EngineVerbs, UserTransactionVerb<'optional'>>> {
  /** Settles one attempt. If its lease is no longer the caller's, the transaction fails too, and `lease_lost` is thrown. */
  settle(input: SettleInTransactionInput): Promise<Reply>;
}

/** What is to be told once a user's transaction is over. */
export interface WatchedTransaction {
  /** The store's own name for the transaction; null: it is over already. */
  transaction: string | null;
  notifications: Notification[];
}

/** The contract. See the top of this file for what holds for every verb. */
export interface Engine extends EngineVerbs {
  /** Facts about the store, read when it was opened. */
  info(): EngineInfo;

  /** Subscribes to notifications; `probe` arrives for the engine's own `probe()` only. */
  subscribe(listener: (notification: Notification) => void): () => void;
  /** Sends a `probe` notification through the whole path, so that a node can prove that notifications arrive. */
  probe(): Promise<void>;
  /**
   * The store inside a transaction of the user's own, which `tx` stands for. Throws `tx_unknown`, `tx_other_store` or `tx_not_open`. Absent
   * where the store has no such thing.
   */
  userTransaction?(tx: unknown): Promise<UserTransaction>;
  /** Learns what becomes of a user's transaction, and then sends its notifications. Answers at once. Present where `userTransaction` is. */
  watchTransaction?(watched: WatchedTransaction): void;
  /** Closes the store; every later call fails with `store_closed`. */
  close(): Promise<void>;
}
