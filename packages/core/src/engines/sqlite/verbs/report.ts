import type { LogLine, LogsInput, LogsReply, ReportInput, ReportReply } from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** Lines kept where the caller names no limit: with a settlement. */
const logLimit = 1000;

interface OwnerRow {
  seq: number;
  id: string;
  type: string;
  status: JobStatus;
  attempt: number;
  percent: number;
}

/** See the contract. */
export function report(work: Work, input: ReportInput): Omit<ReportReply, 'now'> {
  const reports = input.reports.map(({ id, fence, progress, logs }): 'kept' | 'lost' => {
    const row = work.get<OwnerRow>(statements.report.owner, id, fence);
    if (row === undefined) return 'lost';
    if (progress !== null) {
      work.run(statements.report.progress, {
        seq: row.seq,
        percent: progress.percent,
        message: progress.message,
        step: progress.step,
        stepOf: progress.of,
        now: work.now,
      });
      work.changed(row.id, row.type, row.status, 'progress', Math.max(row.percent, progress.percent));
    }
    appendLogs(work, row, logs, input.logLimit);
    // Whoever follows the job reads the new lines; their text stays out of the feed.
    if (logs.length > 0) work.changed(row.id, row.type, row.status, 'log', null);
    return 'kept';
  });
  return { reports };
}

/** Adds log lines to a job; the oldest give way. */
export function appendLogs(
  work: Work,
  row: { id: string; attempt: number },
  lines: LogLine[],
  limit: number = logLimit,
): void {
  if (lines.length === 0) return;
  let { n } = work.get<{ n: number }>(statements.report.lastLine, row.id) as { n: number };
  for (const line of lines.slice(-limit)) {
    const { at, level, message } = line;
    n += work.run(statements.report.addLine, row.id, n + 1, row.attempt, line.line, at, level, message);
  }
  if (n > limit) work.run(statements.report.trimLines, row.id, n - limit);
}

/** See the contract. */
export function logs(work: Work, input: LogsInput): Omit<LogsReply, 'now'> {
  const lines = work.all<LogsReply['lines'][number]>(
    statements.report.lines,
    input.id,
    input.after,
    input.limit,
  );
  return { lines: lines.map((line) => ({ ...line })) };
}
