import type { ContestantPlace } from './contestant.ts';
import type { Target } from './result.ts';
import type { Entrant } from './session.ts';

/** A store's own room: where its contestants are and how a fresh store comes to be. */
export interface EngineRoom {
  readonly name: string;
  /** In words, for the head of the report. */
  readonly settings: string;
  readonly bare: Entrant;
  readonly peers: readonly Entrant[];
  /** The targets of this store, where stores differ. */
  readonly targets: RoomTargets;
  /** A fresh, empty place; `remove` takes it away again. */
  createPlace(): Promise<ContestantPlace & { remove(): Promise<void> }>;
  /** A place with the same content as another, whose contestants have ended. */
  copyPlace(from: ContestantPlace): Promise<ContestantPlace & { remove(): Promise<void> }>;
  /** A fresh place on a store with the settings it comes with, where those of `createPlace` are others. */
  createDefaultPlace?(): Promise<ContestantPlace & { remove(): Promise<void> }>;
  /** Bytes of the tables that every job passes through and leaves, indexes included; left out: the store has no such tables. */
  hotBytes?(place: ContestantPlace): Promise<number>;
  /** Sessions that read the whole of a place again and again, each in long transactions; answers how to end them. */
  readAlong?(place: ContestantPlace, count: number): Promise<() => Promise<void>>;
  /** Opens a transaction that keeps seeing what is there now, and leaves it open; answers how to end it. */
  holdSnapshot?(place: ContestantPlace): Promise<() => Promise<void>>;
  /** Processor time that the store's own processes have used so far; left out: it has none. */
  processorMs?(): Promise<number>;
  /** Ends what the room itself started. */
  close?(): Promise<void>;
}

/** Targets by what is measured; one that is missing is none. */
export interface RoomTargets {
  drain: Target;
  /** `now()` with 100 in flight; and beside a bare loop that notifies with each insert. */
  inFlight?: Target;
  inFlightNotifying?: Target;
  bulk?: Target;
  /** 10,000 schedules due at once, until the last has started. */
  burstStarted: Target;
}
