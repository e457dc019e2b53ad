import { parseDuration, previous } from '@duly/core';

/** A time in which nobody is told of alerts: once, or again and again. */
export interface MaintenanceWindow {
  id: string;
  note: string | null;
  /** Ids of the rules that it mutes; null: all of them. */
  rules: readonly string[] | null;
  /** From when to when, as instants; or at which times of the calendar, and for how long. */
  when: { fromAt: number; untilAt: number } | { cron: string; timezone: string; durationMs: number };
}

/** Whether a rule is muted at this instant. Its end is not part of a window. */
export function isMuted(windows: readonly MaintenanceWindow[], ruleId: string, now: number): boolean {
  return windows.some(({ rules, when }) => (rules === null || rules.includes(ruleId)) && isOpen(when, now));
}

function isOpen(when: MaintenanceWindow['when'], now: number): boolean {
  if ('fromAt' in when) return when.fromAt <= now && now < when.untilAt;
  const { cron, timezone, durationMs } = when;
  const [begin] = previous({ cron, timezone }, { before: now + 1, count: 1 });
  return begin !== undefined && now < begin.getTime() + parseDuration(durationMs, 'duration');
}
