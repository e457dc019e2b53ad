import type { Engine } from '../../engine.ts';

/** What one test of the suite is given. */
export interface ConformanceContext {
  /** A fresh, empty engine of this test's own. */
  engine: Engine;
  /**
   * A further connection to the same store, where the engine under test has such a thing; otherwise the
   * engine itself, so that races are at least races of concurrent calls.
   */
  openPeer(): Promise<Engine>;
}

/** Registers one test; the name is a sentence about behaviour. */
export type DefineTest = (name: string, run: (context: ConformanceContext) => Promise<void>) => void;

/** The tests of one verb or one rule. */
export interface Chapter {
  title: string;
  define: (test: DefineTest) => void;
}
