// The second process of pairs.ts: creates the jobs whose ids it is sent.

import { Duly } from '../../../src/index.ts';

const duly = new Duly({ store: process.argv[2] as string, logger: false });
const quick = duly.task({ name: 'quick', delivery: 'at-most-once', run: () => {} });
await duly.open();
process.on('message', async (id) => {
  await quick.now(null, { id: id as string });
  process.send?.(id);
});
process.on('disconnect', () => void duly.stop());
process.send?.('ready');
