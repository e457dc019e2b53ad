import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

interface Given {
  fence: number;
  at: number;
  node: string;
}

/** See `promise`. */
export const fencesGrow: Invariant = {
  name: 'fences-grow',
  promise:
    'Every fence is greater than all fences given before for the same job, schedule or lock, and no fence is given for two jobs.',
  parts: ['job', 'schedule', 'lock'],
  check({ events }, { leases }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const compare = (part: string, subject: string, given: Given[]): void => {
      const ordered = [...given].sort((one, other) => one.fence - other.fence);
      for (const [i, one] of ordered.entries()) {
        const before = ordered[i - 1];
        if (before === undefined) continue;
        exercise(part);
        if (one.fence === before.fence || one.at < before.at) {
          problems.push({
            subjects: [subject],
            message: `${subject}: fence ${one.fence} was given to ${one.node} at ${show(one.at)}, and fence ${before.fence} to ${before.node} at ${show(before.at)}.`,
          });
        }
      }
    };
    const jobOf = new Map<number, string>();
    for (const [id, given] of leases) {
      compare('job', id, given);
      for (const { fence, node, at } of given) {
        // One counter for the whole store: what a handler guards elsewhere may belong to several jobs.
        const other = jobOf.get(fence);
        jobOf.set(fence, id);
        if (other === undefined || other === id) continue;
        problems.push({
          subjects: [id, other],
          message: `Fence ${fence} was given for job ${other}, and to ${node} for job ${id} at ${show(at)}.`,
        });
      }
    }

    const others = new Map<string, Map<string, Given>>();
    for (const event of events) {
      const isLock = event.kind === 'locked' && event.result === 'acquired';
      if (!isLock && event.kind !== 'scheduleClaimed') continue;
      const subject = event.kind === 'locked' ? `lock:${event.name}` : event.scheduleId;
      const given = others.get(subject) ?? new Map<string, Given>();
      others.set(subject, given);
      // The same fence to the same node is a repeat.
      const key = `${event.fence}/${event.node}`;
      if (!given.has(key)) given.set(key, event);
    }
    for (const [subject, given] of others)
      compare(subject.startsWith('lock:') ? 'lock' : 'schedule', subject, [...given.values()]);
    return problems;
  },
};
