import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const refusedAbsent: Invariant = {
  name: 'refused-absent',
  promise: 'A job whose making was refused never appears.',
  check({ events, final }) {
    const byCall = new Map<number, string>();
    for (const { id, input } of final.jobs) {
      const call = callOf(input);
      if (call !== null) byCall.set(call, id);
    }
    return events.flatMap((event) => {
      if (event.kind !== 'answered' || event.what !== 'make' || event.outcome !== 'refused') return [];
      const id = byCall.get(event.call);
      if (id === undefined) return [];
      return [
        {
          subjects: [id],
          message: `Call ${event.call} on ${event.node} was refused (${event.code}) at ${show(event.at)}, and its job ${id} is in the store.`,
        },
      ];
    });
  },
};

/** The call that made a job, as proofs write it into the input. */
function callOf(input: string): number | null {
  const value = JSON.parse(input) as { call?: unknown } | null;
  return typeof value === 'object' && typeof value?.call === 'number' ? value.call : null;
}
