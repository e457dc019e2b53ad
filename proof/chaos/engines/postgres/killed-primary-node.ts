// A node of `killed-primary.ts`: records each start of a handler, and reports the starts since the last question to its parent.
import { systemClock } from '../../../../packages/core/src/base/clock.ts';
import { Duly } from '../../../../packages/core/src/index.ts';
import type { Start } from './lateness.ts';

const duly = new Duly({ store: process.argv[2] as string, app: 'failover', logger: false });
let starts: Start[] = [];
duly.task({
  name: 'note',
  run: ({ input }) => void starts.push([(input as { n: number }).n, systemClock.now()]),
});
process.on('message', () => {
  process.send?.(starts);
  starts = [];
});
// The round has ended, or its process is gone; the store is removed with it.
process.on('disconnect', () => process.exit());
await duly.start();
process.send?.('ready');
