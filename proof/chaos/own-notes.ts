import type { Fault, HistoryEvent, WriteEvent } from '../history.ts';
import type { OwnListener } from './own.ts';

let count = 0;

/** Notes one transaction of this process's own in its history. */
export function ownNotes(options: {
  /** The name that the run gave this process. */
  name: string;
  node: () => string;
  now: () => number;
  write: WriteEvent;
}): OwnListener {
  const n = ++count;
  return (state) =>
    options.write({
      kind: 'ownTransaction',
      at: options.now(),
      node: options.node(),
      process: options.name,
      n,
      state,
    });
}

/** The times, as faults, in which a transaction of a process's own had the file locked for so long that others could lose a lease by it. */
export function ownLocks(events: readonly HistoryEvent[], reportMs: number): Fault[] {
  const held = new Map<string, number>();
  const faults: Fault[] = [];
  for (const event of events) {
    if (event.kind !== 'ownTransaction') continue;
    const key = `${event.process}/${event.n}`;
    if (event.state === 'held') held.set(key, event.at);
    const fromAt = held.get(key);
    if (event.state !== 'over' || fromAt === undefined || event.at - fromAt < reportMs) continue;
    const detail = `by a transaction of ${event.process}`;
    faults.push({ kind: 'fault', at: fromAt, node: '*', fault: 'file-locked', untilAt: event.at, detail });
  }
  return faults;
}
