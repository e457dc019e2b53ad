import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, type Duly, isDulyError } from '@duly/core';
import { type Signer, signatureHeaders } from '../outgoing/signer.ts';

/**
 * The owner of a secret: an endpoint, the callbacks of a tenant (null: of jobs without one), or the targets of a tenant. Targets have
 * their own, because callers choose their bodies: a signed one must not pass for a webhook.
 */
export type SecretOwner = { endpoint: string } | { tenant: string | null } | { targetsOf: string | null };

/** How far an owner's secrets are. */
interface SecretTurn {
  /** Counts up with every rotation, from 1. */
  turn: number;
  /** Until when the secret before is used too; null: it is not. */
  previousUntilAt: number | null;
}

/** The secrets with which outgoing requests are signed. */
export interface SigningSecrets extends Signer {
  /** Those in use, the newest first: one, or two while a rotation is on. */
  secretsOf(owner: SecretOwner): Promise<string[]>;
  /** Begins to sign with a new secret, and with the one before for so long too. Answers with the new one. */
  rotate(owner: SecretOwner, overlapMs: number): Promise<{ secret: string; previousUntilAt: number | null }>;
  /** Signs in the name of an owner. */
  signAs(owner: SecretOwner, message: { id: string; body: string }): Promise<Record<string, string>>;
}

/** Records of this kind hold secrets: the audit says that they were written, and not what. */
const secretKind = 'secret';
const turnKind = 'webhook-secret';
const rootKey = 'webhooks';

/**
 * Secrets are not kept one by one: each is made from the store's one root and the name and turn of its owner. So there is one thing to keep,
 * it is made by whoever comes first, and nobody who knows theirs can sign as somebody else.
 */
export function createSigningSecrets({ duly, clock }: { duly: Duly; clock: Clock }): SigningSecrets {
  let root: Promise<Buffer> | null = null;

  async function readRoot(): Promise<Buffer> {
    const stored = await duly.records.get<{ root: string }>(secretKind, rootKey);
    if (stored !== null) return Buffer.from(stored.value.root, 'base64');
    const created = randomBytes(32);
    try {
      await duly.records.put(
        secretKind,
        rootKey,
        { root: created.toString('base64') },
        { expectVersion: null },
      );
      return created;
    } catch (error) {
      if (!isDulyError(error, 'records_conflict')) throw error;
      return readRoot();
    }
  }

  async function secretAt(owner: SecretOwner, turn: number): Promise<string> {
    root ??= readRoot();
    root.catch(() => {
      root = null;
    });
    const secret = createHmac('sha256', await root)
      .update(`${ownerKey(owner)}:${turn}`)
      .digest('base64');
    return `whsec_${secret}`;
  }

  const secrets: SigningSecrets = {
    async secretsOf(owner) {
      const stored = await duly.records.get<SecretTurn>(turnKind, ownerKey(owner));
      const { turn, previousUntilAt } = stored?.value ?? { turn: 1, previousUntilAt: null };
      const isBoth = turn > 1 && previousUntilAt !== null && previousUntilAt > clock.now();
      return Promise.all((isBoth ? [turn, turn - 1] : [turn]).map((one) => secretAt(owner, one)));
    },

    async rotate(owner, overlapMs) {
      const key = ownerKey(owner);
      const stored = await duly.records.get<SecretTurn>(turnKind, key);
      const turn = (stored?.value.turn ?? 1) + 1;
      const previousUntilAt = overlapMs === 0 ? null : clock.now() + overlapMs;
      const value: SecretTurn = { turn, previousUntilAt };
      await duly.records.put(turnKind, key, value, { expectVersion: stored?.version ?? null });
      return { secret: await secretAt(owner, turn), previousUntilAt };
    },

    async signAs(owner, { id, body }) {
      return signatureHeaders({ id, body, secrets: await secrets.secretsOf(owner) }, clock);
    },

    async sign({ id, body, tenant }) {
      return signatureHeaders({ id, body, secrets: await secrets.secretsOf({ tenant }) }, clock);
    },
  };
  return secrets;
}

function ownerKey(owner: SecretOwner): string {
  if ('endpoint' in owner) return `endpoint:${owner.endpoint}`;
  if ('targetsOf' in owner) {
    return owner.targetsOf === null ? 'targets' : `targets:${owner.targetsOf}`;
  }
  return owner.tenant === null ? 'store' : `tenant:${owner.tenant}`;
}
