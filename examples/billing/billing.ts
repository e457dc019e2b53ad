import type { Duly } from 'duly';
import { z } from 'zod';

/** Charges a customer for a month. The key is the same for every try, so that the other side can refuse a second charge. */
export type Charge = (customer: string, month: string, key: string) => Promise<void>;

/** Monthly billing: nobody is charged twice, and no month is forgotten. */
export function defineBilling(duly: Duly, customers: () => Promise<string[]>, charge: Charge) {
  const chargeOne = duly.task({
    name: 'charge',
    input: z.object({ customer: z.string(), month: z.string() }),
    // A crash in the middle leaves open whether money moved. It is not tried again: it becomes a dead letter, and a person looks.
    delivery: 'at-most-once',
    run: async ({ input }) => {
      await charge(input.customer, input.month, `${input.customer}/${input.month}`);
    },
  });

  duly.task({
    name: 'billing',
    // Every missed month is made up for, in order, however long nobody was there.
    every: {
      cron: '0 6 1 * *',
      timezone: 'Europe/Rome',
      missed: 'all',
      catchUpWindow: '366 days',
      overlap: 'bufferAll',
    },
    run: async ({ slot }) => {
      const month = (slot?.date ?? '').slice(0, 7);
      // The key of a child makes it one, also when this handler is repeated after a crash.
      await chargeOne.nowMany(
        (await customers()).map((customer) => ({ customer, month })),
        ({ customer }) => ({ key: customer }),
      );
    },
  });
  return { chargeOne };
}
