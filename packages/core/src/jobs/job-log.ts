// The lines that a job's handlers logged.

import type { OptionNames } from '../base/option-reader.ts';
import { readOptions, readWholeNumber } from '../base/option-reader.ts';
import type { LogLine } from '../contract/engine.ts';
import type { StoreSession } from '../store/session.ts';
import { readJobId } from './job-reference.ts';

/** A line that a handler logged. */
export interface JobLogLine {
  n: number;
  attempt: number;
  at: Date;
  level: LogLine['level'];
  message: string;
}

/** Which lines of a job's log. */
export interface LogsOptions {
  /** Only lines after this number: `n` of the last one that is known. Left out: all that are kept. */
  after?: number;
  /** At most so many; left out: all. */
  limit?: number;
}

/** The names of the options of `logs()`. */
const logsNames: OptionNames<LogsOptions> = { after: true, limit: true };

/** How many lines are read at once. */
const logPageSize = 1_000;

/** Reads the log of a job, page by page. */
export async function readLog(
  open: () => Promise<StoreSession>,
  id: string,
  given: LogsOptions | undefined,
): Promise<JobLogLine[]> {
  const { after: from = 0, limit } = readOptions(given, 'logs()', logsNames);
  const wanted =
    limit === undefined ? Number.POSITIVE_INFINITY : readWholeNumber(limit, 'limit', 1, 1_000_000);
  let after = readWholeNumber(from, 'after', 0, Number.MAX_SAFE_INTEGER);
  const session = await open();
  const lines: JobLogLine[] = [];
  for (;;) {
    const size = Math.min(logPageSize, wanted - lines.length);
    const page = await session.engine.logs({ id: readJobId(id), after, limit: size });
    lines.push(
      ...page.lines.map(({ n, attempt, at, level, message }) => ({
        n,
        attempt,
        at: new Date(at),
        level,
        message,
      })),
    );
    const last = page.lines.at(-1);
    if (last === undefined || page.lines.length < size || lines.length >= wanted) break;
    after = last.n;
  }
  return lines;
}
