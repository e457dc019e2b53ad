/**
 * Which job holds each dedupe key, replayed from a complete history. The feed has every creation, claim and end in the store's order,
 * so the replay knows what each call met.
 */
import { isTerminal } from '../../packages/core/src/contract/job-status.ts';
import type { CreatedJob, Evidence } from '../history.ts';

/** What a call under a key met. */
export interface Met {
  /** The job that held the key; null: none did. */
  holder: string | null;
  /** The job that a call with mode `drop` is folded into; null: the call creates a job. */
  drops: string | null;
  /** The same for a call that replaces or extends. */
  replaces: string | null;
  /** The follow-up that waits behind the holder; null: there is none. */
  follow: string | null;
  /** Whether the holder was retried. */
  isRetried: boolean;
  /** Whether a holder of the key was deleted before it had ended. */
  isDeleted: boolean;
}

/** A job that was created under a dedupe key. */
export interface KeyedCreation {
  job: CreatedJob;
  key: string;
  at: number;
  met: Met;
}

interface Held {
  id: string;
  /** When the key is free, whatever becomes of the holder; null: when the holder ends. */
  untilAt: number | null;
}

interface KeyState {
  held: Held | null;
  /** The job that waits behind the started holder. */
  follow: Held | null;
  isDeleted: boolean;
}

interface KeyedJob {
  isOver: boolean;
  isRetried: boolean;
  claimCount: number;
  /** Claims that were released before the handler was entered do not count. */
  attemptCount: number;
}

type Leases = ReadonlyMap<string, readonly { fence: number; how: 'claimed' | 'reaped' }[]>;

/** The dedupe keys of a complete history. */
export class DedupeKeys {
  readonly creations: KeyedCreation[] = [];
  /** The started job that each follow-up was created behind. */
  readonly followed = new Map<string, string>();
  readonly #leases: Leases;
  readonly #began: ReadonlySet<string>;
  readonly #keys = new Map<string, KeyState>();
  readonly #jobs = new Map<string, KeyedJob>();
  /** What a call under a key meets from an instant on. */
  readonly #readings = new Map<string, { at: number; meetAt: (at: number) => Met }[]>();

  constructor({ events, final }: Evidence, created: ReadonlyMap<string, CreatedJob>, leases: Leases) {
    this.#leases = leases;
    this.#began = new Set(
      events.flatMap((event) => (event.kind === 'began' ? [`${event.id}/${event.fence}`] : [])),
    );
    for (const { id, at, event, status } of final.feed ?? []) {
      const job = created.get(id);
      if (job === undefined || job.dedupe === null) continue;
      const key = keyName({ ...job, key: job.dedupe.key });
      if (event === 'created') this.#create(job, key, at);
      else if (event === 'claimed') this.#claim(id);
      else if (event === 'released') this.#release(id);
      else if (event === 'retried') this.#retry(id, key, at);
      else if (event === 'deleted' || isTerminal(status)) this.#end(id, key, event === 'deleted');
      const readings = this.#readings.get(key) ?? [];
      readings.push({ at, meetAt: this.#reader(key) });
      this.#readings.set(key, readings);
    }
  }

  /** What a call under a key may have met at an instant: other calls of the millisecond may have come before or after it. */
  metAt(key: string, at: number): Met[] {
    const readings = this.#readings.get(key) ?? [];
    const before = readings.findLast((one) => one.at < at);
    const within = readings.filter((one) => one.at === at);
    return [...(before === undefined ? [] : [before]), ...within].map(({ meetAt }) => meetAt(at));
  }

  #create(job: CreatedJob, key: string, at: number): void {
    const met = this.#reader(key)(at);
    this.creations.push({ job, key, at, met });
    const forMs = job.dedupe?.forMs ?? null;
    const one = { id: job.id, untilAt: forMs === null ? null : at + forMs };
    const state = this.#stateOf(key);
    if (met.holder !== null && !this.#jobOf(met.holder).isOver) {
      this.#keys.set(key, { ...state, follow: one });
      this.followed.set(job.id, met.holder);
    } else this.#keys.set(key, { ...state, held: one, follow: null });
  }

  #claim(id: string): void {
    const job = this.#jobOf(id);
    job.claimCount += 1;
    job.attemptCount += 1;
  }

  #release(id: string): void {
    const job = this.#jobOf(id);
    const lease = (this.#leases.get(id) ?? []).filter(({ how }) => how === 'claimed')[job.claimCount - 1];
    if (lease !== undefined && !this.#began.has(`${id}/${lease.fence}`)) job.attemptCount -= 1;
  }

  #retry(id: string, key: string, at: number): void {
    const job = this.#jobOf(id);
    job.isOver = false;
    job.isRetried = true;
    const isFree = this.#reader(key)(at).holder === null;
    if (isFree) this.#keys.set(key, { ...this.#stateOf(key), held: { id, untilAt: null }, follow: null });
  }

  #end(id: string, key: string, isDeleted: boolean): void {
    const job = this.#jobOf(id);
    // Deleting the history of an ended job does not change what holds its key.
    if (job.isOver) return;
    job.isOver = true;
    const state = this.#stateOf(key);
    if (state.follow?.id === id) this.#keys.set(key, { ...state, follow: null });
    if (state.held?.id !== id) return;
    const isReleased = isDeleted || state.held.untilAt === null;
    const held = state.follow ?? (isReleased ? null : state.held);
    this.#keys.set(key, { held, follow: null, isDeleted: state.isDeleted || isDeleted });
  }

  /** What a call meets, as long as nothing happens to the key but the passing of time. */
  #reader(key: string): (at: number) => Met {
    const { held, follow, isDeleted } = this.#stateOf(key);
    const none = { holder: null, drops: null, replaces: null, follow: null, isRetried: false, isDeleted };
    if (held === null) return () => none;
    const { isOver, isRetried, attemptCount } = this.#jobOf(held.id);
    return (at) => {
      if (isBefore(at, held.untilAt)) {
        const behind = attemptCount > 0 ? (follow?.id ?? null) : held.id;
        const replaces = isOver ? null : behind;
        const found = { holder: held.id, drops: held.id, replaces, follow: follow?.id ?? null };
        return { ...found, isRetried, isDeleted };
      }
      // Once the time of the job ahead is over, the follow-up holds the key, and has not started.
      if (follow === null || !isBefore(at, follow.untilAt)) return none;
      return { ...none, holder: follow.id, drops: follow.id, replaces: follow.id };
    };
  }

  #stateOf(key: string): KeyState {
    return this.#keys.get(key) ?? { held: null, follow: null, isDeleted: false };
  }

  #jobOf(id: string): KeyedJob {
    const job = this.#jobs.get(id) ?? { isOver: false, isRetried: false, claimCount: 0, attemptCount: 0 };
    this.#jobs.set(id, job);
    return job;
  }
}

/** The name of a dedupe key, which is unique per type and tenant. */
export function keyName({ type, tenant, key }: { type: string; tenant: string | null; key: string }): string {
  return `${type}/${tenant ?? ''}/${key}`;
}

function isBefore(at: number, untilAt: number | null): boolean {
  return untilAt === null || at < untilAt;
}
