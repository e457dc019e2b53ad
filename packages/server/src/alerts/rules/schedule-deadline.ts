import { defineAlertKind } from '../alert-kind.ts';

/** A schedule has not succeeded by its `finishDeadline`, whether a run was created or not. */
export const scheduleDeadline = defineAlertKind({
  kind: 'schedule_deadline',
  title: 'A schedule has not succeeded by its deadline',
  describe: 'a schedule has not succeeded by its deadline',
  fields: {},

  collect: ({ schedules }) => schedules(),

  evaluate(schedules, _condition, isIncluded) {
    return schedules.flatMap(({ label, type, overdue }) => {
      if (overdue === null || !isIncluded(type)) return [];
      const run = overdue.runStatus === null ? 'no run was created' : `its run is ${overdue.runStatus}`;
      const message = `Schedule "${label}" has not succeeded for its slot of ${instant(overdue.slotAt)} by ${instant(overdue.deadlineAt)}: ${run}.`;
      return [{ subject: `schedule:${label}`, message }];
    });
  },
});

function instant(at: number): string {
  return new Date(at).toISOString();
}
