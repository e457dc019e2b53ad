import { DulyError, formatDuration, isDulyError, resolveRule } from '@duly/core';

/** When a line of a crontab runs, as a rule of Duly. */
export interface CrontabWhen {
  cron: string;
  /** How far runs are spread, where the line says so; 0: not. */
  jitterMs: number;
  /** What was made of it that a reader would not expect; null: nothing. */
  note: string | null;
}

const macros: Record<string, string> = {
  '@every_minute': '* * * * *',
  '@annually': '@yearly',
  '@midnight': '@daily',
};
const minuteMs = 60_000;

/** Reads when a line runs. Throws `invalid_cron`, `invalid_timezone`; `RANDOM_DELAY` of cronie and random minutes (`0~30`) become jitter. */
export function readWhen(when: string, timezone: string, env: Readonly<Record<string, string>>): CrontabWhen {
  const random = randomMinutes(when);
  const cron = random?.cron ?? macros[when] ?? when;
  try {
    resolveRule({ cron, timezone });
  } catch (error) {
    if (!isDulyError(error, 'invalid_cron')) throw error;
    const hint = hintOf(cron);
    if (hint === null) throw error;
    throw new DulyError('invalid_cron', {
      message: cron.startsWith('@') ? `"${cron}" is no time that Duly knows.` : error.message,
      hint,
      details: error.details,
    });
  }
  const delayMs = /^\d{1,4}$/.test(env.RANDOM_DELAY ?? '') ? Number(env.RANDOM_DELAY) * minuteMs : 0;
  const jitterMs = Math.max(delayMs, random?.jitterMs ?? 0);
  return {
    cron,
    jitterMs,
    note:
      jitterMs === 0
        ? null
        : `${random === null ? `RANDOM_DELAY=${env.RANDOM_DELAY}` : `the random minute of "${when}"`} is a jitter of ${formatDuration(jitterMs)}`,
  };
}

/** What to do about a time that only some crons know; null: the error itself tells. */
function hintOf(cron: string): string | null {
  if (cron.includes('~'))
    return 'Only its minute may be random, as jitter; choose the others, like 3 for 0~5.';
  if (cron === '@every')
    return 'Create a schedule with a fixed rate separately: duly schedules add <name> --every 5m …';
  // So many seconds after the end of the last run.
  if (/^@\d+$/.test(cron))
    return `Create a schedule with a fixed delay separately: duly schedules add <name> --delay ${cron.slice(1)}s …`;
  return cron.startsWith('@') ? 'Write the five fields.' : null;
}

/** `10~40 3 * * *` is a minute of chance, chosen once: from the first one on, spread over the others. */
function randomMinutes(when: string): { cron: string; jitterMs: number } | null {
  const [minute = '', ...rest] = when.split(' ');
  const range = /^(\d{1,2})?~(\d{1,2})?$/.exec(minute);
  if (range === null) return null;
  const from = Number(range[1] ?? 0);
  const to = Number(range[2] ?? 59);
  if (from > to || to > 59) return null;
  return { cron: [String(from), ...rest].join(' '), jitterMs: (to - from) * minuteMs };
}
