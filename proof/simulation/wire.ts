/** The way from a node to the store: calls take time, and the wire can lose answers, refuse, and end the node between any two calls. */

import { dulyError } from '../../packages/core/src/base/errors.ts';
import type {
  Engine,
  EngineVerb,
  Notification,
  Reply,
  SettleInTransactionInput,
  Stamp,
  UserTransaction,
} from '../../packages/core/src/contract/engine.ts';
import { NotificationSet } from '../../packages/core/src/contract/notifications.ts';
import { engineVerbs, mapVerbs } from '../../packages/core/src/contract/verbs.ts';
import type { HistoryEvent, WriteEvent } from '../history.ts';
import { eventsOfCall } from '../recorder.ts';
import type { UserTransactions } from './user-transactions.ts';
import type { Dice, Process, World } from './world.ts';

/** What can go wrong on the way, as chances per call. */
export interface Weather {
  /** The call took effect and its answer is lost. */
  replyLost: number;
  /** The call or its answer takes seconds. */
  slow: number;
  /** The node ends before the call is sent, or after it took effect and before the answer. */
  crash: number;
  /** A notification does not arrive. */
  notificationLost: number;
}

/** Fair weather. */
export const calm: Weather = { replyLost: 0, slow: 0, crash: 0, notificationLost: 0 };

/** The store that all nodes share, and its moods. */
export interface SharedStore {
  engine: Engine;
  /** It answers nothing but errors. */
  isRefusing: boolean;
  /** In worlds with transactions of the user's own. */
  user: UserTransactions | null;
  /** The engine of one node, where nodes do not share one. */
  engineOf?(node: string): Engine;
  /** The reply of a call that failed although it took effect; null if it had no effect. */
  effectOf?(error: unknown): object | null;
}

/** What a wire is made of. */
export interface WireOptions {
  world: World;
  dice: Dice;
  store: SharedStore;
  process: Process;
  /** Read at every call. */
  weather(): Weather;
  write: WriteEvent;
  /** Ends the process; nothing that it sends later arrives. */
  crash(where: string): void;
}

type Call = (input: Stamp) => Promise<Reply>;

const slowMsMax = 4_000;
// As long as the engine itself waits for another connection's transaction by default.
const busyMs = 5_000;

