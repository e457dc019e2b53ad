import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, type Duly, DulyError, type StoredRecord } from '@duly/core';
import { type Scope, scopes } from '@duly/core/internal/browser';

/** The scopes of keys, each of which includes those before it. */
export const keyScopes: readonly Scope[] = scopes;

/** A key as it is stored: its secret only as a hash. */
export interface KeyValue {
  /** SHA-256 of the secret, in hex. The secret has 256 bits of chance, so nothing slower is needed. */
  hash: string;
  scope: Scope;
  tenant: string | null;
  /** What it is for, in the words of the person who created it. */
  note: string | null;
  createdAt: number;
  createdBy: string;
  expiresAt: number | null;
}

/** A key as it is shown. */
export interface KeyInfo extends Omit<KeyValue, 'hash'> {
  id: string;
}

/** A key that was just created, with its text, which is never shown again. */
export interface CreatedKey extends KeyInfo {
  /** `duly_<id>_<secret>`. */
  key: string;
}

/** What a key is created from. */
export interface NewKey {
  scope: Scope;
  tenant?: string | null;
  note?: string | null;
  expiresAt?: number | null;
  /** Who creates it. */
  by: string;
}

/** The keys of one store. Also `@duly/server/keys`, which loads nothing else of the server. */
export interface Keys {
  /** The valid key with this text; null: there is none. */
  check(text: string): Promise<KeyInfo | null>;
  /** The same without asking the store, from what was read in the last seconds; null: not known, ask `check`. */
  known(text: string): KeyInfo | null;
  /** The key of this id; null: there is none, or it has expired. */
  find(id: string): Promise<KeyInfo | null>;
  create(key: NewKey): Promise<CreatedKey>;
  /** All of them, by id. */
  list(): Promise<KeyInfo[]>;
  /** Whether there is any key. */
  any(): Promise<boolean>;
  /** Revokes a key. Throws `key_not_found`. */
  revoke(id: string): Promise<void>;
}

/** The kind of keys among the store's records. */
export const keyKind = 'key';

// A key is read again after this time. For as long, a key that another process has revoked may still be accepted.
const cachedMs = 5_000;
// Any client can send any id, so the cache is bounded.
const cachedCountMax = 1_000;
// Crockford's alphabet in lower case: 32 characters that survive being read aloud.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const idLength = 12;
// 52 characters of 5 bits: 260 bits.
const secretLength = 52;
const keyPattern = /^duly_([0-9a-hjkmnp-tv-z]{12})_([0-9a-hjkmnp-tv-z]{52})$/;

/** A key that was read. */
interface ReadKey {
  info: KeyInfo;
  /** The hash of its secret. */
  digest: Buffer;
}

/** A cached answer of the store. */
interface CachedKey {
  found: Promise<ReadKey | null>;
  /** What `found` has resolved to; null: nothing yet, or there is no such key. */
  key: ReadKey | null;
  readElapsed: number;
}

/** Keys that were read in the last seconds. */
interface KeyCache {
  /** The key of this id, read from the store unless it is cached; null: there is none. */
  read(id: string): Promise<ReadKey | null>;
  /** The key of this id if it is cached; null: it is not, or there is no such key. */
  known(id: string): ReadKey | null;
  /** Reads the key again the next time. */
  forget(id: string): void;
}

/** Creates the keys over a Duly's records. */
export function createKeys({ duly, clock }: { duly: Duly; clock: Clock }): Keys {
  const cache = createKeyCache({ clock, readKey });

  async function readKey(id: string): Promise<ReadKey | null> {
    const record = await duly.records.get<KeyValue>(keyKind, id);
    return record === null ? null : { info: infoOf(record), digest: Buffer.from(record.value.hash, 'hex') };
  }

  function usable(key: ReadKey | null): KeyInfo | null {
    if (key === null) return null;
    const { expiresAt } = key.info;
    return expiresAt !== null && expiresAt <= clock.now() ? null : key.info;
  }

  return {
    async check(text) {
      const parts = partsOf(text);
      if (parts === null) return null;
      const key = await cache.read(parts.id);
      return key !== null && isSecret(parts.secret, key) ? usable(key) : null;
    },

    known(text) {
      const parts = partsOf(text);
      const key = parts === null ? null : cache.known(parts.id);
      return parts !== null && key !== null && isSecret(parts.secret, key) ? usable(key) : null;
    },

    find: async (id) => usable(await cache.read(id)),

    async create({ scope, tenant = null, note = null, expiresAt = null, by }) {
      const id = randomText(idLength);
      const secret = randomText(secretLength);
      const value: KeyValue = {
        hash: hashOf(secret),
        scope,
        tenant,
        note,
        createdAt: clock.now(),
        createdBy: by,
        expiresAt,
      };
      const record = await duly.records.put(keyKind, id, value, { expectVersion: null });
      cache.forget(id);
      return { ...infoOf(record), key: `duly_${id}_${secret}` };
    },

    async list() {
      const keys: KeyInfo[] = [];
      for (let after: string | null = null; ; ) {
        const page: StoredRecord<KeyValue>[] = await duly.records.list(keyKind, { after, limit: 500 });
        keys.push(...page.map(infoOf));
        if (page.length < 500) return keys;
        after = (page.at(-1) as StoredRecord).key;
      }
    },

    any: async () => (await duly.records.list(keyKind, { limit: 1 })).length > 0,

    async revoke(id) {
      const isThere = await duly.records.delete(keyKind, id);
      cache.forget(id);
      if (isThere) return;
      throw new DulyError('key_not_found', {
        message: `No key has the id "${id.slice(0, 100)}".`,
        details: { id },
      });
    },
  };
}

function createKeyCache({
  clock,
  readKey,
}: {
  clock: Clock;
  readKey(id: string): Promise<ReadKey | null>;
}): KeyCache {
  const entries = new Map<string, CachedKey>();

  function fresh(id: string): CachedKey | null {
    const entry = entries.get(id);
    return entry !== undefined && clock.elapsed() - entry.readElapsed < cachedMs ? entry : null;
  }

  return {
    read(id) {
      const known = fresh(id);
      if (known !== null) return known.found;
      const entry: CachedKey = { found: readKey(id), key: null, readElapsed: clock.elapsed() };
      entries.delete(id);
      if (entries.size >= cachedCountMax) entries.delete(entries.keys().next().value as string);
      entries.set(id, entry);
      entry.found.then(
        (key) => {
          entry.key = key;
        },
        // After an error the next call reads again.
        () => entries.get(id) === entry && entries.delete(id),
      );
      return entry.found;
    },
    known: (id) => fresh(id)?.key ?? null,
    forget: (id) => void entries.delete(id),
  };
}

function partsOf(text: string): { id: string; secret: string } | null {
  const [, id, secret] = keyPattern.exec(text) ?? [];
  return id === undefined || secret === undefined ? null : { id, secret };
}

/** Takes the same time however much of the secret is right. */
function isSecret(secret: string, { digest }: ReadKey): boolean {
  return timingSafeEqual(hash('sha256', secret, 'buffer'), digest);
}

function infoOf({ key: id, value }: StoredRecord<KeyValue>): KeyInfo {
  const { hash: _, ...info } = value;
  return { id, ...info };
}

/** The hash of a secret, in hex. */
export function hashOf(secret: string): string {
  return hash('sha256', secret);
}

/** Text of 5 bits of chance for each character, from the operating system. */
export function randomText(length: number): string {
  return [...randomBytes(length)].map((byte) => alphabet[byte & 31]).join('');
}
