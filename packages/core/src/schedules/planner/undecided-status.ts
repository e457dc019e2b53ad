import type { Pause } from '../definition/state.ts';

/** What a slot is that no node has decided: not due or in its grace, past it, or held by a pause. */
export type UndecidedStatus = 'pending' | 'late' | 'held';

/** What an undecided slot is at an instant. `pause` is the one that holds then (`currentPause`): what fell due before it began is not its. */
export function undecidedStatus({
  dueAt,
  now,
  graceMs,
  pause,
}: {
  dueAt: number;
  now: number;
  graceMs: number;
  pause: Pause | null;
}): UndecidedStatus {
  if (dueAt > now) return 'pending';
  if (pause !== null && dueAt > pause.at) return 'held';
  return now - dueAt > graceMs ? 'late' : 'pending';
}
