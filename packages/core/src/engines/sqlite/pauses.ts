import type { PauseValue } from '../../contract/engine.ts';

/** What is paused at an instant, and when the next pause ends by itself. */
export interface Pauses {
  all: boolean;
  queues: ReadonlySet<string>;
  types: ReadonlySet<string>;
  /** Whoever sleeps until the next due job must be awake then; null: no pause ends by itself. */
  nextEndAt: number | null;
}

const none: ReadonlySet<string> = new Set();
/** Nothing is paused, as it nearly always is. */
export const noPauses: Pauses = { all: false, queues: none, types: none, nextEndAt: null };

/** Reads the stored pauses, as key and value, at an instant. */
export function pausesAt(now: number, rows: [key: string, value: string][]): Pauses {
  // Nearly always.
  if (rows.length === 0) return noPauses;
  const queues = new Set<string>();
  const types = new Set<string>();
  let all = false;
  let nextEndAt: number | null = null;
  for (const [key, value] of rows) {
    const { untilAt } = JSON.parse(value) as PauseValue;
    if (untilAt !== null && untilAt <= now) continue;
    if (untilAt !== null && (nextEndAt === null || untilAt < nextEndAt)) nextEndAt = untilAt;
    if (key === 'all') all = true;
    else if (key.startsWith('queue:')) queues.add(key.slice('queue:'.length));
    else if (key.startsWith('type:')) types.add(key.slice('type:'.length));
  }
  return { all, queues, types, nextEndAt };
}
