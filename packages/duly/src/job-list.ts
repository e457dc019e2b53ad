import { type Job, type JobPage, type JobsFilter, parseDuration, systemClock, toJobJson } from '@duly/core';
import { invocation } from './invocation.ts';
import { printJson } from './output/json.ts';
import { percentText } from './output/progress-bar.ts';
import { detailOf, statusStyles } from './output/status.ts';
import { type Cell, type Column, printTable } from './output/table.ts';
import { oneLine } from './output/terminal.ts';
import { relative } from './output/times.ts';
import type { Shell } from './shell.ts';

const columns: Column[] = [
  { title: 'ID' },
  { title: 'TYPE' },
  { title: 'STATUS' },
  { title: 'DONE', align: 'right' },
  { title: 'TRIES', align: 'right' },
  { title: 'MADE', align: 'right' },
  { title: 'DETAIL', flexible: true },
];

/** Prints a page of jobs: a table, or the same shape as the HTTP API's. */
export function printJobs(shell: Shell, { jobs, nextCursor }: JobPage, empty: string): void {
  const { out, err } = shell;
  if (shell.json) {
    printJson(out, {
      data: jobs.map((job) => toJobJson(job, { stack: true })),
      has_more: nextCursor !== null,
      next_cursor: nextCursor,
    });
    return;
  }
  if (jobs.length === 0) {
    err.line(empty);
    return;
  }
  const now = systemClock.now();
  printTable(
    out,
    columns,
    jobs.map((job) => rowOf(job, now)),
  );
  if (nextCursor !== null)
    err.line(out.paint('dim', `There are more: the same command with --cursor ${nextCursor}`));
}

function rowOf(job: Job, now: number): Cell[] {
  return [
    job.id,
    oneLine(job.type),
    { text: job.status, style: statusStyles[job.status] },
    job.status === 'RUNNING' || job.progress.percent > 0 ? percentText(job.progress.percent).trim() : '',
    job.attempts === 0 ? '' : `${job.attempts}/${job.maxAttempts}`,
    relative(job.createdAt, now),
    detailOf(job, now),
  ];
}

/** Reads `--since`: a duration back from now, or an instant. */
export function readSince(text: string | undefined): Pick<JobsFilter, 'since'> {
  if (text === undefined) return {};
  if (/^\d{4}-/.test(text)) return { since: text };
  return { since: systemClock.now() - parseDuration(text, 'since') };
}

/** What a person is told to type to look closer. */
export function nextStep(verb: string, id: string): string {
  return `${invocation()} ${verb} ${id}`;
}
