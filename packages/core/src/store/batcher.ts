import type { Clock } from '../base/clock.ts';
import { type ErrorCode, isDulyError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';

/** Options of {@link createBatcher}. */
export interface BatcherOptions<Item, Result> {
  /**
   * Carries these items in one step and answers per item, in order. With `repeat`, an earlier send of the same items may have
   * taken effect.
   */
  send(items: Item[], how: { repeat: boolean }): Promise<Result[]>;
  /** Called when a send is not repeated any more, though an earlier one of the same items may have taken effect. */
  onGivenUp?(items: Item[]): void;
  clock: Clock;
  random: Random;
  /** Most items of one send. */
  maxItems: number;
  /** Weight of an item, such as its bytes; left out, every item weighs nothing. */
  weigh?(item: Item): number;
  /** Most weight of one send; an item that is heavier travels alone. */
  maxWeight?: number;
  /**
   * How much must wait for a second send to go out beside the first; left out, none ever does. For stores that work on several calls at
   * once: little is better sent together, much is not better for waiting.
   */
  secondWeight?: number;
}

/** Group commit: what arrives while one send is on its way travels together in the next one. */
export interface Batcher<Item, Result> {
  /** Hands an item in; settles with its own answer. A lone caller waits for nobody. */
  push(item: Item): Promise<Result>;
  /** Hands several in, in order. They may travel apart if they are too many for one send. */
  pushMany(items: readonly Item[]): Promise<Result[]>;
  /** Resolves once everything handed in so far, and what came meanwhile, is answered. */
  drained(): Promise<void>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

// After an unknown outcome: 50, 100 … 1,600 ms, about three seconds in all. A store that is away for longer is
// the caller's to hear about.
const repeatMax = 6;
const firstDelayMs = 50;

/** Whether a call that failed so may have taken effect all the same. A store that was busy or full surely did nothing. */
export function isUnknownOutcome(error: unknown): boolean {
  return isDulyError(error, 'store_unavailable');
}

const passing: readonly ErrorCode[] = [
  'store_unavailable',
  'store_busy',
  'store_locked_by_user_transaction',
  'store_full',
  'store_read_only',
];

/** Whether a call failed because of the store's state and not because of what it asked: the same call may go through later. */
export function isStoreTrouble(error: unknown): boolean {
  return passing.some((code) => isDulyError(error, code));
}

/**
 * Creates a batcher. One send is on its way at a time, so items arrive in the order they were handed in; with `secondWeight`, two when there is
 * much, and then items that nobody waited for between them may change places.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { send, onGivenUp, clock, random, maxItems } = options;
  const { weigh, maxWeight = Number.POSITIVE_INFINITY, secondWeight = Number.POSITIVE_INFINITY } = options;
  let queue: Waiting<Item, Result>[] = [];
  /** Of all that wait. */
  let waitingWeight = 0;
  let running: Promise<void> | null = null;
  let second: Promise<void> | null = null;

  function takeBatch(): Waiting<Item, Result>[] {
    let weight = 0;
    let count = 0;
    while (count < queue.length && count < maxItems) {
      if (weigh !== undefined) {
        weight += weigh((queue[count] as Waiting<Item, Result>).item);
        if (weight > maxWeight && count > 0) break;
      }
      count++;
    }
    if (count === queue.length) {
      const all = queue;
      queue = [];
      waitingWeight = 0;
      return all;
    }
    const taken = queue.splice(0, count);
    if (weigh !== undefined) for (const { item } of taken) waitingWeight -= weigh(item);
    return taken;
  }

  async function sendUntilKnown(items: Item[]): Promise<Result[]> {
    let unknown: unknown = null;
    for (let repeats = 0; ; repeats++) {
      try {
        return await send(items, { repeat: unknown !== null });
      } catch (error) {
        if (isUnknownOutcome(error)) unknown = error;
        if (unknown === null) throw error;
        // A store that is busy or full now surely did nothing now, which says nothing about the send before: its outcome stays unknown.
        const isTrouble = isStoreTrouble(error);
        if (!isTrouble || repeats >= repeatMax) {
          onGivenUp?.(items);
          throw isTrouble ? unknown : error;
        }
        // Half to the whole of the delay: processes that met the same lock must not come back together.
        await clock.sleep(firstDelayMs * 2 ** repeats * (0.5 + random.next() / 2));
      }
    }
  }

  async function sendBatch(): Promise<void> {
    const batch = takeBatch();
    try {
      const results = await sendUntilKnown(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async function run(): Promise<void> {
    // One microtask, so that a burst made in one turn travels in one send.
    await null;
    while (queue.length > 0) await sendBatch();
    running = null;
  }

  async function runBeside(): Promise<void> {
    // The first takes what was made in the same turn.
    await null;
    await null;
    while (waitingWeight >= secondWeight) await sendBatch();
    second = null;
  }

  function push(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      if (weigh !== undefined) waitingWeight += weigh(item);
      if (running === null) running = run();
      else if (waitingWeight >= secondWeight) second ??= runBeside();
    });
  }

  return {
    push,
    pushMany: (items) => Promise.all(items.map(push)),
    async drained() {
      while (running !== null || second !== null) await Promise.all([running, second]);
    },
  };
}
