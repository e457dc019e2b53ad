import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { type Clock, DulyError } from '@duly/core';

/** A program to run as if nobody stood before it. */
export interface ChildRun {
  argv: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Where its stdout and stderr go, byte by byte. */
  stdout: Writable;
  stderr: Writable;
  /** Told every line of both. */
  onLine(stream: 'stdout' | 'stderr', line: string): void;
  /** Ends it: SIGTERM, and SIGKILL after the grace. */
  signal: AbortSignal;
  clock: Clock;
}

/** How it ended. */
export interface ChildEnd {
  /** null: a signal ended it. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  durationMs: number;
}

/** A program at work. */
export interface Child {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<ChildEnd>;
}

const killAfterMs = 10_000;
// A program in the background that kept the pipe must not keep us.
const pipeWaitMs = 1_000;
const lineLengthMax = 4_096;

/**
 * Starts a program. Off a terminal it has a process group of its own, which is ended whole when it is aborted; on one it shares ours, so that it may read from the
 * keyboard. Throws `command_failed` with the exit code that shells have for it.
 */
export async function startChild(run: ChildRun): Promise<Child> {
  const { argv, env, clock, signal } = run;
  const program = argv[0] as string;
  const isGrouped = process.stdin.isTTY !== true;
  const sinceElapsed = clock.elapsed();
  const child = spawn(program, argv.slice(1), {
    env,
    detached: isGrouped,
    stdio: ['inherit', 'pipe', 'pipe'],
  });
  const exited = new Promise<Omit<ChildEnd, 'durationMs'>>((resolve) =>
    child.once('exit', (exitCode, ended) => resolve({ exitCode, signal: ended })),
  );
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause: NodeJS.ErrnoException) => reject(notStarted(program, cause)));
  });
  child.on('error', () => {});
  const received = Promise.all([
    relayLines(child.stdout as Readable, run.stdout, (line) => run.onLine('stdout', line)),
    relayLines(child.stderr as Readable, run.stderr, (line) => run.onLine('stderr', line)),
  ]);

  async function end(): Promise<ChildEnd> {
    let killTimer = clock.after(0, () => {});
    const abort = (): void => {
      kill(child, 'SIGTERM', isGrouped);
      killTimer = clock.after(killAfterMs, () => kill(child, 'SIGKILL', isGrouped));
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const ended = await exited;
    const durationMs = Math.round(clock.elapsed() - sinceElapsed);
    killTimer.cancel();
    signal.removeEventListener('abort', abort);
    const pipeTimer = clock.after(pipeWaitMs, () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
    await received;
    pipeTimer.cancel();
    return { ...ended, durationMs };
  }

  return { pid: child.pid as number, kill: (name) => kill(child, name, false), ended: end() };
}

/** The exit code by which shells tell how a program ended: its own, or 128 and the number of the signal. */
export function exitCodeOfEnd({ exitCode, signal }: Pick<ChildEnd, 'exitCode' | 'signal'>): number {
  return exitCode ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

function notStarted(program: string, cause: NodeJS.ErrnoException): DulyError {
  const isMissing = cause.code === 'ENOENT';
  return new DulyError('command_failed', {
    message: `The program "${program}" could not be started: ${isMissing ? 'there is none of this name' : cause.message}.`,
    hint: /\s/.test(program)
      ? 'Its name has a blank in it: write the program and each argument apart, or use sh -c "…".'
      : 'Check its name and PATH, which is short under cron, and that it may be executed.',
    details: { program, exitCode: isMissing ? 127 : 126 },
    cause,
  });
}

function kill(child: ChildProcess, signal: NodeJS.Signals, isWhole: boolean): void {
  try {
    if (isWhole) process.kill(-(child.pid as number), signal);
    else child.kill(signal);
  } catch {
    // Nobody is left.
  }
}

/**
 * Passes bytes on as they come, no faster than they are taken, and tells the lines in them. When their reader goes away the program's pipe is closed too: its next
 * write tells it, as without us. Kept open and unread, the pipe would hold the program up for ever.
 */
function relayLines(from: Readable, to: Writable, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  const give = (text: string): void => {
    const lines = `${rest}${text}`.split(/\r?\n/);
    rest = lines.pop() as string;
    for (const line of lines) onLine(line);
    while (rest.length > lineLengthMax) {
      onLine(rest.slice(0, lineLengthMax));
      rest = rest.slice(lineLengthMax);
    }
  };
  const onGone = (): void => void from.destroy();
  to.once('error', onGone);
  from.on('error', () => {});
  from.on('data', (chunk: Buffer) => {
    give(decoder.decode(chunk, { stream: true }));
    if (!to.writable) onGone();
    else if (!to.write(chunk)) {
      from.pause();
      to.once('drain', () => from.resume());
    }
  });
  return new Promise((resolve) => {
    from.once('close', () => {
      to.off('error', onGone);
      give(decoder.decode());
      if (rest !== '') onLine(rest);
      resolve();
    });
  });
}
