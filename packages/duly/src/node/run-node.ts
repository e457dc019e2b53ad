import { type Duly, type StartOptions, systemClock } from '@duly/core';
import type { CommandContext } from '../cli/context.ts';
import { redirectWrites } from '../output/redirect.ts';
import { createJobLines, type JobLines } from './job-lines.ts';
import { createJsonLines } from './json-lines.ts';

/** How a node is run by the command. */
export interface RunNodeOptions {
  start: StartOptions;
  quiet: boolean;
  /** Called when it runs, to greet. */
  onStarted(facts: {
    node: string;
    lines: JobLines;
    /** Goes on with another Duly: it is started, then the one before drains. If it cannot start, all stays as it is. */
    goOnWith(next: Duly): Promise<void>;
  }): Promise<void>;
  /** Called when it begins to stop, perhaps twice: ends what stands on the Duly. */
  close?(): Promise<void>;
}

// npm sends a signal on that its child has got from the terminal already: two within this time are one.
const sameSignalMs = 500;

// After a second signal, so long is tried to give jobs back: a second for handlers to hear of it, and a commit.
const releaseMs = 1_500;

// The terminal was closed, the system stops, or a person pressed Ctrl-C.
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Starts a node, shows what it does, and ends with it: on a signal after a drain, on a second one at once. */
export async function runNode(
  first: Duly,
  context: CommandContext,
  options: RunNodeOptions,
): Promise<number> {
  const { out, json } = context;
  const lines = json ? createJsonLines(first, out) : createJobLines(first, out);
  const restore = out.isTerminal && !json && !options.quiet ? printAbove(lines) : () => {};
  if (options.quiet) lines.close();

  let duly = first;
  /** Those that went before and still drain. */
  const leaving = new Map<Duly, Promise<void>>();
  const running = countRunning();
  running.follow(duly);
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<void>();
  let askedElapsed: number | null = null;
  const stop = (): void => {
    askedElapsed ??= systemClock.elapsed();
    // Both at once: no more jobs are taken from this moment on, however long those who are connected take to leave.
    Promise.all([options.close?.(), duly.stop(), ...leaving.values()]).then(() => end(), fail);
  };
  /** The exit code, once a second signal came. */
  let abortCode: number | null = null;
  let leftCount = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedElapsed === null) {
      lines.print('Draining: what runs may finish, nothing new is started. Once more to stop at once.');
      stop();
      return;
    }
    if (systemClock.elapsed() - askedElapsed < sameSignalMs) return;
    askedElapsed = systemClock.elapsed();
    if (abortCode !== null) leave(abortCode);
    abortCode = signals[signal as keyof typeof signals];
    leftCount = running.count();
    lines.print('Giving back what runs. Once more to leave it as it is.');
    // What is given back is taken up by others at once; what is not, when its lease ends.
    systemClock.after(releaseMs, () => leave(abortCode as number));
    Promise.all([duly, ...leaving.keys()].map((one) => one.stop({ drain: 0 }))).then(() => end(), fail);
  };
  // Not by itself: a handler that was given up may keep the process alive.
  const leave = (exitCode: number): never => {
    const count = running.count();
    if (count > 0) {
      lines.print(
        `Stopped at once. ${jobsText(count)} cut off, which spends no attempt; taken up again when the lease ends.`,
      );
    } else if (leftCount > 0) lines.print(`Stopped at once. ${jobsText(leftCount)} given back unspent.`);
    lines.close();
    process.exit(exitCode);
  };
  for (const signal of Object.keys(signals)) process.on(signal, onSignal);
  // Nobody reads any more (`duly up | head`, a closed terminal). Jobs that run are not to die of it.
  process.stdout.removeAllListeners('error').on('error', stop);
  // Somebody asked this node to drain from elsewhere; with nothing left to do here the process ends too.
  let offDrained = duly.on('drained', stop);
  let offMoved = duly.on('moved', ({ error }) => fail(error));

  const goOnWith = async (next: Duly): Promise<void> => {
    if (askedElapsed !== null) return;
    try {
      await next.start(options.start);
    } catch (error) {
      await next.stop();
      throw error;
    }
    const before = duly;
    duly = next;
    if (!options.quiet) lines.follow(next);
    running.follow(next);
    offDrained();
    offDrained = next.on('drained', stop);
    offMoved();
    offMoved = next.on('moved', ({ error }) => fail(error));
    // Asked to stop while the next one started: it has not heard of it.
    if (askedElapsed !== null) stop();
    leaving.set(
      before,
      before.stop().finally(() => leaving.delete(before)),
    );
    // Whoever stops waits for it; until then nobody may listen.
    leaving.get(before)?.catch(() => {});
  };

  try {
    const started = duly.next('started');
    await duly.start(options.start);
    const { node } = await started;
    await options.onStarted({ node, lines, goOnWith });
    lines.begin();
    await ended;
    if (abortCode !== null) leave(abortCode);
    lines.print('Stopped.');
    return 0;
  } finally {
    offDrained();
    offMoved();
    running.close();
    restore();
    lines.close();
    for (const signal of Object.keys(signals)) process.off(signal, onSignal);
    await options.close?.();
    await Promise.all([duly.stop(), ...leaving.values()]);
  }
}

/** What handlers print appears above the bars, which would otherwise be drawn over it. */
function printAbove(lines: JobLines): () => void {
  const restores = [process.stdout, process.stderr]
    .filter((stream) => stream.isTTY)
    .map((stream) => redirectWrites(stream, (text) => lines.write(text)));
  return () => {
    for (const restore of restores) restore();
  };
}

/** Counts the attempts that run here. */
function countRunning(): { count(): number; follow(duly: Duly): void; close(): void } {
  const ids = new Set<string>();
  const offs: (() => void)[] = [];
  return {
    count: () => ids.size,
    follow(duly) {
      offs.push(
        duly.on('job.started', ({ id }) => void ids.add(id)),
        duly.on('job.settled', ({ id }) => void ids.delete(id)),
        duly.on('job.lost', ({ id }) => void ids.delete(id)),
      );
    },
    close() {
      for (const off of offs) off();
    },
  };
}

function jobsText(count: number): string {
  return count === 1 ? '1 job was' : `${count} jobs were`;
}
