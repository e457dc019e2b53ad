import { type Duly, type StartOptions, systemClock } from '@duly/core';
import type { Shell } from '../shell.ts';
import { createJobLines, type JobLines } from './job-lines.ts';
import { createJsonLines } from './json-lines.ts';

/** How a node is run by the command. */
export interface RunNodeOptions {
  start: StartOptions;
  quiet: boolean;
  /** Called when it runs, to greet. */
  onStarted(facts: { node: string; lines: JobLines }): Promise<void>;
}

// npm sends a signal on that its child has got from the terminal already: two within this time are one.
const sameSignalMs = 500;

// The terminal was closed, the system stops, or a person pressed Ctrl-C.
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Starts a node, shows what it does, and ends with it: on a signal after a drain, on a second one at once. */
export async function runNode(duly: Duly, shell: Shell, options: RunNodeOptions): Promise<number> {
  const { out, json } = shell;
  const lines = json ? createJsonLines(duly, out) : createJobLines(duly, out);
  if (options.quiet) lines.close();

  const ended = Promise.withResolvers<void>();
  let askedElapsed: number | null = null;
  const stop = (): void => {
    askedElapsed ??= systemClock.elapsed();
    duly.stop().then(ended.resolve, ended.reject);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedElapsed === null) {
      lines.print('Draining: what runs may finish, nothing new is started. Once more to stop at once.');
      stop();
    } else if (systemClock.elapsed() - askedElapsed >= sameSignalMs) {
      lines.close();
      process.exit(signals[signal as keyof typeof signals]);
    }
  };
  for (const signal of Object.keys(signals)) process.on(signal, onSignal);
  // Nobody reads any more (`duly up | head`, a closed terminal). Jobs that run are not to die of it.
  process.stdout.removeAllListeners('error').on('error', stop);
  // Somebody asked this node to drain from elsewhere; with nothing left to do here the process ends too.
  const offDrained = duly.on('drained', stop);

  try {
    const started = duly.next('started');
    await duly.start(options.start);
    const { node } = await started;
    await options.onStarted({ node, lines });
    lines.begin();
    await ended.promise;
    lines.print('Stopped.');
    return 0;
  } finally {
    offDrained();
    lines.close();
    for (const signal of Object.keys(signals)) process.off(signal, onSignal);
    await duly.stop();
  }
}
