import { type Duly, isDulyError } from 'duly';
import { z } from 'zod';

/** A mail three days after sign-up, unless the user came back. */
export function defineReEngagement(duly: Duly, sendMail: (user: string) => Promise<void>) {
  const weMissYou = duly.task({
    name: 'we_miss_you',
    input: z.string(),
    // A step that is recorded: a retry after a crash does not send a second mail.
    run: ({ input, once }) => once('mail', () => sendMail(input)),
  });
  return {
    /** One promise for each user, however often it is asked for. */
    signedUp: (user: string) => weMissYou.in('3 days', user, { dedupe: { key: user } }),
    /** Takes the promise back; it may have been kept already, or never been made. */
    async cameBack(user: string): Promise<boolean> {
      try {
        await duly.cancel({ type: 'we_miss_you', key: user }, { note: 'came back' });
        return true;
      } catch (error) {
        if (isDulyError(error, 'job_not_found')) return false;
        throw error;
      }
    },
  };
}
