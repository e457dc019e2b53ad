import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { EngineVerb, VerbCall } from '../../src/contract/engine.ts';
import { mapVerbs } from '../../src/contract/verbs.ts';
import { createDulyOn } from '../../src/duly.ts';
import { createHeartbeats } from '../../src/store/heartbeats.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createOutageLog } from '../../src/store/outage-log.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

const away = dulyError('store_unavailable', { message: 'away' });

function collect() {
  const lines: string[] = [];
  const write = (_fields: object, message: string): void => void lines.push(message);
  return { lines, logger: { debug() {}, info: write, warn: write, error: write } };
}

/** A node on virtual time whose calls all fail while the store is away. */
async function setup(t: TestContext) {
  const clock = createManualClock();
  const random = seededRandom(1);
  const { lines, logger } = collect();
  const inner = await openEngine('sqlite::memory:', clock);
  const outage = { isAway: false };
  const call = (verb: EngineVerb) => async (input: never) => {
    if (outage.isAway) throw away;
    return (inner[verb] as VerbCall)(input);
  };
  const engine = { ...inner, ...mapVerbs(call) };
  const duly = createDulyOn({ store: 'sqlite::memory:', clock, random, logger }, async () => ({
    engine,
    createHeartbeats: (heartbeats) => createHeartbeats({ ...heartbeats, engine, clock, random }),
  }));
  t.after(async () => {
    const stopped = duly.stop({ drain: 0 });
    await clock.advance(60_000);
    await stopped;
  });
  let failedCount = 0;
  duly.on('error', () => failedCount++);
  await duly.start();
  return { clock, lines, outage, failedCount: () => failedCount };
}

test('an outage writes one line when it begins and one when it has ended', async (t) => {
  const { clock, lines, outage, failedCount } = await setup(t);
  await clock.advance(10_000);
  assert.deepEqual(lines, []);
  outage.isAway = true;
  await clock.advance(40_000);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /^The store failed while Duly was .* It is tried again until it answers\.$/);
  const count = failedCount();
  assert.ok(count > 10, 'every failed call is still an event');
  outage.isAway = false;
  await clock.advance(20_000);
  assert.equal(lines.length, 2);
  assert.match(
    lines[1] ?? '',
    new RegExp(`^The store answers again. It failed for \\d\\d s, in ${count} calls.$`),
  );
});

test('a long outage writes a reminder at most once a minute', async (t) => {
  const { clock, lines, outage } = await setup(t);
  outage.isAway = true;
  await clock.advance(10 * 60_000);
  assert.ok(lines.length >= 9 && lines.length <= 11, `${lines.length} lines`);
  assert.match(lines[1] ?? '', /^The store has failed for 6\d s, in \d+ calls\.$/);
});

test('a store that fails now and then writes no more than two lines a minute', async () => {
  const clock = createManualClock();
  const { lines, logger } = collect();
  const log = createOutageLog({ clock, logger });
  for (let second = 0; second < 120; second += 4) {
    log.failed(away, 'reaping');
    await clock.advance(2_000);
    log.answered();
    await clock.advance(2_000);
  }
  assert.ok(lines.length <= 4, lines.join('\n'));
});
