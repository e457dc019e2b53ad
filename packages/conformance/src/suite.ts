import type { Engine } from '@duly/core/internal';

/** A transaction of the user's own, begun on a connection of theirs. */
export interface BegunTransaction {
  /** What is handed to `userTransaction`. */
  readonly tx: unknown;
  /** Commits it; answers whether it was kept, which one that has failed is not. */
  commit(): Promise<boolean>;
  rollback(): Promise<void>;
}

/** What one test of the suite is given. */
export interface ConformanceContext {
  /** A fresh, empty engine of this test's own. */
  engine: Engine;
  /**
   * A further connection to the same store, where the engine under test has such a thing; otherwise the
   * engine itself, so that races are at least races of concurrent calls.
   */
  openPeer(): Promise<Engine>;
  /** Begins a transaction of the user's own in the database of the store. */
  begin(): Promise<BegunTransaction>;
}

/** Registers one test; the name is a sentence about behaviour. */
export type DefineTest = (name: string, run: (context: ConformanceContext) => Promise<void>) => void;

/** The tests of one verb or one rule. */
export interface Chapter {
  title: string;
  /** Its tests need transactions of the user's own. */
  needsTransactions?: true;
  define: (test: DefineTest) => void;
}
