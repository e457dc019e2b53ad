import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const refusedAbsent: Invariant = {
  name: 'refused-absent',
  promise: 'A job whose making was refused never appears.',
  check({ events, final }, _facts, exercise) {
    const byCall = new Map<number, string>();
    for (const { id, input } of final.jobs) {
      const call = callOf(input);
      if (call !== null) byCall.set(call, id);
    }
    const inputs = new Map<number, string>();
    const refused = new Set<number>();
    for (const event of events) {
      if (event.kind === 'asked' && event.wants !== undefined) inputs.set(event.call, event.wants.input);
      if (event.kind === 'answered' && event.outcome === 'refused') refused.add(event.call);
    }
    return events.flatMap((event) => {
      if (event.kind !== 'answered' || event.what !== 'create' || event.outcome !== 'refused') return [];
      exercise();
      const id = byCall.get(event.call);
      if (id === undefined) return [];
      // Another process asked for the same job, under the same id.
      const input = inputs.get(event.call);
      const isTwin = [...inputs].some(([call, other]) => other === input && !refused.has(call));
      if (input !== undefined && isTwin) return [];
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
