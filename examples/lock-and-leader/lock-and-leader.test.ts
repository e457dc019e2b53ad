import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Duly } from 'duly';
import { exportPrices, followMarket } from './lock-and-leader.ts';

/** Two machines, as far as Duly can tell: two Dulys on one store. */
function createTwo(t: TestContext): [Duly, Duly] {
  const folder = mkdtempSync(join(tmpdir(), 'duly-example-'));
  const store = `sqlite:${join(folder, 'duly.db')}`;
  const two: [Duly, Duly] = [new Duly({ store }), new Duly({ store })];
  t.after(async () => {
    await Promise.all(two.map((one) => one.stop()));
    rmSync(folder, { recursive: true, force: true });
  });
  return two;
}

function createFile() {
  const file = {
    text: '',
    fence: 0,
    write(text: string, fence: number) {
      if (fence < file.fence) throw new Error(`Fence ${fence} is older than ${file.fence}.`);
      [file.text, file.fence] = [text, fence];
    },
  };
  return file;
}

test('while one exports, another one is told who has the lock', async (t) => {
  const [one, two] = createTwo(t);
  const file = createFile();
  const { promise: reading, resolve: finish } = Promise.withResolvers<string>();
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
  const first = exportPrices(one, file, () => {
    begin();
    return reading;
  });
  await hasBegun;
  const second = await exportPrices(two, file, async () => 'never read');
  assert.equal(second.done, false);
  finish('1.25');
  assert.deepEqual(await first, { done: true });
  assert.equal(file.text, '1.25');
  assert.deepEqual(await exportPrices(two, file, async () => '1.30'), { done: true });
  assert.equal(file.text, '1.30');
  assert.throws(() => file.write('1.10', file.fence - 1), /older/, 'who slept through its lease is refused');
});

test('one machine follows the market; when it stops, the other goes on', async (t) => {
  const [one, two] = createTwo(t);
  const leaders: string[] = [];
  const led = { one: Promise.withResolvers<void>(), two: Promise.withResolvers<void>() };
  const followAs = (name: 'one' | 'two') => async (signal: AbortSignal) => {
    leaders.push(name);
    led[name].resolve();
    if (signal.aborted) return;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  };
  const first = followMarket(one, followAs('one'));
  await led.one.promise;
  const second = followMarket(two, followAs('two'));
  assert.deepEqual(leaders, ['one']);
  await first.stop();
  await led.two.promise;
  assert.deepEqual(leaders, ['one', 'two']);
  await second.stop();
});
