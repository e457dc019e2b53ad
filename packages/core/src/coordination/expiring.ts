import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { formatInstant, parseInstant } from '../base/instant.ts';
import { fromJson, inputBytesMax, toJson } from '../base/json.ts';
import type { Due, Engine, JobSpec, PutExpiringInput, PutExpiringItem } from '../contract/engine.ts';
import { groupItems } from '../store/session.ts';
import { readLockName } from './held-lock.ts';

/** When a value ends: so long from now, or at an instant. */
export type Expiry = { for: Duration } | { at: Date | number | string };

/** What the clean-up of a value is given. */
export interface ExpiredValue<Value = unknown> {
  /** The name given to `duly.expiring`. */
  name: string;
  key: string;
  value: Value;
}

/** Values that end by themselves. */
export interface Expiring<Value = unknown> {
  readonly name: string;
  /** Keeps a value until its time, which must lie ahead; a second put under the same key takes the place of the first. */
  put(key: string, value: Value, expiry: Expiry): Promise<{ expiresAt: Date; ttlMs: number }>;
  /** The value; null when there is none or its instant has come. */
  get(key: string): Promise<Value | null>;
  /** The value with its end and how long that is by the store's clock; null when there is none. */
  entry(key: string): Promise<{ value: Value; expiresAt: Date; ttlMs: number } | null>;
  /** How long the value still lives, in milliseconds; null when there is none. */
  ttl(key: string): Promise<number | null>;
  /** Moves its end, and its clean-up with it; false when there is none any more. */
  extend(key: string, expiry: Expiry): Promise<boolean>;
  /** Removes it and cancels its clean-up; false when there was none. */
  delete(key: string): Promise<boolean>;
}

/** What expiring values are made of. */
export interface ExpiringDeps {
  engine(): Promise<Engine>;
  /** Who asks, at the moment of the call. */
  actor(): string;
  /** Creates the clean-up job of a value; null: nothing is to be cleaned up. */
  cleanup: ((value: ExpiredValue, due: Due) => Promise<JobSpec>) | null;
}

/** Makes the values of one name. */
export function createExpiring<Value>(deps: ExpiringDeps, name: string): Expiring<Value> {
  readLockName(name, 'expiring()');

  type Change = PutExpiringInput['groups'][number]['changes'][number];
  async function change(one: Change): Promise<PutExpiringItem & { now: number }> {
    const engine = await deps.engine();
    const { groups, now } = await engine.putExpiring({ groups: [{ actor: deps.actor(), changes: [one] }] });
    const [group] = groups;
    const item = group === undefined ? undefined : groupItems(group)[0];
    if (item === undefined) throw dulyError('internal', { message: 'The store answered without an item.' });
    return { ...item, now };
  }

  /** A value that is gone already would never be seen by anybody, so its end must lie ahead of the store's instant. */
  async function readFuture(expiry: Expiry): Promise<Due> {
    const due = readExpiry(expiry);
    if ('inMs' in due) return due;
    const engine = await deps.engine();
    const { now } = await engine.getExpiring({ keys: [] });
    if (due.at > now) return due;
    throw dulyError('invalid_instant', {
      message: `Expected "at" of a value of "${name}" to be in the future, got ${formatInstant(due.at)}; it is ${formatInstant(now)} in the store.`,
      hint: 'To end a value now, delete it.',
      details: { field: 'at', value: formatInstant(due.at) },
    });
  }

  async function read(key: string) {
    const engine = await deps.engine();
    const { values, now } = await engine.getExpiring({ keys: [{ name, key: readKey(key) }] });
    return { value: values[0] ?? null, now };
  }

  return {
    name,
    async put(key, value, expiry) {
      readKey(key);
      const due = await readFuture(expiry);
      const text = toJson(value, { what: 'value', maxBytes: inputBytesMax });
      const cleanup =
        deps.cleanup === null ? null : await deps.cleanup({ name, key, value: JSON.parse(text) }, due);
      const { expiresAt, now } = await change({ op: 'put', name, key, value: text, due, cleanup });
      if (expiresAt === null)
        throw dulyError('internal', { message: 'The store has a value without an end.' });
      return { expiresAt: new Date(expiresAt), ttlMs: expiresAt - now };
    },
    async get(key) {
      const { value } = await read(key);
      return value === null ? null : (fromJson(value.value, 'value') as Value);
    },
    async entry(key) {
      const { value: found, now } = await read(key);
      if (found === null) return null;
      const { expiresAt } = found;
      return {
        value: fromJson(found.value, 'value') as Value,
        expiresAt: new Date(expiresAt),
        ttlMs: Math.max(0, expiresAt - now),
      };
    },
    async ttl(key) {
      const { value, now } = await read(key);
      return value === null ? null : Math.max(0, value.expiresAt - now);
    },
    async extend(key, expiry) {
      readKey(key);
      const due = await readFuture(expiry);
      return (await change({ op: 'extend', name, key, due })).result === 'changed';
    },
    async delete(key) {
      return (await change({ op: 'delete', name, key: readKey(key) })).result === 'changed';
    },
  };
}

function readKey(key: unknown): string {
  return readLockName(key, 'an expiring value', 'key');
}

function readExpiry(expiry: Expiry): Due {
  const fields = typeof expiry === 'object' && expiry !== null ? Object.keys(expiry) : [];
  if (fields.length !== 1 || (fields[0] !== 'for' && fields[0] !== 'at')) {
    throw dulyError('invalid_option', {
      message: 'Expected the end of a value as { for: duration } or { at: instant }.',
      details: { field: 'expiry' },
    });
  }
  return 'for' in expiry
    ? { inMs: parseDuration(expiry.for, 'for', { minMs: 1 }) }
    : { at: parseInstant(expiry.at, 'at') };
}
