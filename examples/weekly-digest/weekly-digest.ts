import type { Duly } from 'duly';
import { z } from 'zod';

/** A digest for each user, on Monday at eight by the user's own clock, once for each week. */
export function defineDigest(duly: Duly, sendDigest: (user: string, week: string) => Promise<void>) {
  const digest = duly.task({
    name: 'weekly_digest',
    input: z.object({ user: z.string() }),
    run: async ({ input, slot }) => {
      const week = slot?.date ?? '';
      // Whatever crashes or is triggered twice: of each user and week one is recorded.
      await duly.once(`digest/${input.user}/${week}`, { for: '60 days' }, async () => {
        await sendDigest(input.user, week);
        return true;
      });
    },
  });
  const nameOf = (user: string): string => `digest-${user}`;
  return {
    /** Subscribes a user, or follows one who moved to another zone: the same name is the same schedule. */
    async subscribe(user: string, timezone: string): Promise<void> {
      const known = await duly.schedules.list({ name: nameOf(user) });
      if (known.schedules.length > 0) await duly.schedules.edit({ name: nameOf(user) }, { timezone });
      else {
        await digest.every(
          { cron: '0 8 * * MON', timezone },
          { user },
          // Ten thousand users of one zone are not all served in the same second; and on Tuesday it is no news any more.
          { name: nameOf(user), jitter: '10m', missed: 'latest', startDeadline: '12h' },
        );
      }
    },
    unsubscribe: (user: string) => duly.schedules.delete({ name: nameOf(user) }),
  };
}
