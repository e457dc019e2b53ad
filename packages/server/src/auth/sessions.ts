import { timingSafeEqual } from 'node:crypto';
import type { Clock, Duly, StoredRecord } from '@duly/core';
import { hashOf, type KeyInfo, type Keys, randomText } from './keys.ts';

/** A session as it is stored, under `<id of the key>-<chance>`. */
interface SessionValue {
  hash: string;
  beganAt: number;
  expiresAt: number;
}

/** Browsers that are signed in: each holds a token in a cookie, the store its hash. A session ends with its key. */
export interface Sessions {
  /** Signs in; the token is for the cookie. */
  begin(key: KeyInfo): Promise<{ token: string; expiresAt: number }>;
  /** The key under which this token was given; null: none, or it is over. */
  check(token: string): Promise<KeyInfo | null>;
  /** Signs out. */
  end(token: string): Promise<void>;
}

const sessionKind = 'session';
/** How long a browser stays signed in. */
export const sessionMs = 30 * 24 * 3_600_000;
const idLength = 8;
const secretLength = 52;
const tokenPattern = /^([0-9a-hjkmnp-tv-z]{12}-[0-9a-hjkmnp-tv-z]{8})\.([0-9a-hjkmnp-tv-z]{52})$/;
/** Browsers that one key can be signed in with. A read key must not be able to fill the store. */
export const sessionsPerKey = 20;
// As for keys: so long after its end elsewhere a session may still be taken here.
const cachedMs = 5_000;
const cachedCountMax = 1_000;
const pruneCountMax = 100;

/** Makes them over a Duly's records. */
export function createSessions({ duly, clock, keys }: { duly: Duly; clock: Clock; keys: Keys }): Sessions {
  const cached = new Map<
    string,
    { found: Promise<StoredRecord<SessionValue> | null>; readElapsed: number }
  >();

  function read(id: string): Promise<StoredRecord<SessionValue> | null> {
    const known = cached.get(id);
    if (known !== undefined && clock.elapsed() - known.readElapsed < cachedMs) return known.found;
    const found = duly.records.get<SessionValue>(sessionKind, id);
    cached.delete(id);
    if (cached.size >= cachedCountMax) cached.delete(cached.keys().next().value as string);
    cached.set(id, { found, readElapsed: clock.elapsed() });
    found.catch(() => cached.get(id)?.found === found && cached.delete(id));
    return found;
  }

  /** Whoever signs in clears away some of what is over, so that nobody else has to: from anywhere on, so that all get their turn. */
  async function prune(): Promise<void> {
    const from = { after: randomText(2), limit: pruneCountMax };
    const later = await duly.records.list<SessionValue>(sessionKind, from);
    const room = pruneCountMax - later.length;
    const first = room === 0 ? [] : await duly.records.list<SessionValue>(sessionKind, { limit: room });
    const sessions = [...later, ...first];
    for (const { key, value } of sessions) {
      if (value.expiresAt <= clock.now()) await duly.records.delete(sessionKind, key);
    }
  }

  /** Ends the oldest sessions of a key beyond the limit. After the new one is stored, so that sign-ins at the same time are counted, too. */
  async function endOldest(keyId: string, own: string): Promise<void> {
    const prefix = `${keyId}-`;
    const page = await duly.records.list<SessionValue>(sessionKind, { after: prefix, limit: 500 });
    const others = page.filter(({ key }) => key.startsWith(prefix) && key !== own);
    others.sort((one, other) => other.value.beganAt - one.value.beganAt);
    for (const { key } of others.slice(sessionsPerKey - 1)) {
      cached.delete(key);
      await duly.records.delete(sessionKind, key);
    }
  }

  return {
    async begin(key) {
      const id = `${key.id}-${randomText(idLength)}`;
      const secret = randomText(secretLength);
      const beganAt = clock.now();
      const expiresAt = Math.min(beganAt + sessionMs, key.expiresAt ?? Number.POSITIVE_INFINITY);
      await duly.records.put<SessionValue>(sessionKind, id, { hash: hashOf(secret), beganAt, expiresAt });
      await endOldest(key.id, id);
      await prune();
      return { token: `${id}.${secret}`, expiresAt };
    },

    async check(token) {
      const [, id, secret] = tokenPattern.exec(token) ?? [];
      if (id === undefined || secret === undefined) return null;
      const record = await read(id);
      if (record === null || record.value.expiresAt <= clock.now()) return null;
      const isSame = timingSafeEqual(
        Buffer.from(hashOf(secret), 'hex'),
        Buffer.from(record.value.hash, 'hex'),
      );
      return isSame ? keys.find(id.split('-', 1)[0] as string) : null;
    },

    async end(token) {
      const [, id] = tokenPattern.exec(token) ?? [];
      if (id === undefined || (await this.check(token)) === null) return;
      cached.delete(id);
      await duly.records.delete(sessionKind, id);
    },
  };
}
