import type { HistoryEvent } from '../history.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const actsAudited: Invariant = {
  name: 'acts-audited',
  promise:
    'Whatever somebody did to a promise already created has its audit row, of the same instant: jobs cancelled, moved, retried, discarded, deleted; schedules created, edited, paused, resumed, triggered, deleted.',
  check({ events, final, unorderedMs = 0 }, _facts, exercise) {
    const rows = new Map<string, number[]>();
    for (const { subject, action, at } of final.audit) {
      const key = `${action} ${subject}`;
      rows.set(key, [...(rows.get(key) ?? []), at]);
    }
    const problems: ReturnType<Invariant['check']> = [];
    for (const event of events) {
      const act = actOf(event);
      if (act === null) continue;
      exercise();
      const { action, subject, id } = act;
      const instants = rows.get(`${action} ${subject}`) ?? [];
      const found = instants.findIndex((at) => Math.abs(at - event.at) <= unorderedMs);
      if (found >= 0) instants.splice(found, 1);
      else {
        problems.push({
          subjects: [id],
          message: `At ${show(event.at)} somebody did "${action}" to ${subject}, and no audit row says so.`,
        });
      }
    }
    return problems;
  },
};

/** What was done to a promise by this event; null: nothing. */
function actOf(event: HistoryEvent): { action: string; subject: string; id: string } | null {
  if (event.kind === 'changed') {
    const isDone = event.result === 'changed' || event.result === 'asked';
    if (!isDone || event.verb === 'fold') return null;
    return { action: event.verb, subject: `job:${event.id}`, id: event.id };
  }
  if (event.kind !== 'applied' || event.result !== 'applied') return null;
  return { action: event.action, subject: `schedule:${event.scheduleId}`, id: event.scheduleId };
}
