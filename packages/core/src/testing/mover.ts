// Moves virtual time in a test.

import { systemClock, type Timer } from '../base/clock.ts';
import type { EngineVerb } from '../contract/engine.ts';
import { engineVerbs } from '../contract/verbs.ts';
import { type Duly, internalsOf } from '../duly.ts';
import { currentJob } from '../jobs/current-job.ts';
import type { DulyNode } from '../node.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import type { Ran } from './test-duly.ts';

// Writes that end no lease and set no start deadline: attempts that run are known, and jobs of schedules are followed by name. As any read,
// they leave nothing to reap.
const quietWrites = new Set<EngineVerb>([
  'exchange',
  'claimSchedules',
  'fire',
  'heartbeat',
  'report',
  'remember',
  'reap',
  'prune',
  'nodes',
]);
// Virtual time that passes before the store forgets what is past its time: a long move must not fill the memory.
const maintenanceEveryMs = 86_400_000;
// A turn of the event loop costs as much as a small transaction, and a year of minutes would need three million of them.
const restsPerTurn = 64;

/** Moves virtual time and waits, in real time, for the work that each instant sets off. */
export class Mover {
  /** The clock of the Duly itself. */
  readonly inner: ManualClock;
  /** The clock of handlers and tests: whoever sleeps on it inside a handler is known to wait for virtual time. */
  readonly outer: ManualClock;
  readonly #patienceMs: number;
  readonly #running = new Map<string, { at: Date; isSilent: boolean }>();
  readonly #sleepers = new Map<string, number>();
  #duly: Duly | null = null;
  #ran: Ran[] = [];
  #activityCount = 0;
  #restCount = 0;
  #onActivity: () => void = () => {};
  #reapTimer: Timer | null = null;
  /** Something happened that may have set a lease or a start deadline. */
  #mustReap = true;
  /** Jobs that schedules created and that have not started. */
  readonly #unstarted = new Set<string>();
  #maintainedAt: number;
  #isOver = false;

