// Two machines on one store: `npm run example -- lock-and-leader`
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duly } from 'duly';
import { exportPrices, followMarket } from './lock-and-leader.ts';

const folder = mkdtempSync(join(tmpdir(), 'duly-example-'));
const store = `sqlite:${join(folder, 'duly.db')}`;
const [one, two] = [new Duly({ store }), new Duly({ store })];

const file = { write: (text: string, fence: number) => console.log(`prices ${text} under fence ${fence}`) };
const [first, second] = await Promise.all([
  exportPrices(one, file, async () => '1.25'),
  exportPrices(two, file, async () => '1.25'),
]);
console.log(`one: ${JSON.stringify(first)}`);
console.log(`two: ${JSON.stringify(second)}`);

const follow = (name: string) => async (signal: AbortSignal) => {
  console.log(`${name} follows the market`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  console.log(`${name} follows it no more`);
};
const { promise: led, resolve: isLed } = Promise.withResolvers<void>();
const leader = followMarket(one, follow('one'));
const successor = followMarket(two, async (signal) => {
  isLed();
  await follow('two')(signal);
});
await leader.stop();
await led;
await successor.stop();

await Promise.all([one.stop(), two.stop()]);
rmSync(folder, { recursive: true, force: true });
