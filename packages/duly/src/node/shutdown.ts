import { systemClock } from '@duly/core';
import type { JobLines } from './job-lines.ts';

/** What a shutdown stops and reports. */
export interface ShutdownOptions {
  lines: JobLines;
  /** How many attempts run in this process. */
  runningCount(): number;
  /** Stops taking jobs and lets running attempts finish. */
  drain(): Promise<unknown>;
  /** Aborts running attempts and gives their jobs back. */
  release(): Promise<unknown>;
}

/** Ends a node: a first signal drains it, a second one gives its jobs back, a third one exits at once. */
export interface Shutdown {
  /** Resolves when all is stopped; rejects if that fails, or with the error of `fail`. */
  ended: Promise<void>;
  /** Whether the node was asked to stop. */
  isAsked(): boolean;
  /** Drains the node. May be called again for a Duly that was added meanwhile. */
  drain(): void;
  fail(error: unknown): void;
  /** Exits with the code of the signal if there was a second one, because an aborted handler may keep the process alive. */
  exitIfAborted(): void;
  /** No longer listens to signals. */
  close(): void;
}

// npm sends its child a signal that the terminal has sent too: two within this time are one.
const sameSignalMs = 500;

// After a second signal jobs are given back within this time: a second for handlers to react, and a commit.
const releaseMs = 1_500;

// The terminal was closed, the system stops, or a person pressed Ctrl-C.
const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Listens to signals until it is closed. */
export function createShutdown({ lines, runningCount, drain, release }: ShutdownOptions): Shutdown {
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<void>();
  let askedElapsed: number | null = null;
  /** Set by a second signal. */
  let aborted: { exitCode: number; jobCount: number } | null = null;

  function startDrain(): void {
    askedElapsed ??= systemClock.elapsed();
    drain().then(() => end(), fail);
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (askedElapsed === null) {
      lines.print('Draining: what runs may finish, nothing new is started. Once more to stop at once.');
      startDrain();
      return;
    }
    if (systemClock.elapsed() - askedElapsed < sameSignalMs) return;
    askedElapsed = systemClock.elapsed();
    exitIfAborted();
    aborted = { exitCode: exitCodes[signal as keyof typeof exitCodes], jobCount: runningCount() };
    lines.print('Giving back what runs. Once more to leave it as it is.');
    // Jobs that are given back can run elsewhere at once, the others when their leases end.
    systemClock.after(releaseMs, exitIfAborted);
    release().then(() => end(), fail);
  }

  function exitIfAborted(): void {
    if (aborted === null) return;
    const count = runningCount();
    if (count > 0) {
      lines.print(
        `Stopped at once. ${jobsText(count)} cut off, which spends no attempt; taken up again when the lease ends.`,
      );
    } else if (aborted.jobCount > 0) {
      lines.print(`Stopped at once. ${jobsText(aborted.jobCount)} given back unspent.`);
    }
    lines.close();
    process.exit(aborted.exitCode);
  }

  for (const signal of Object.keys(exitCodes)) process.on(signal, onSignal);
  return {
    ended,
    isAsked: () => askedElapsed !== null,
    drain: startDrain,
    fail,
    exitIfAborted,
    close() {
      for (const signal of Object.keys(exitCodes)) process.off(signal, onSignal);
    },
  };
}

function jobsText(count: number): string {
  return count === 1 ? '1 job was' : `${count} jobs were`;
}
