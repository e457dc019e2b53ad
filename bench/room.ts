import type { ContestantPlace } from './contestant.ts';
import type { Entrant } from './session.ts';

/** A store's own room: where its contestants are and how a fresh store comes to be. */
export interface EngineRoom {
  readonly name: string;
  /** In words, for the head of the report. */
  readonly settings: string;
  readonly bare: Entrant;
  readonly peers: readonly Entrant[];
  /** A fresh, empty place; `remove` takes it away again. */
  createPlace(): Promise<ContestantPlace & { remove(): Promise<void> }>;
  /** A place with the same content as another, whose contestants have ended. */
  copyPlace(from: ContestantPlace): Promise<ContestantPlace & { remove(): Promise<void> }>;
}
