/** One process of the simulated cluster. */
import type { Clock } from '../../packages/core/src/base/clock.ts';
import { quietLogger } from '../../packages/core/src/base/logger.ts';
import { seededRandom } from '../../packages/core/src/base/random.ts';
import type { Engine } from '../../packages/core/src/contract/engine.ts';
import { createDulyOn, type Duly } from '../../packages/core/src/duly.ts';
import type { Role } from '../../packages/core/src/options.ts';
import type { EveryDefinition } from '../../packages/core/src/schedules/definition/definition.ts';
import {
  createHeartbeats,
  type Heartbeats,
  type HeartbeatsOptions,
} from '../../packages/core/src/store/heartbeats.ts';
import { createLockRenewals } from '../../packages/core/src/store/lock-renewal.ts';
import type { NodeChanged, WriteEvent } from '../history.ts';
import { concurrencyOf, defineTasks, type TaskName } from './tasks.ts';
import type { UserTransaction, UserTransactions } from './user-transactions.ts';
import { createWire, type SharedStore, type Weather } from './wire.ts';
import type { Dice, Process, World } from './world.ts';

/** Puts a defect into how leases are renewed. */
export type MutateHeartbeats = (
  create: (options: HeartbeatsOptions) => Heartbeats,
) => (options: HeartbeatsOptions) => Heartbeats;

/** What a node is started with. */
export interface SimNodeOptions {
  name: string;
  /** Which of the cluster's places it fills; it is restarted there. */
  place: number;
  world: World;
  dice: Dice;
  store: SharedStore;
  weather(): Weather;
  write: WriteEvent;
  seed: number;
  roles: readonly Role[];
  concurrency: number;
  /** Which queues it takes from; null: all. */
  queues: readonly string[] | null;
  /** Which version of a task it has, where it is not 1. */
  versionOf: Partial<Record<TaskName, number>>;
  leaseMs: number;
  release: string | null;
  declared: Partial<Record<TaskName, EveryDefinition>>;
  wallOffsetMs: number;
  /** Puts a defect between it and its wire. */
  mutate?(engine: Engine): Engine;
  /** Puts a defect into how it renews its leases. */
  mutateHeartbeats?: MutateHeartbeats;
  onDead(node: SimNode): void;
}

/** A process: a Duly with its own clock on its own wire. */
export class SimNode implements Process {
  readonly name: string;
  readonly place: number;
  readonly clock: Clock;
  readonly duly: Duly;
  readonly options: SimNodeOptions;
  isDead = false;
  isPaused = false;
  /** The thread that renews leases and locks. It goes on while the event loop is blocked. */
  readonly thread: Process & { wallOffsetMs: number };
  isStopping = false;
  isStarted = false;
  wallOffsetMs: number;

  constructor(options: SimNodeOptions) {
    this.options = options;
    this.name = options.name;
    this.place = options.place;
    this.wallOffsetMs = options.wallOffsetMs;
    this.thread = threadOf(this);
    const { world, dice, store, weather, write, leaseMs } = options;
    this.clock = world.clockOf(this);
    const wireOf = (process: Process): Engine =>
      createWire({ world, dice, store, process, weather, write, crash: (where) => this.crash(where) });
    // The calls that renew leave by the store's thread. A defect is put into both at once.
    const { heartbeat, renew } = wireOf(this.thread);
    const wire = { ...wireOf(this), heartbeat, renew };
    const engine = options.mutate?.(wire) ?? wire;
    const storeThread = { engine, clock: world.clockOf(this.thread) };
    const random = seededRandom(options.seed);
    const createOwnHeartbeats = options.mutateHeartbeats?.(createHeartbeats) ?? createHeartbeats;
    this.duly = createDulyOn(
      {
        store: 'sqlite::memory:',
        app: 'sim',
        actor: this.name,
        clock: this.clock,
        random,
        logger: quietLogger,
        lease: leaseMs,
        drain: 5_000,
        ...(options.release === null ? {} : { release: options.release }),
      },
      async () => ({
        engine,
        createHeartbeats: ({ onHeartbeat, ...heartbeats }) =>
          createOwnHeartbeats({
            ...heartbeats,
            ...storeThread,
            random,
            onHeartbeat: (news) => this.#post(() => onHeartbeat(news)),
          }),
        locks: createLockRenewals(storeThread),
      }),
    );
    defineTasks(this.duly, {
      name: this.name,
      clock: this.clock,
      storeAt: () => world.storeAt(),
      write,
      die: () => this.crash('by a job'),
      begin: () => (store.user === null ? null : beginWhenFree(store.user, this)),
      end: (transaction, how) => store.user?.[how](transaction),
      versionOf: options.versionOf,
      declared: options.declared,
    });
  }

