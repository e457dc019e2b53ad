import { type Duly, type Job, type JobPage, type JobsFilter, systemClock } from '@duly/core';
import { toJobJson } from '@duly/core/internal';
import type { CommandContext } from '../cli/context.ts';
import { readDuration, readInstant } from '../cli/usage.ts';
import { listJson, printJson } from '../output/json.ts';
import { percentText } from '../output/progress-bar.ts';
import { attemptCount, detailOf, statusStyles } from '../output/status.ts';
import { type Cell, type Column, printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import { type Surroundings, surroundingsOf, waitText } from './waiting.ts';

const columns: Column[] = [
  { title: 'ID' },
  { title: 'TYPE', widthMin: 8 },
  { title: 'STATUS' },
  { title: 'DONE', align: 'right', leaveOut: 3 },
  { title: 'TRIES', align: 'right', leaveOut: 2 },
  { title: 'CREATED', align: 'right', leaveOut: 1 },
  { title: 'DETAIL', widthMin: 12, leaveOut: 4 },
];

/** Prints a page of jobs: a table, or the same shape as the HTTP API's. */
export async function printJobs(
  context: CommandContext,
  duly: Duly,
  { jobs, nextCursor }: JobPage,
  empty: string,
): Promise<void> {
  const { out, err } = context;
  if (context.json) {
    const data = jobs.map((job) => toJobJson(job, { stack: true }));
    printJson(out, listJson(data, nextCursor));
    return;
  }
  if (jobs.length === 0) {
    err.line(empty);
    return;
  }
  const surroundings = await surroundingsOf(duly, jobs);
  const now = systemClock.now();
  printTable(
    out,
    columns,
    jobs.map((job) => rowOf(job, now, surroundings)),
  );
  if (nextCursor !== null)
    err.line(err.paint('dim', `There are more: the same command with --cursor ${nextCursor}`));
}

function rowOf(job: Job, now: number, surroundings: Surroundings): Cell[] {
  const attempts = attemptCount(job);
  return [
    job.id,
    oneLine(job.type),
    { text: job.status, style: statusStyles[job.status] },
    job.status === 'RUNNING' || job.progress.percent > 0 ? percentText(job.progress.percent).trim() : '',
    attempts === 0 ? '' : `${attempts}/${job.maxAttempts}`,
    relative(job.createdAt, now),
    job.status === 'PENDING' ? waitText(job, surroundings) : detailOf(job, now),
  ];
}

/** Reads `--since`: a duration back from now, or an instant. */
export function readSince(text: string | undefined): Pick<JobsFilter, 'since'> {
  if (text === undefined) return {};
  if (/^\d{4}-/.test(text)) return { since: readInstant(text, '--since') };
  return { since: systemClock.now() - readDuration(text, '--since') };
}
