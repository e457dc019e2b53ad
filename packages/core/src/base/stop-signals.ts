/** What signals ask of a Duly. */
export interface StopSignalsOptions {
  isStopping(): boolean;
  stop(options: { drain?: 0 }): Promise<void>;
  onError(error: unknown): void;
}

/** Stops on SIGTERM and SIGINT; a second one means now. Answers what ends the listening. */
export function listenForSignals({ isStopping, stop, onError }: StopSignalsOptions): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    // The second one means now.
    const drain = isStopping() ? ({ drain: 0 } as const) : {};
    // A process that listens to a signal does not end by it. Where nobody else listens, ending it is ours.
    const isOurs = process.listenerCount(signal) === 1;
    stop(drain).then(() => isOurs && process.exit(), onError);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return () => {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  };
}