  /** Starts; a store that refuses is asked again. */
  start(): void {
    const { roles, concurrency, queues, versionOf, release } = this.options;
    const only = queues === null ? {} : { queues: [...queues] };
    const released = release === null ? {} : { release };
    this.#report('up', { concurrency, concurrencyOf, roles: [...roles], ...only, versionOf, ...released });
    const attempt = (): void => {
      this.duly.start({ roles, concurrency, ...only }).then(
        () => {
          this.isStarted = true;
        },
        () => this.clock.after(500, attempt),
      );
    };
    attempt();
  }

  /** Ends at once: nothing of it happens any more, and nothing that it sends arrives. */
  crash(where: string): void {
    if (this.isDead) return;
    this.#end();
    this.#report('crashed', {}, where);
    this.options.store.user?.abandon(this);
    this.options.onDead(this);
  }

  /** Stands still, as by SIGSTOP. */
  pause(): void {
    if (this.isDead || this.isPaused) return;
    this.isPaused = true;
    this.thread.isPaused = true;
    this.#report('paused');
  }

  /** Goes on where it stood. */
  resume(): void {
    if (this.isDead || !this.isPaused) return;
    this.#report('resumed');
    this.options.world.resume(this.thread);
    this.options.world.resume(this);
  }

  /** Keeps the event loop from turning. False: it stands still already. */
  block(): boolean {
    if (this.isDead || this.isPaused) return false;
    this.isPaused = true;
    return true;
  }

  /** Lets the event loop turn again. */
  unblock(): void {
    if (!this.isDead && this.isPaused && !this.thread.isPaused) this.options.world.resume(this);
  }

  /** Drains and ends. */
  stop(): void {
    if (this.isDead || this.isStopping) return;
    this.isStopping = true;
    this.#report('stopping');
    const end = (): void => {
      if (this.isDead) return;
      this.#end();
      this.#report('stopped');
      this.options.store.user?.abandon(this);
      this.options.onDead(this);
    };
    this.duly.stop().then(end, end);
  }

  #end(): void {
    this.isDead = true;
    this.thread.isDead = true;
  }

  /** Passes something from the store's thread to the event loop, which may be blocked. */
  #post(fn: () => void): void {
    if (this.isPaused) this.options.world.after(this, 0, fn);
    else fn();
  }

  #report(
    state: 'up' | 'crashed' | 'paused' | 'resumed' | 'stopping' | 'stopped',
    more: Pick<
      NodeChanged,
      'concurrency' | 'concurrencyOf' | 'roles' | 'queues' | 'versionOf' | 'release'
    > = {},
    where?: string,
  ): void {
    const { world, write } = this.options;
    write({
      kind: 'node',
      at: world.storeAt(),
      node: this.name,
      state,
      ...more,
      ...(where === undefined ? {} : { where }),
    });
  }
}

/** The store's thread of a node. It reads the machine's wall clock too. */
function threadOf(node: SimNode): SimNode['thread'] {
  return {
    name: node.name,
    isDead: false,
    isPaused: false,
    get wallOffsetMs() {
      return node.wallOffsetMs;
    },
  };
}

const beginAgainMs = 50;

/** Begins a transaction of the user's own, as soon as no other is open. */
export async function beginWhenFree(user: UserTransactions, node: SimNode): Promise<UserTransaction> {
  for (;;) {
    const transaction = user.begin(node);
    if (transaction !== null) return transaction;
    await node.clock.sleep(beginAgainMs);
  }
}
