import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineConformance } from '@duly/conformance';
import { systemClock } from '../../src/base/clock.ts';
import type { Engine, EngineVerb, VerbCall } from '../../src/contract/engine.ts';
import { engineVerbNames, engineVerbs, mapVerbs } from '../../src/contract/verbs.ts';
import { openDatabase } from '../../src/engines/sqlite/database.ts';
import { openSqliteEngine } from '../../src/engines/sqlite/index.ts';

/** The verbs that changed a row in any of the tests below. */
const changing = new Set<EngineVerb>();

engineConformance('sqlite::memory:', {
  async open(): Promise<Engine> {
    const path = ':memory:';
    const opened = await openDatabase({ path, busyMs: 0, exclusive: false });
    const engine = await openSqliteEngine({ path, clock: systemClock, opened });
    const changeCount = (): number =>
      (opened.db.prepare('SELECT total_changes() AS n').get() as { n: number }).n;
    let isOpen = true;
    const watched = (verb: EngineVerb): VerbCall => {
      const call = engine[verb] as VerbCall;
      return (input) => {
        if (!isOpen) return call(input);
        const before = changeCount();
        // In this thread a verb has done its work when it returns its promise.
        const reply = call(input);
        if (changeCount() !== before) changing.add(verb);
        return reply;
      };
    };
    return {
      ...engine,
      ...mapVerbs(watched),
      close() {
        isOpen = false;
        return engine.close();
      },
    };
  },
});

test('the verbs that change something are those with access `write`', () => {
  const writing = engineVerbNames.filter((verb) => engineVerbs[verb].access === 'write');
  // No test of the suite has a step to migrate.
  assert.deepEqual([...changing, 'migrate'].toSorted(), writing.toSorted());
});