  constructor(startAt: number, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#maintainedAt = startAt;
    this.inner = createManualClock(startAt, { settle: () => this.#settle() });
    this.outer = {
      ...this.inner,
      after: (ms, fn) => {
        const wake = this.#fallAsleep();
        const timer = this.inner.after(ms, () => {
          wake();
          fn();
        });
        return {
          cancel() {
            wake();
            timer.cancel();
          },
        };
      },
      sleep: (ms, signal) => this.inner.sleep(ms, signal).finally(this.#fallAsleep()),
    };
  }

  watch(duly: Duly): void {
    this.#duly = duly;
    duly.on('call', ({ verb }) => {
      if (engineVerbs[verb].access === 'write' && !quietWrites.has(verb)) this.#mustReap = true;
      this.#active();
    });
    duly.on('schedule.fired', ({ jobs }) => {
      for (const id of jobs) this.#unstarted.add(id);
    });
    duly.on('job.progress', () => this.#active());
    duly.on('job.started', ({ id, attempt }) => {
      this.#running.set(`${id}/${attempt}`, { at: new Date(this.inner.now()), isSilent: false });
      this.#unstarted.delete(id);
      this.#active();
    });
    duly.on('job.settled', ({ id, type, attempt, status, error, result }) => {
      const at = this.#ended(id, attempt);
      // A job that went back unstarted did not run.
      if (at !== null) this.#ran.push({ id, type, status, at, attempt, result, error });
    });
    duly.on('job.lost', ({ id, attempt }) => {
      this.#ended(id, attempt);
    });
  }

  /** Whether a handler of this job has been entered and has not ended. */
  isRunning(id: string): boolean {
    return [...this.#running.keys()].some((key) => key.slice(0, key.lastIndexOf('/')) === id);
  }

  async move(ms: number): Promise<Ran[]> {
    this.#ran = [];
    const { node } = internalsOf(this.#duly as Duly);
    node?.setMoving(true);
    try {
      await turn();
      await this.inner.advance(ms);
      await turn();
    } finally {
      node?.setMoving(false);
      await node?.runMaintenance();
    }
    return this.#ran;
  }

  async skip(ms: number): Promise<Ran[]> {
    this.inner.jump(ms);
    return [];
  }

  async stop(stopping: Promise<void>): Promise<void> {
    this.#isOver = true;
    this.#reapTimer?.cancel();
    let isDone = false;
    const done = stopping.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      const patience = new AbortController();
      await Promise.race([done, systemClock.sleep(this.#patienceMs, patience.signal)]);
      patience.abort();
      // Whatever still runs had its patience; the drain limit is counted in virtual time.
      if (!isDone) await this.inner.advance(60_000);
    }
    await done;
  }

  #ended(id: string, attempt: number): Date | null {
    const key = `${id}/${attempt}`;
    const at = this.#running.get(key)?.at ?? null;
    this.#running.delete(key);
    this.#active();
    return at;
  }

  #fallAsleep(): () => void {
    const id = currentJob()?.id;
    if (id === undefined) return () => {};
    this.#sleepers.set(id, (this.#sleepers.get(id) ?? 0) + 1);
    this.#active();
    let isAwake = false;
    return () => {
      if (isAwake) return;
      isAwake = true;
      const left = (this.#sleepers.get(id) ?? 1) - 1;
      if (left === 0) this.#sleepers.delete(id);
      else this.#sleepers.set(id, left);
    };
  }

  #active(): void {
    this.#activityCount++;
    this.#onActivity();
  }

  /** Until nothing moves that does not wait for virtual time. */
  async #settle(): Promise<void> {
    if (this.#isOver) {
      await turn();
      return turn();
    }
    await this.#rest();
    const { node, jobs } = internalsOf(this.#duly as Duly);
    // A year of minutes is half a million instants, and at most of them there is nothing to reap: what was made has run.
    if (this.#mustReap || this.#unstarted.size > 0 || this.#running.size > 0) await this.#reap(node);
    const before = this.#activityCount;
    await jobs.pollWaiters();
    if (this.#activityCount !== before) await this.#rest();
    const now = this.inner.now();
    if (now - this.#maintainedAt < maintenanceEveryMs) return;
    this.#maintainedAt = now;
    await node?.runMaintenance();
  }

  async #reap(node: DulyNode | null): Promise<void> {
    this.#mustReap = false;
    this.#unstarted.clear();
    const nextAt = (await node?.reap()) ?? null;
    // What was reaped may have set work off.
    await this.#rest();
    this.#reapTimer?.cancel();
    this.#reapTimer =
      nextAt === null
        ? null
        : this.inner.after(Math.max(1, nextAt - this.inner.now()), () => {
            this.#mustReap = true;
          });
  }

  async #rest(): Promise<void> {
    for (;;) {
      const before = this.#activityCount;
      // Only a handler can wait for more than promises. Now and then a turn all the same: a test's own timers and I/O go on meanwhile.
      await (this.#running.size > 0 || this.#restCount++ % restsPerTurn === 0 ? turn() : drained());
      if (this.#activityCount !== before) continue;
      if (this.#running.size === 0) return;
      // A second one for what itself waits for a turn, in a handler: a stream, a thread's message that is already there.
      await turn();
      if (this.#activityCount !== before) continue;
      const busy = [...this.#running].filter(
        ([key, { isSilent }]) => !isSilent && !this.#sleepers.has(key.slice(0, key.lastIndexOf('/'))),
      );
      if (busy.length === 0) return;
      if (await this.#seesActivity(before)) continue;
      for (const [, attempt] of busy) attempt.isSilent = true;
      return;
    }
  }

  /** Waits in real time for anything to happen; false: nothing did within the patience. */
  #seesActivity(before: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = systemClock.after(this.#patienceMs, () => end(false));
      const end = (hasActivity: boolean): void => {
        timer.cancel();
        this.#onActivity = () => {};
        resolve(hasActivity);
      };
      this.#onActivity = () => end(true);
      if (this.#activityCount !== before) end(true);
    });
  }
}

/** The inline engine works in promises only, and Node comes to its ticks when all of them have settled, however many follow each other. */
function drained(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** A turn of the event loop: promises, and what is there already of messages and I/O. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
