import { type Duration, parseDuration } from '../base/duration.ts';
import { createEvents, type Events } from '../base/emitter.ts';
import { dulyError } from '../base/errors.ts';
import { type OptionNames, readOptions } from '../base/option-reader.ts';
import type { LockHolder } from '../contract/engine.ts';
import { startCampaign } from './campaign.ts';
import { type LockDeps, readLockName } from './held-lock.ts';
import { type LockContext, lockTtlMsMin } from './lock.ts';

/** How to lead. */
export interface LeaderOptions {
  /** How long no process leads after a leader crashed. Default 15 s. */
  ttl?: Duration;
}

/** The events of a leadership. */
export interface LeaderEvents {
  /** This process leads from now on, under this fence. */
  elected: LockContext;
  /** This process leads no longer. */
  lost: { error: unknown };
}

/** Stands for election until it resigns. At most one process leads; when it crashes, another one follows. */
export interface Leadership {
  readonly name: string;
  readonly isLeader: boolean;
  /** The fence of this term; null while another process leads. */
  readonly fence: number | null;
  /** The signal of this term, aborted with `lock_lost` when it is lost; null while another process leads. */
  readonly signal: AbortSignal | null;
  /** The process that leads, as the store last said; null: this process leads, or no other is known. */
  readonly leader: LockHolder | null;
  on: Events<LeaderEvents>['on'];
  /** Resolves when this process leads. Rejects with `resigned` or `stopped` when it no longer stands. */
  elected(): Promise<LockContext>;
  /** Gives leadership up and stands no more. */
  resign(): Promise<void>;
}

const leaderNames: OptionNames<LeaderOptions> = { ttl: true };
const defaultTtlMs = 15_000;

/** A leadership, and how Duly itself ends it. */
export interface Candidacy {
  leadership: Leadership;
  /** Gives leadership up, stands no more and rejects every `elected()` with this error. */
  end(reason: unknown): Promise<void>;
}

/** Starts to stand for election. `onEnded` is called once, when it no longer stands. */
export function standForLeader(
  deps: LockDeps,
  name: string,
  given: LeaderOptions | undefined,
  { onError, onEnded }: { onError(error: unknown): void; onEnded(): void },
): Candidacy {
  readLockName(name, 'leader()');
  const { ttl } = readOptions(given, 'leader()', leaderNames);
  const events = createEvents<LeaderEvents>(onError);
  const campaign = startCampaign(deps, {
    name,
    ttlMs: ttl === undefined ? defaultTtlMs : parseDuration(ttl, 'ttl', { minMs: lockTtlMsMin }),
    onElected: (term) => events.emit('elected', term),
    onLost: (error) => events.emit('lost', { error }),
    onError,
  });
  const finished = campaign.finished.finally(onEnded);
  const leadership: Leadership = {
    name,
    get isLeader() {
      const lock = campaign.lock();
      return lock !== null && !lock.signal.aborted;
    },
    get fence() {
      return campaign.lock()?.fence ?? null;
    },
    get signal() {
      return campaign.lock()?.signal ?? null;
    },
    get leader() {
      return campaign.leader();
    },
    on: events.on,
    async elected() {
      campaign.ended.throwIfAborted();
      const lock = campaign.lock();
      if (lock !== null && !lock.signal.aborted) return { fence: lock.fence, signal: lock.signal };
      return campaign.nextTerm();
    },
    async resign() {
      campaign.end(
        dulyError('resigned', {
          message: `This process stands for leader "${name}" no more: it resigned.`,
          hint: `Call leader("${name}") again to stand again.`,
          details: { name },
        }),
      );
      await finished;
    },
  };
  return {
    leadership,
    async end(reason) {
      campaign.end(reason);
      await finished;
    },
  };
}
