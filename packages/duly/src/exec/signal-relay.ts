/** Passes signals that this process gets on to the program that it runs. */
export interface SignalRelay {
  /** The first signal that came before there was a program; null: none. */
  readonly early: NodeJS.Signals | null;
  /** From now on they go there. */
  to(kill: (signal: NodeJS.Signals) => void): void;
  /** Ends it; signals do what they do by themselves again. */
  close(): void;
}

const relayed = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
// A terminal sends these to its whole group: the program has got them already.
const fromTerminal: readonly string[] = ['SIGINT', 'SIGQUIT'];

/** Begins to keep signals, so that none ends this process while it holds a lock. */
export function openSignalRelay(): SignalRelay {
  let early: NodeJS.Signals | null = null;
  let pass: ((signal: NodeJS.Signals) => void) | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (pass === null) early ??= signal;
    else if (process.stdin.isTTY !== true || !fromTerminal.includes(signal)) pass(signal);
  };
  for (const signal of relayed) process.on(signal, onSignal);
  return {
    get early() {
      return early;
    },
    to(kill) {
      pass = kill;
    },
    close() {
      for (const signal of relayed) process.off(signal, onSignal);
    },
  };
}
