import type { Clock } from '@duly/core';
import { Webhook } from 'standardwebhooks';

/** The headers that Standard Webhooks asks for. */
export interface SignatureHeaders extends Record<string, string> {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/** Signs what goes out with the secrets of whom it goes to. */
export interface Signer {
  /** Signs a body in the name of a tenant, or of the store where there is none. `id` is the same for all tries. */
  sign(message: { id: string; body: string; tenant: string | null }): Promise<SignatureHeaders>;
}

/** Signs a body with each of these secrets: the receiver accepts any that it knows, so that a secret can be changed without a gap. */
export function signatureHeaders(
  { id, body, secrets }: { id: string; body: string; secrets: readonly string[] },
  clock: Clock,
): SignatureHeaders {
  // Whole seconds, as the convention has it; each try is stamped anew, because receivers refuse what is old.
  const at = new Date(Math.floor(clock.now() / 1_000) * 1_000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(at.getTime() / 1_000),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
