import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Engine } from '@duly/core/internal';
import { actTests } from './act.ts';
import { actListedTests } from './act-listed.ts';
import { cancelTests } from './cancel.ts';
import { changeFeedTests } from './changes.ts';
import { dedupeTests } from './dedupe.ts';
import { enqueueTests } from './enqueue.ts';
import { exchangeTests } from './exchange.ts';
import { foldTests } from './folds.ts';
import { gateTests } from './gates.ts';
import { heartbeatTests } from './heartbeat.ts';
import { lockTests } from './locks.ts';
import { nodeTests } from './nodes.ts';
import { notificationTests } from './notifications.ts';
import { operationsTests } from './operations.ts';
import { pauseTests } from './pauses.ts';
import { pruneTests } from './prune.ts';
import { raceTests } from './races.ts';
import { randomTests } from './random.ts';
import { readingTests } from './reading.ts';
import { reapTests } from './reap.ts';
import { recordTests } from './records.ts';
import { rememberTests } from './remember.ts';
import { reportTests } from './report.ts';
import { rescheduleTests } from './reschedule.ts';
import { retryTests } from './retry.ts';
import { scheduleTests } from './schedules.ts';
import { serialTests } from './serial.ts';
import type { BegunTransaction, Chapter, ConformanceContext } from './suite.ts';
import { togetherTests } from './together.ts';
import { transferTests } from './transfer.ts';
import { transitionTests } from './transitions.ts';
import { userTransactionTests } from './user-transaction.ts';
import { valueTests } from './values.ts';

export { type ModelPlay, playAgainstModel } from './model-play.ts';
export { playRandom, type RandomPlay } from './random-play.ts';
export type { BegunTransaction } from './suite.ts';

const chapters: Chapter[] = [
  { title: 'enqueue', define: enqueueTests },
  { title: 'exchange', define: exchangeTests },
  { title: 'together', define: togetherTests },
  { title: 'heartbeat', define: heartbeatTests },
  { title: 'reap', define: reapTests },
  { title: 'cancel', define: cancelTests },
  { title: 'reschedule', define: rescheduleTests },
  { title: 'retry', define: retryTests },
  { title: 'report', define: reportTests },
  { title: 'act', define: actTests },
  { title: 'act on listed jobs', define: actListedTests },
  { title: 'transitions', define: transitionTests },
  { title: 'dedupe', define: dedupeTests },
  { title: 'folds', define: foldTests },
  { title: 'serial', define: serialTests },
  { title: 'gates', define: gateTests },
  { title: 'pauses', define: pauseTests },
  { title: 'schedules', define: scheduleTests },
  { title: 'locks', define: lockTests },
  { title: 'values', define: valueTests },
  { title: 'remember', define: rememberTests },
  { title: 'reading', define: readingTests },
  { title: 'changes', define: changeFeedTests },
  { title: 'nodes', define: nodeTests },
  { title: 'records', define: recordTests },
  { title: 'prune', define: pruneTests },
  { title: 'operations', define: operationsTests },
  { title: 'notifications', define: notificationTests },
  { title: 'transfer', define: transferTests },
  { title: 'user transactions', define: userTransactionTests, needsTransactions: true },
  { title: 'races', define: raceTests },
  { title: 'random', define: randomTests },
];

/** How the suite opens the engine under test. */
export interface EngineConformanceOptions {
  /** Opens a fresh, empty store with its schema in place. Called once per test; the suite closes it. */
  open: () => Promise<Engine>;
  /** Opens a further connection to the store of an engine that `open` gave; the suite closes it. Left out: races use one connection. */
  openSecond?: (first: Engine) => Promise<Engine>;
  /**
   * Begins a transaction on a connection of its own, in the database of the store of an engine that `open` gave; `end` gives the connection
   * back, whatever became of the transaction. Left out: the store has no such thing, and the chapter `userTransaction` is skipped.
   */
  begin?: (first: Engine) => Promise<BegunTransaction & { end(): Promise<void> }>;
  /** Which chapters to ask, by title. Left out: all. For two ways to one engine that share them. */
  asks?: (chapter: string) => boolean;
  /** How many tests of a chapter run at the same time, each on its own store. Default 1. */
  concurrency?: number;
  /** Tests that this engine cannot pass, each as `chapter: name` with the reason. */
  skip?: { test: string; reason: string }[];
}

const noTransactions = "no transaction of the user's own reaches this store";

interface Entry {
  name: string;
  run: (context: ConformanceContext) => Promise<void>;
}

/**
 * Asks an engine everything the contract promises. Call it once in a test file of node:test; every test opens a store of its own,
 * sets the time itself and never sleeps.
 */
export function engineConformance(name: string, options: EngineConformanceOptions): void {
  const skips = new Map((options.skip ?? []).map(({ test, reason }) => [test, reason]));
  const known = new Set<string>();

  describe(`${name}: engine conformance`, () => {
    for (const { title, define, needsTransactions = false } of chapters) {
      if (options.asks?.(title) === false) continue;
      const isOff = needsTransactions && options.begin === undefined;
      describe(title, { concurrency: options.concurrency ?? 1 }, () => {
        for (const entry of entriesOf(define)) {
          const full = `${title}: ${entry.name}`;
          assert.ok(!known.has(full), `two tests are called "${full}"`);
          known.add(full);
          const skip = isOff ? noTransactions : (skips.get(full) ?? false);
          it(entry.name, { skip }, () => runAlone(entry, options));
        }
      });
    }

    it('every test that is skipped exists and has a reason', () => {
      for (const { test, reason } of options.skip ?? []) {
        assert.ok(known.has(test), `There is no test called "${test}"; write it as "chapter: name".`);
        assert.ok(
          typeof reason === 'string' && reason.trim().length > 0,
          `Expected a reason for skipping "${test}": a skipped test without one is a failure.`,
        );
      }
    });
  });
}

function entriesOf(define: Chapter['define']): Entry[] {
  const entries: Entry[] = [];
  define((name, run) => entries.push({ name, run }));
  return entries;
}

async function runAlone(
  { run }: Entry,
  { open, openSecond, begin }: EngineConformanceOptions,
): Promise<void> {
  const engine = await open();
  const begun: { end(): Promise<void> }[] = [];
  const peers: Engine[] = [];
  const openPeer = async (): Promise<Engine> => {
    if (openSecond === undefined) return engine;
    const peer = await openSecond(engine);
    peers.push(peer);
    return peer;
  };
  try {
    const beginOne = async (): Promise<BegunTransaction> => {
      assert.ok(begin, noTransactions);
      const one = await begin(engine);
      begun.push(one);
      return one;
    };
    await run({ engine, openPeer, begin: beginOne });
  } finally {
    for (const one of begun) await one.end();
    for (const one of [...peers, engine]) await one.close();
  }
}
