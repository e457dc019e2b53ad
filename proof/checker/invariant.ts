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

/** One thing that must hold for every history. */
export interface Invariant {
  /** The file's name. */
  name: string;
  /** The promise, in a sentence. */
  promise: string;
  /** Everything in the history that breaks it. */
  check(evidence: Evidence, facts: Facts): Omit<Violation, 'invariant'>[];
}
