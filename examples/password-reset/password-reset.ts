import { createHash, randomBytes } from 'node:crypto';
import type { Duly } from 'duly';
import { z } from 'zod';

/** Tokens to reset a password: good for 15 minutes and for one use. */
export function definePasswordReset(duly: Duly, sendMail: (to: string, token: string) => Promise<void>) {
  const tokens = duly.expiring<{ user: string }>('reset-tokens');
  const mail = duly.task({
    name: 'reset_mail',
    input: z.object({ to: z.string(), token: z.string() }),
    // A mail that comes after its token is over only annoys.
    startDeadline: '10m',
    run: ({ input }) => sendMail(input.to, input.token),
  });
  return {
    /** Makes a token and mails it. Only its hash is kept: whoever reads the store cannot use it. */
    async request(user: string, to: string): Promise<void> {
      const token = randomBytes(24).toString('base64url');
      await tokens.put(hashOf(token), { user }, { for: '15m' });
      await mail.now({ to, token });
    },
    /** Whose token it is, once; null: wrong, used or over. */
    async redeem(token: string): Promise<string | null> {
      const key = hashOf(token);
      const found = await tokens.get(key);
      // Of two that come at the same time, only one deletes it.
      return found !== null && (await tokens.delete(key)) ? found.user : null;
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
