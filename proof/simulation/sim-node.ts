/** One process of the simulated cluster. */
import type { Clock } from '../../packages/core/src/clock.ts';
import { createDulyOn, type Duly } from '../../packages/core/src/duly.ts';
import type { Engine } from '../../packages/core/src/engine.ts';
import { quietLogger } from '../../packages/core/src/logger.ts';
import type { Role } from '../../packages/core/src/options.ts';
import { seededRandom } from '../../packages/core/src/random.ts';
import type { EveryDefinition } from '../../packages/core/src/schedule/definition.ts';
import { type Beats, type BeatsOptions, createBeats } from '../../packages/core/src/worker/beats.ts';
import type { NodeChanged, WriteEvent } from '../history.ts';
import { concurrencyOf, defineTasks, type TaskName } from './tasks.ts';
import type { UserTransaction, UserTransactions } from './user-transactions.ts';
import { createWire, type SharedStore, type Weather } from './wire.ts';
import type { Dice, Process, World } from './world.ts';

/** Puts a defect into how leases are renewed. */
export type MutateBeats = (create: (options: BeatsOptions) => Beats) => (options: BeatsOptions) => Beats;

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
  mutateBeats?: MutateBeats;
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
  isStopping = false;
  isStarted = false;
  wallOffsetMs: number;

  constructor(options: SimNodeOptions) {
    this.options = options;
    this.name = options.name;
    this.place = options.place;
    this.wallOffsetMs = options.wallOffsetMs;
    const { world, dice, store, weather, write, leaseMs } = options;
    this.clock = world.clockOf(this);
    const wire = createWire({
      world,
      dice,
      store,
      process: this,
      weather,
      write,
      crash: (where) => this.crash(where),
    });
    const engine = options.mutate?.(wire) ?? wire;
    const random = seededRandom(options.seed);
    const makeBeats = options.mutateBeats?.(createBeats) ?? createBeats;
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
        createBeats: (beats) => makeBeats({ ...beats, engine, clock: this.clock, random }),
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
    const { roles, concurrency, queues, versionOf } = this.options;
    const only = queues === null ? {} : { queues: [...queues] };
    this.#tell('up', { concurrency, concurrencyOf, roles: [...roles], ...only, versionOf });
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
    this.isDead = true;
    this.#tell('crashed', {}, where);
    this.options.store.user?.abandon(this);
    this.options.onDead(this);
  }

  /** Stands still, as by SIGSTOP. */
  pause(): void {
    if (this.isDead || this.isPaused) return;
    this.isPaused = true;
    this.#tell('paused');
  }

  /** Goes on where it stood. */
  resume(): void {
    if (this.isDead || !this.isPaused) return;
    this.#tell('resumed');
    this.options.world.resume(this);
  }

  /** Drains and ends. */
  stop(): void {
    if (this.isDead || this.isStopping) return;
    this.isStopping = true;
    this.#tell('stopping');
    const end = (): void => {
      if (this.isDead) return;
      this.isDead = true;
      this.#tell('stopped');
      this.options.store.user?.abandon(this);
      this.options.onDead(this);
    };
    this.duly.stop().then(end, end);
  }

  #tell(
    state: 'up' | 'crashed' | 'paused' | 'resumed' | 'stopping' | 'stopped',
    more: Pick<NodeChanged, 'concurrency' | 'concurrencyOf' | 'roles' | 'queues' | 'versionOf'> = {},
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

const beginAgainMs = 50;

/** Begins a transaction of the user's own, as soon as no other is open. */
export async function beginWhenFree(user: UserTransactions, node: SimNode): Promise<UserTransaction> {
  for (;;) {
    const transaction = user.begin(node);
    if (transaction !== null) return transaction;
    await node.clock.sleep(beginAgainMs);
  }
}
