import { readMoment } from '@duly/core';

/** One start of a command by cron, as the system's log tells it. */
export interface CronRun {
  host: string;
  user: string;
  command: string;
  startedAt: number;
  /** null: the log does not tell. */
  endedAt: number | null;
}

/** What the log tells. */
export interface CronHistory {
  runs: CronRun[];
  /** The instants of its earliest and latest line of cron; null: there is none. */
  fromAt: number | null;
  toAt: number | null;
}

const line =
  /^(?:<\d+>)?(?:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d))|([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d)) (\S+) (?:\/\S*\/)?(?:CRON|crond?|CROND|cron)\[(\d+)\]: (.*)$/;
const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
// A session is opened right before its command is told of, by a process that starts the one which tells.
const sessionMs = 5_000;
const dayMs = 86_400_000;

/**
 * Reads the lines of cron in a log of the system: syslog with or without a year, or `journalctl -o short-iso -t CRON`. Starts are the lines `CMD`; ends are `CMDEND`, `END`, or the end of the session.
 * Times without a zone are of `timezone`; without a year they are of the year before `now`.
 */
export function readCronHistory(
  text: string,
  { timezone, now }: { timezone: string; now: number },
): CronHistory {
  const runs: (CronRun & { pid: number; sessionPid: number | null })[] = [];
  const sessions: { pid: number; host: string; at: number }[] = [];
  const entries = entriesOf(text, timezone, now);
  for (const { at, host, pid, message } of entries) {
    if (/session opened for user/.test(message)) {
      sessions.push({ pid, host, at });
      continue;
    }
    if (/session closed for user/.test(message)) {
      close((run) => run.host === host && run.sessionPid === pid, at);
      continue;
    }
    const command = /^\((\S+)\) (CMD|CMDEND|END) \((.*)\)$/.exec(message);
    if (command === null) continue;
    const [, user = '', kind, logged = ''] = command;
    if (kind !== 'CMD') {
      close((run) => run.host === host && (run.pid === pid || run.command === clean(logged)), at);
      continue;
    }
    const at2 = sessions.findLastIndex(
      (one2) => one2.host === host && one2.pid <= pid && pid - one2.pid < 1_000 && at - one2.at <= sessionMs,
    );
    const session = at2 === -1 ? null : (sessions.splice(at2, 1)[0] ?? null);
    runs.push({
      host,
      user,
      command: clean(logged),
      startedAt: at,
      endedAt: null,
      pid,
      sessionPid: session?.pid ?? null,
    });
  }
  return {
    runs: runs.map(({ pid: _pid, sessionPid: _session, ...run }) => run),
    fromAt: entries[0]?.at ?? null,
    toAt: entries.at(-1)?.at ?? null,
  };

  function close(isIt: (run: (typeof runs)[number]) => boolean, at: number): void {
    const run = runs.findLast((one) => one.endedAt === null && isIt(one));
    if (run !== undefined) run.endedAt = at;
  }
}

interface Entry {
  at: number;
  host: string;
  pid: number;
  message: string;
}

/** The lines of cron in the order of time: logs of several hosts, or `syslog` and `syslog.1`, are put together in any order. */
function entriesOf(text: string, timezone: string, now: number): Entry[] {
  const entries: Entry[] = [];
  for (const one of text.split('\n')) {
    const found = line.exec(one.trimEnd());
    if (found === null) continue;
    const [, iso, month, day, time, host = '', pid = '', message = ''] = found;
    const at =
      iso === undefined
        ? wallAt(`${month} ${day} ${time}`, timezone, now)
        : Date.parse(iso.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
    if (at !== null && !Number.isNaN(at)) entries.push({ at, host, pid: Number(pid), message });
  }
  return entries.sort((one, other) => one.at - other.at);
}

/** cronie marks the process in front of the command, and logs shorten blanks. */
function clean(command: string): string {
  return command.replace(/^\[\d+\] /, '').trim();
}

/** `Nov 16 02:00:01`: of this year, or of the one before if that is still to come. */
function wallAt(text: string, timezone: string, now: number): number | null {
  const [month = '', day = '', time = ''] = text.split(' ');
  const number = months.indexOf(month) + 1;
  if (number === 0) return null;
  const year = new Date(now).getUTCFullYear();
  for (const candidate of [year, year - 1]) {
    const date = `${candidate}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`;
    const at = safely(() => readMoment(`${date}T${time}`, 'time', timezone));
    if (at !== null && at <= now + dayMs) return at;
  }
  return null;
}

function safely(read: () => number): number | null {
  try {
    return read();
  } catch {
    // 29 February of a year that has none.
    return null;
  }
}
