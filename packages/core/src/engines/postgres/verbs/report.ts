import type { LogsInput, LogsReply, ReportBody, ReportInput, ReportReply } from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import { keepable, type Work } from '../work.ts';

/** What an attempt shows, as the store reads it. */
export function writtenReport({ progress, logs }: ReportBody): ReportBody {
  return {
    progress: progress === null ? null : { ...progress, message: keepable(progress.message) },
    logs: logs.map((line) => ({ ...line, message: keepable(line.message) })),
  };
}

/** See the contract. */
export async function report(work: Work, input: ReportInput): Promise<ReportReply> {
  const reports = input.reports.map(({ id, fence, ...body }) => ({ id, fence, ...writtenReport(body) }));
  const { now, kept } = await work.call<{ kept: boolean[] }>(statements.call.report, [
    input.now ?? null,
    JSON.stringify(reports),
    input.logLimit,
  ]);
  return { now, reports: kept.map((isKept) => (isKept ? 'kept' : 'lost')) };
}

/** See the contract. */
export async function logs(work: Work, input: LogsInput): Promise<LogsReply> {
  const rows = await work.rows<{ now: number } & LogsReply['lines'][number]>(statements.job.logs, [
    input.now ?? null,
    input.id,
    input.after,
    input.limit,
  ]);
  const { now } = rows[0] as { now: number };
  const lines = rows.filter(({ n }) => n !== null);
  return {
    now,
    lines: lines.map(({ n, attempt, at, level, message }) => ({ n, attempt, at, level, message })),
  };
}
