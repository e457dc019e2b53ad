/** What handlers do, noted around them: the simulation and the runs on real processes write it alike. */
import type { TaskContext } from '../packages/core/src/jobs/task-definition.ts';
import { controlOf } from '../packages/core/src/worker/control.ts';
import type { WriteEvent } from './history.ts';

/** Where the notes of a process go. */
export interface HandlerNotes {
  /** The node, by the name that the store knows it by. */
  name: string;
  storeAt(): number;
  write: WriteEvent;
  /** Told when a handler's end is noted, before it returns or throws. */
  onEnded?(): void;
}

/** Attempts whose outcome is that of a transaction of their own. */
const completedInTransaction = new WeakSet<TaskContext<unknown>>();

/** Notes that a handler completes its job in a transaction of its own. */
export function completesInTransaction(context: TaskContext<unknown>): void {
  completedInTransaction.add(context);
}

/** The handler, with its beginning, its end and what its signal said in the history. */
export function recorded(
  whose: () => HandlerNotes,
  run: (context: TaskContext<unknown>) => Promise<unknown>,
): (context: TaskContext<unknown>) => Promise<unknown> {
  return async (context) => {
    const { name, storeAt, write, onEnded } = whose();
    const { job, attempt, fence, slot } = context;
    const base = { node: name, id: job.id, attempt, fence };
    const slotAt = slot === null ? null : slot.at.getTime();
    write({ kind: 'began', at: storeAt(), ...base, type: job.type, slotAt });
    let how = 'returned';
    let hasEnded = false;
    context.signal.addEventListener('abort', () => {
      const reason = String(reasonOf(context.signal));
      if (!hasEnded) write({ kind: 'aborted', at: storeAt(), node: name, id: job.id, fence, reason });
    });
    let value: string | null = null;
    let again: { againMs?: number } = {};
    try {
      const result = await run(context);
      value = JSON.stringify(result) ?? null;
      if (value === null && result !== undefined) how = 'returned-no-json';
      if (completedInTransaction.has(context)) how = 'completed-apart';
      return result;
    } catch (error) {
      how = howOf(error);
      again = againOf(error);
      throw error;
    } finally {
      hasEnded = true;
      const aborted = reasonOf(context.signal);
      write({ kind: 'ended', at: storeAt(), ...base, how, value, aborted, ...again });
      onEnded?.();
    }
  };
}

/** What a handler that threw asked for by it, or the name of what it threw. */
function howOf(thrown: unknown): string {
  const control = controlOf(thrown);
  if (control !== null) return control.kind === 'snooze' ? 'snoozed' : 'retry-asked';
  return thrown instanceof Error ? thrown.name : 'threw';
}

/** When a handler that asked for it is to come again. */
function againOf(thrown: unknown): { againMs?: number } {
  const control = controlOf(thrown);
  return control !== null && 'inMs' in control.due ? { againMs: control.due.inMs } : {};
}

/** Why a signal was aborted; null: it is not. */
function reasonOf(signal: AbortSignal): string | null {
  return signal.aborted ? String((signal.reason as { code?: unknown }).code) : null;
}
