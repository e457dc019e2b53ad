import type { Duly, StartOptions, StopOptions } from '@duly/core';
import type { CommandContext } from '../cli/context.ts';
import { redirectWrites } from '../output/redirect.ts';
import { createJobLines, type JobLines } from './job-lines.ts';
import { createJsonLines } from './json-lines.ts';
import { createShutdown } from './shutdown.ts';

/** How a node is run by the command. */
export interface RunNodeOptions {
  start: StartOptions;
  quiet: boolean;
  /** Called when it runs, to greet. */
  onStarted(facts: {
    node: string;
    lines: JobLines;
    /** Starts another Duly and then drains the one before. If the other cannot start, nothing changes. */
    goOnWith(next: Duly): Promise<void>;
  }): Promise<void>;
  /** Called when it begins to stop, perhaps twice: closes what uses the Duly, such as the server. */
  close?(): Promise<void>;
}

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

  const running = countRunning();
  running.follow(first);
  const dulys = createDulys(first, {
    // Another process asked this node to drain. It then has nothing left to do, so the process ends too.
    onDrained: () => shutdown.drain(),
    onMoved: (error) => shutdown.fail(error),
  });
  const shutdown = createShutdown({
    lines,
    runningCount: running.count,
    // Both at once: no job is taken from this moment on, however long connected clients take to leave.
    drain: () => Promise.all([options.close?.(), dulys.stop()]),
    release: () => dulys.stop({ drain: 0 }),
  });
  // The output is not read any more (`duly up | head`, a closed terminal). Running jobs must not fail because of it.
  process.stdout.removeAllListeners('error').on('error', () => shutdown.drain());

  const goOnWith = async (next: Duly): Promise<void> => {
    if (shutdown.isAsked()) return;
    try {
      await next.start(options.start);
    } catch (error) {
      await next.stop();
      throw error;
    }
    if (!options.quiet) lines.follow(next);
    running.follow(next);
    const before = dulys.switchTo(next);
    // A stop that was asked for while the next one started has not reached it.
    if (shutdown.isAsked()) shutdown.drain();
    dulys.retire(before);
  };

  try {
    const started = first.next('started');
    await first.start(options.start);
    const { node } = await started;
    await options.onStarted({ node, lines, goOnWith });
    lines.begin();
    await shutdown.ended;
    shutdown.exitIfAborted();
    lines.print('Stopped.');
    return 0;
  } finally {
    dulys.close();
    running.close();
    restore();
    lines.close();
    shutdown.close();
    await options.close?.();
    await dulys.stop();
  }
}

/** The Duly that runs the node, and those that it has replaced, which still drain. */
function createDulys(
  first: Duly,
  { onDrained, onMoved }: { onDrained(): void; onMoved(error: Error): void },
) {
  let current = first;
  const retiring = new Map<Duly, Promise<void>>();
  const listen = (duly: Duly) => [
    duly.on('drained', onDrained),
    duly.on('moved', ({ error }) => onMoved(error)),
  ];
  let offs = listen(first);
  const close = (): void => {
    for (const off of offs) off();
  };
  return {
    /** Makes another Duly the current one and returns the one before, which runs on until `retire`. */
    switchTo(next: Duly): Duly {
      const before = current;
      current = next;
      close();
      offs = listen(next);
      return before;
    },
    /** Drains a Duly that was replaced. */
    retire(duly: Duly): void {
      const stopped = duly.stop().finally(() => retiring.delete(duly));
      retiring.set(duly, stopped);
      // A failure is reported by `stop`, which waits for it.
      stopped.catch(() => {});
    },
    /** Stops all of them. */
    stop: (stopOptions?: StopOptions) =>
      Promise.all([current, ...retiring.keys()].map((duly) => duly.stop(stopOptions))),
    close,
  };
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

/** Counts the attempts that run in this process. */
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
