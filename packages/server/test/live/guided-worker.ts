// A worker in a process of its own whose handlers do what they are told over the process's channel, one order at a time.
import { Duly } from '@duly/core';
import type { Order } from './guide.ts';

const duly = new Duly({ store: process.env.DULY_TEST_STORE as string, app: 'guided' });
const waiting = new Map<string, ((order: Order) => void)[]>();
const given = new Map<string, Order[]>();

function nextOrder(id: string): Promise<Order> {
  const order = given.get(id)?.shift();
  if (order !== undefined) return Promise.resolve(order);
  return new Promise((resolve) => {
    waiting.set(id, [...(waiting.get(id) ?? []), resolve]);
  });
}

process.on('message', ({ id, order }: { id: string; order: Order }) => {
  const take = waiting.get(id)?.shift();
  if (take !== undefined) take(order);
  else given.set(id, [...(given.get(id) ?? []), order]);
});

duly.task({
  name: 'guided',
  retry: { attempts: 2, backoff: 'fixed', delay: '1ms' },
  run: async ({ job, progress, log }) => {
    for (;;) {
      const order = await nextOrder(job.id);
      if ('percent' in order)
        await progress(order.percent, order.message, { step: order.step, of: order.of });
      else if ('log' in order) log(order.log);
      else if ('throws' in order) throw new Error(order.throws);
      else return order.returns;
    }
  },
});
duly.task({ name: 'quick', run: ({ input }) => input });

await duly.start({ concurrency: 2_000, signals: false });
process.send?.('ready');
process.on('disconnect', () => void duly.stop({ drain: 0 }).then(() => process.exit()));
