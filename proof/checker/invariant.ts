import type { Evidence } from '../history.ts';
import type { Facts } from './facts.ts';

/** One broken promise. */
export interface Violation {
  /** The name of the invariant. */
  invariant: string;
  /** What is wrong, in a sentence. */
  message: string;
  /** The jobs, schedules and locks that it is about. */
  subjects: string[];
}

/** Counts one comparison that could have shown a violation. `part` is one of the invariant's `parts`. */
export type Exercise = (part?: string) => void;

/** One thing that must hold for every history. */
export interface Invariant {
  /** The file's name. */
  name: string;
  /** The promise, in a sentence. */
  promise: string;
  /** Situations that `--coverage` counts separately; left out if all comparisons are alike. */
  parts?: readonly string[];
  /** Everything in the history that breaks it. Calls `exercise` in the situation that the invariant is about. */
  check(evidence: Evidence, facts: Facts, exercise: Exercise): Omit<Violation, 'invariant'>[];
}
