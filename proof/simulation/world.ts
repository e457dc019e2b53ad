/** Virtual time for a whole cluster: one line of events, each at its instant, in an order that only the seed decides. */
import { type Clock, createSleep, type Timer } from '../../packages/core/src/base/clock.ts';
import { type Random, seededRandom } from '../../packages/core/src/base/random.ts';

/** Somebody whose events can be held back or dropped: a process of the cluster. */
export interface Process {
  readonly name: string;
  /** Nothing of it happens any more. */
  isDead: boolean;
  /** What should happen to it waits. */
  isPaused: boolean;
}

interface Pending {
  atElapsed: number;
  order: number;
  process: Process | null;
  fn: () => void;
  isCancelled: boolean;
}

/** Chance with the draws that a simulation needs. */
export interface Dice {
  readonly random: Random;
  /** A whole number from 0 up to, but not including, `count`. */
  below(count: number): number;
  /** A whole number between both, included. */
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  one<Value>(values: readonly Value[]): Value;
}

/** Makes dice of a seed. */
export function createDice(seed: number): Dice {
  const random = seededRandom(seed);
  const below = (count: number): number => Math.floor(random.next() * count);
  return {
    random,
    below,
    between: (min, max) => min + below(max - min + 1),
    chance: (probability) => random.next() < probability,
    one: <Value>(values: readonly Value[]) => values[below(values.length)] as Value,
  };
}

/** Thrown when a world does not come to rest: more happens in it than in any that does. */
export class Restless extends Error {}

// Ordinary worlds have up to 3,000 events; one in which something turns in circles would go on for ever.
const defaultEventCountMax = 60_000;

/** The world's time and what is to happen in it. */
export class World {
  /** Monotonic milliseconds. */
  elapsed = 0;
  readonly startAt: number;
  /** How far the store's clock was moved on at once, as on a machine that was suspended. */
  jumpedMs = 0;
  eventCount = 0;
  readonly #heap: Pending[] = [];
  #order = 0;
  readonly #held = new Map<Process, Pending[]>();

  readonly #eventCountMax: number;
  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(startAt: number, eventCountMax: number = defaultEventCountMax) {
    this.startAt = startAt;
    this.#eventCountMax = eventCountMax;
  }

  /** The store's instant. */
  storeAt(): number {
    return Math.floor(this.startAt + this.elapsed + this.jumpedMs);
  }

  /** Lets something happen to a process (or to the world) after this long. */
  after(process: Process | null, ms: number, fn: () => void): Timer {
    const entry = {
      atElapsed: this.elapsed + Math.max(0, ms),
      order: this.#order++,
      process,
      fn,
      isCancelled: false,
    };
    this.#push(entry);
    return {
      cancel() {
        entry.isCancelled = true;
      },
    };
  }

  /** Goes on after a pause: what was held happens now, in the order in which it should have. */
  resume(process: Process): void {
    process.isPaused = false;
    const held = this.#held.get(process) ?? [];
    this.#held.delete(process);
    for (const entry of held) {
      entry.atElapsed = this.elapsed;
      entry.order = this.#order++;
      this.#push(entry);
    }
  }

  /** Stops virtual time until a real call has settled. If it rejects, `run` rejects. */
  hold(call: Promise<unknown>): void {
    this.#inFlight.add(call);
    const forget = (): void => void this.#inFlight.delete(call);
    call.then(forget, forget);
  }

  async #settle(): Promise<void> {
    await turn();
    while (this.#inFlight.size > 0) {
      await Promise.all(this.#inFlight);
      await turn();
    }
  }

  /** Lets time pass; everything that falls into it happens. */
  async run(untilElapsed: number): Promise<void> {
    await this.#settle();
    for (let next = this.#peek(); next !== undefined && next.atElapsed <= untilElapsed; next = this.#peek()) {
      this.#pop();
      if (next.isCancelled || next.process?.isDead === true) continue;
      if (next.process?.isPaused === true) {
        this.#held.set(next.process, [...(this.#held.get(next.process) ?? []), next]);
        continue;
      }
      this.elapsed = Math.max(this.elapsed, next.atElapsed);
      if (++this.eventCount > this.#eventCountMax) {
        const atS = (this.elapsed / 1_000).toFixed(1);
        throw new Restless(
          `${this.#eventCountMax} things had happened after ${atS} s, and there was no end to it`,
        );
      }
      next.fn();
      await this.#settle();
    }
    this.elapsed = Math.max(this.elapsed, untilElapsed);
  }

  /** A process's own clock: its wall clock may be wrong, its monotonic one is the machine's. */
  clockOf(process: Process & { wallOffsetMs: number }): Clock {
    const after = (ms: number, fn: () => void): Timer => this.after(process, ms, fn);
    return {
      now: () => Math.floor(this.startAt + this.elapsed + process.wallOffsetMs),
      elapsed: () => this.elapsed,
      after,
      sleep: createSleep(after),
    };
  }

  #peek(): Pending | undefined {
    return this.#heap[0];
  }

  #push(entry: Pending): void {
    const heap = this.#heap;
    let i = heap.push(entry) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(entry, heap[parent] as Pending)) break;
      heap[i] = heap[parent] as Pending;
      i = parent;
    }
    heap[i] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Pending;
    if (heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Pending, heap[child] as Pending)) child++;
      if (!isBefore(heap[child] as Pending, last)) break;
      heap[i] = heap[child] as Pending;
      i = child;
    }
    heap[i] = last;
  }
}

function isBefore(one: Pending, other: Pending): boolean {
  return one.atElapsed < other.atElapsed || (one.atElapsed === other.atElapsed && one.order < other.order);
}

/** The inline engine works in promises only, and one turn of the event loop lets all of them settle, however many follow each other. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
