import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Clock, DulyError } from '@duly/core';

/** A program to run. */
export interface CommandRun {
  argv: readonly string[];
  cwd: string | undefined;
  /** The whole environment of the program. */
  env: Readonly<Record<string, string>>;
  /** Given to it as its standard input. */
  stdin: string;
  signal: AbortSignal;
  /** Told every line, until the limit. */
  onLine(stream: 'stdout' | 'stderr', line: string): void;
}

/** How it ended. */
export interface CommandEnd {
  /** null: a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  durationMs: number;
  /** Whether it said more than was kept. */
  isCut: boolean;
}

/** Where to cut. */
export interface CommandLimits {
  /** Of both streams together; default 1 MiB. */
  outputBytesMax?: number;
  /** How long an aborted program may take to end by itself; default 5 s. */
  killAfterMs?: number;
}

const outputBytesDefault = 1_024 * 1_024;
const killAfterMsDefault = 5_000;
const lineLengthMax = 4_096;
// A program that left its group but kept the pipe must not keep the job.
const pipeWaitMs = 1_000;

/**
 * Runs a program without a shell, in a process group of its own. When it ends, or its job does, whatever is left of the group is killed. Throws
 * `command_failed` when it cannot be started, and the reason of the signal when it was aborted.
 */
export async function runCommand(
  run: CommandRun,
  clock: Clock,
  limits: CommandLimits = {},
): Promise<CommandEnd> {
  const { outputBytesMax = outputBytesDefault, killAfterMs = killAfterMsDefault } = limits;
  const { signal } = run;
  signal.throwIfAborted();
  const sinceElapsed = clock.elapsed();
  const child = start(run);
  const ended = endOf(child, run);
  let leftBytes = outputBytesMax;
  let isCut = false;
  const listen = (stream: 'stdout' | 'stderr'): Promise<void> =>
    readLines(child[stream] as Readable, (line) => {
      leftBytes -= Buffer.byteLength(line) + 1;
      if (leftBytes >= 0) run.onLine(stream, line);
      else isCut = true;
    });
  const received = Promise.all([listen('stdout'), listen('stderr')]);
  // A program that does not read its input closes it; that is its right.
  child.stdin?.on('error', () => {});
  child.stdin?.end(run.stdin);

  let killTimer = clock.after(0, () => {});
  const abort = (): void => {
    killGroup(child, 'SIGTERM');
    killTimer = clock.after(killAfterMs, () => killGroup(child, 'SIGKILL'));
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    const { exitCode, signal: endSignal } = await ended;
    killGroup(child, 'SIGKILL');
    const pipeTimer = clock.after(pipeWaitMs, () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
    await received;
    pipeTimer.cancel();
    signal.throwIfAborted();
    return { exitCode, signal: endSignal, durationMs: Math.round(clock.elapsed() - sinceElapsed), isCut };
  } finally {
    killTimer.cancel();
    signal.removeEventListener('abort', abort);
  }
}

function start({ argv, cwd, env }: CommandRun) {
  try {
    return spawn(argv[0] as string, argv.slice(1), {
      ...(cwd === undefined ? {} : { cwd }),
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    // What was filled in left no name of a program, or holds a NUL.
    throw notStarted({ argv, cwd }, error as Error);
  }
}

function endOf(
  child: ChildProcess,
  run: CommandRun,
): Promise<{ exitCode: number | null; signal: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
    child.once('error', (cause) => reject(notStarted(run, cause)));
  });
}

function notStarted({ argv, cwd }: Pick<CommandRun, 'argv' | 'cwd'>, cause: Error): DulyError {
  const [program = ''] = argv;
  // The system says of a folder that is not there what it says of a program.
  const isFolderGone = cwd !== undefined && !existsSync(cwd);
  return new DulyError('command_failed', {
    message: `The program "${program}" could not be started: ${isFolderGone ? `there is no folder "${cwd}".` : cause.message}`,
    hint: 'Check the name of the program, that it may be run, and the folder it runs in.',
    details: { program },
    cause,
  });
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}

/** Reads to the end. A line that does not end is given in pieces, so that it is not kept whole. */
function readLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('error', () => {});
  stream.on('data', (chunk: string) => {
    const lines = `${rest}${chunk}`.split(/\r?\n/);
    rest = lines.pop() as string;
    for (const line of lines) giveInPieces(line, onLine);
    if (rest.length <= lineLengthMax) return;
    giveInPieces(rest, onLine);
    rest = '';
  });
  return new Promise((resolve) => {
    stream.once('close', () => {
      if (rest !== '') giveInPieces(rest, onLine);
      resolve();
    });
  });
}

function giveInPieces(line: string, onLine: (line: string) => void): void {
  for (let at = 0; at === 0 || at < line.length; at += lineLengthMax) {
    onLine(line.slice(at, at + lineLengthMax));
  }
}
