import type { Schedule } from '@duly/core';

/** Why what knows only crons of five fields cannot say a schedule, `a crontab` or `a CronJob`; null: it can. */
export function unsayable(
  { rule, kind, status, policies, unreadable }: Schedule,
  now: number,
  what: string,
): string | null {
  if (unreadable !== null) return unreadable.code;
  if (kind !== 'cron' || rule.cron === undefined) return `${what} has no ${kind}`;
  if (status === 'ended') return 'it is over';
  if (rule.exclude.length > 0) return `${what} leaves nothing out`;
  const { startAt, endAt, maxRuns } = policies;
  const bounds = [
    // A start that is past says nothing any more.
    ...(startAt !== null && startAt.getTime() > now ? ['startAt'] : []),
    ...(endAt === null ? [] : ['endAt']),
    ...(maxRuns === null ? [] : ['maxRuns']),
    ...(rule.dst?.gap === 'skip' || (rule.dst?.repeat ?? 'first') !== 'first' ? ['dst'] : []),
  ];
  if (bounds.length > 0) return `${what} has no ${bounds.join(', ')}`;
  if (rule.cron.startsWith('@')) return null;
  const times = rule.cron.split(/\s+/);
  if (times.length !== 5) return `${what} has five fields`;
  return /[LW#?]/i.test(times.join(' ').replace(/[A-Z]{3}/gi, '')) ? `${what} has no L, W, # and ?` : null;
}

/** What of a schedule's definition is no rule: what an import needs beside cron and zone to create the same. */
export function annotationOf({ definition }: Schedule): Record<string, unknown> & { name: string } {
  const { cron: _cron, timezone: _timezone, dst, ...others } = definition;
  const isUsual = (dst?.gap ?? 'next') === 'next' && (dst?.repeat ?? 'first') === 'first';
  const rest = isUsual ? others : { ...others, dst };
  return JSON.parse(JSON.stringify(rest)) as Record<string, unknown> & { name: string };
}

/** A word as a shell takes it. */
export function quoteWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