/** Makes the engine as one node sees it. */
export function createWire(options: WireOptions): Engine {
  const { world, dice, store, process, weather, write, crash } = options;
  const { name } = process;
  const engine = store.engineOf?.(name) ?? store.engine;
  const fault = (kind: string, detail: string, untilAt?: number): void =>
    write({
      kind: 'fault',
      at: world.storeAt(),
      node: name,
      fault: kind,
      detail,
      ...(untilAt === undefined ? {} : { untilAt }),
    });

  function wayMs(verb: string): number {
    if (!dice.chance(weather().slow)) return dice.chance(0.5) ? 0 : dice.below(4);
    const ms = dice.between(200, slowMsMax);
    fault('call-slow', verb, world.storeAt() + ms);
    return ms;
  }

  function send(verb: EngineVerb, input: Stamp): Promise<Reply> {
    if (process.isDead) return never();
    if (dice.chance(weather().crash)) {
      crash(`before ${verb}`);
      // A call that was already on its way may still arrive.
      if (dice.chance(0.7)) return never();
    }
    return new Promise((resolve, reject) => {
      const back = (fn: () => void, ms: number): void => {
        world.after(process, ms, fn);
      };
      const arrive = (sinceElapsed: number): void => {
        if (store.isRefusing) {
          back(() => reject(refusal(verb, dice.chance(0.5))), dice.below(50));
          return;
        }
        if (store.user?.isOpen === true && engineVerbs[verb].access === 'write') {
          const leftMs = Math.ceil(busyMs - (world.elapsed - sinceElapsed));
          if (leftMs < 1) back(() => reject(refusal(verb, false)), 1);
          else waitForUser(() => arrive(sinceElapsed), leftMs);
          return;
        }
        const stamped = { ...input, now: world.storeAt() };
        (engine[verb] as unknown as Call).call(engine, stamped).then(
          (reply) => {
            for (const event of eventsOfCall(name, verb, stamped as never, reply as never)) write(event);
            if (process.isDead) return;
            if (dice.chance(weather().crash)) crash(`after ${verb}`);
            else if (dice.chance(weather().replyLost)) {
              fault('reply-lost', verb, world.storeAt() + 2_000);
              back(() => reject(refusal(verb, true)), dice.between(10, 2_000));
            } else back(() => resolve(reply), wayMs(verb));
          },
          (error: unknown) => {
            const reply = store.effectOf?.(error) ?? null;
            if (reply !== null) {
              for (const event of eventsOfCall(name, verb, stamped as never, reply as never)) write(event);
            }
            back(() => reject(error), 1);
          },
        );
      };
      world.after(null, wayMs(verb), () => arrive(world.elapsed));
    });
  }

  /** Goes on when the user's transaction is over, or the patience is. */
  function waitForUser(fn: () => void, ms: number): void {
    let isOver = false;
    const once = (): void => {
      if (!isOver) fn();
      isOver = true;
    };
    world.after(null, ms, once);
    store.user?.whenOver(() => world.after(null, 0, once));
  }

  /** On the user's own connection, in their process: nothing is between them. What it does happens with their commit. */
  async function userTransaction(tx: unknown): Promise<UserTransaction> {
    const real = (await engine.userTransaction?.(tx)) as UserTransaction;
    const noted = (events: HistoryEvent[]): void => void store.user?.of(tx)?.events.push(...events);
    const stamped = <Input extends object>(input: Input): Input & { now: number } => ({
      ...input,
      now: world.storeAt(),
    });
    const calls = Object.entries(real).map(([verb, call]) => [
      verb,
      (input: Stamp) => (call as unknown as Call)(stamped(input)),
    ]);
    return {
      ...(Object.fromEntries(calls) as UserTransaction),
      async enqueue(input) {
        const reply = await real.enqueue(stamped(input));
        noted(eventsOfCall(name, 'enqueue', input, reply));
        return reply;
      },
      async settle(input: SettleInTransactionInput) {
        const reply = await real.settle(stamped(input));
        const settled = {
          ...reply,
          settled: ['done' as const],
          claimed: [],
          nextDueAt: null,
          more: false,
          soloSinceAt: null,
        };
        const events = eventsOfCall(name, 'exchange', { settle: [input.settlement], claim: null }, settled);
        noted(
          events.map((event) => (event.kind === 'settled' ? { ...event, userTransaction: true } : event)),
        );
        return reply;
      },
    };
  }

  const listeners = new Set<(notification: Notification) => void>();
  const coming = new NotificationSet();

  function receive(notification: Notification): void {
    const { kind } = notification;
    if (process.isDead || listeners.size === 0) return;
    // One that comes while another of its kind is under way arrives with it.
    if (coming.has(kind)) {
      coming.addAll([notification]);
      return;
    }
    if (dice.chance(weather().notificationLost)) return;
    coming.addAll([notification]);
    world.after(process, dice.below(3), () => {
      for (const one of coming.take(kind)) for (const listener of [...listeners]) listener(one);
    });
  }
  // The store's own listener outlives the node and finds it dead.
  engine.subscribe(receive);

  return {
    ...mapVerbs((verb) => (input) => send(verb, input)),
    userTransaction,
    // As a file that several processes share: notifications come from outside and must be proven.
    info: () => ({ ...engine.info(), wake: 'push', durable: true }),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async probe() {
      receive({ kind: 'probe' });
    },
    async close() {},
  };
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function refusal(verb: string, isUnknown: boolean): Error {
  const error = dulyError(isUnknown ? 'store_unavailable' : 'store_busy', {
    message: `The simulated store did not answer "${verb}".`,
    hint: 'It is part of the simulation.',
    details: { verb },
  });
  // A job whose handler met it keeps it, and who plays the world must not show there.
  error.stack = `${error.name}: ${error.message}`;
  return error;
}
