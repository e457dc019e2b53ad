// The suite itself: a test that cannot fail proves nothing, so engines with known faults must be found out.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Engine } from '@duly/core/internal';
import { openStore } from '@duly/core/internal';
import { playAgainstModel, playRandom } from '../src/index.ts';

async function openFaulty(fault: (engine: Engine) => Partial<Engine>): Promise<Engine> {
  const { engine } = await openStore('sqlite::memory:');
  return { ...engine, ...fault(engine) };
}

const faults: Record<string, (engine: Engine) => Partial<Engine>> = {
  'moves a job to the wrong instant': (engine) => ({
    reschedule: (input) =>
      engine.reschedule({
        ...input,
        groups: input.groups.map((group) => ({
          ...group,
          due: 'at' in group.due ? { at: group.due.at + 1 } : { inMs: group.due.inMs + 1 },
        })),
      }),
  }),
  'takes every outcome under a stale fence': (engine) => ({
    exchange: async (input) => {
      const reply = await engine.exchange(input);
      return { ...reply, settled: reply.settled.map(() => 'done' as const) };
    },
  }),
  'never takes a lost lease over': (engine) => ({
    reap: (input) => engine.reap({ ...input, limit: 0 }),
  }),
};

describe('random play', () => {
  for (const [name, fault] of Object.entries(faults)) {
    it(`finds an engine that ${name}, and says with which seed`, async () => {
      const { engine: reference } = await openStore('sqlite::memory:');
      const faulty = await openFaulty(fault);
      const play = playRandom({ engine: faulty, reference, seed: 7, steps: 400 });
      await assert.rejects(play, /Seed 7, step \d+: the two engines differ/);
      const again = await openFaulty(fault);
      const model = playAgainstModel({ engine: again, seed: 7, steps: 400 });
      await assert.rejects(model, /Seed 7, step \d+: the engine and the model disagree/);
      for (const engine of [reference, faulty, again]) await engine.close();
    });
  }
});

describe('skips of the suite', () => {
  const runWith = (kind: string) => {
    // Without this the child would report to our own runner instead of deciding for itself.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const fixture = fileURLToPath(new URL('./fixtures/bad-skips.ts', import.meta.url));
    const args = ['--test', '--test-name-pattern=every test that is skipped', fixture];
    return spawnSync(process.execPath, args, { env: { ...env, DULY_BAD_SKIP: kind }, encoding: 'utf8' });
  };

  it('refuse a test that does not exist', () => {
    const { status, stdout } = runWith('unknown');
    assert.notEqual(status, 0);
    assert.match(stdout, /There is no test called "locks: a lock that nobody wrote"/);
  });

  it('refuse a skip without a reason', () => {
    const { status, stdout } = runWith('no reason');
    assert.notEqual(status, 0);
    assert.match(stdout, /Expected a reason for skipping/);
  });
});
