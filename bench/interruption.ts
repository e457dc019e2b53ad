/** A run that a signal breaks off: what it has started and made would outlive it, and is ended and removed. */
import type { ChildProcess } from 'node:child_process';

/** Signals that break a run off. */
export type InterruptingSignal = 'SIGINT' | 'SIGTERM';

/** The run was broken off. */
export class Interrupted extends Error {
  readonly signal: InterruptingSignal;

  constructor(signal: InterruptingSignal) {
    super(`Ended by ${signal}.`);
    this.signal = signal;
  }
}

type End = () => void | Promise<void>;

const ends = new Set<End>();
let interruption: Interrupted | null = null;

/**
 * Keeps how to end something for as long as it is there; answers how to tell that it is gone. After the run was broken off it is ended at
 * once, and whoever wanted it is told so.
 */
export function endIfInterrupted(end: End): () => void {
  if (interruption !== null) {
    void end();
    throw interruption;
  }
  ends.add(end);
  return () => void ends.delete(end);
}

/** The same for a process. */
export function killIfInterrupted(one: ChildProcess): void {
  const exited = new Promise<void>((resolve) => void one.once('exit', () => resolve()));
  const forget = endIfInterrupted(async () => {
    one.kill('SIGKILL');
    await exited;
  });
  void exited.then(forget);
}

/** Lets a process of the run live on when the terminal or `timeout` signals all of them: the harness ends it. */
export function leaveSignalsToHarness(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
}

/** Rejects with `Interrupted` when a signal comes. A second one ends the process on the spot. */
export function untilInterrupted(): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      interruption ??= new Interrupted(signal);
      // Whoever waits for a process that is killed now may have nobody who listens any more.
      process.on('unhandledRejection', () => {});
      reject(interruption);
    });
  // It may come while nobody waits.
  promise.catch(() => {});
  return promise;
}

/** Ends and removes what is there, the newest first: processes before the folders that they write to. */
export async function endAll(): Promise<void> {
  for (const end of [...ends].reverse()) await end();
}
