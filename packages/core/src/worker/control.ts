import type { Due } from '../contract/engine.ts';

/** What a handler asked for by throwing. */
export type Control = { kind: 'retry'; due: Due; reason: string | null } | { kind: 'snooze'; due: Due };

// In the registry of symbols, so that a second copy of this package knows it too.
const brand: unique symbol = Symbol.for('duly.control') as never;

/**
 * What `retryIn`, `retryAt` and `snooze` throw. An Error, so that a catch block of the handler that it passes through can show
 * it; it must be thrown on from there, and the message says so.
 */
export class ControlSignal extends Error {
  readonly [brand]: Control;

  constructor(verb: string, control: Control) {
    super(`${verb}() ends the attempt by throwing. If you caught this, throw it again.`);
    this[brand] = control;
  }
}

Object.defineProperty(ControlSignal.prototype, 'name', { value: 'ControlSignal' });

/** What was asked for, or null if this is an ordinary error. */
export function controlOf(thrown: unknown): Control | null {
  if (typeof thrown !== 'object' || thrown === null) return null;
  try {
    return (thrown as Partial<ControlSignal>)[brand] ?? null;
  } catch {
    // A proxy that throws when it is looked at.
    return null;
  }
}
