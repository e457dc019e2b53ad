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

/** Starts a node, shows what it does, and ends with it: on SIGINT or SIGTERM after a drain, on a second one at once. */
export async function runNode(duly: Duly, shell: Shell, options: RunNodeOptions): Promise<number> {
  const { out, json } = shell;
  const lines = json ? createJsonLines(duly, out) : createJobLines(duly, out);
  const jobs = options.quiet ? null : lines;
  if (options.quiet) lines.close();

  const ended = Promise.withResolvers<void>();
  let askedElapsed: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedElapsed !== null) {
      if (systemClock.elapsed() - askedElapsed < sameSignalMs) return;
      lines.close();
      process.exit(signal === 'SIGINT' ? 130 : 143);
    }
    askedElapsed = systemClock.elapsed();
    lines.print('Draining: what runs may finish, nothing new is started. Once more to stop at once.');
    duly.stop().then(ended.resolve, ended.reject);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // Somebody asked this node to drain from elsewhere; with nothing left to do here the process ends too.
  const offDrained = duly.on('drained', () => duly.stop().then(ended.resolve, ended.reject));

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
    jobs?.close();
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
    await duly.stop();
  }
}
