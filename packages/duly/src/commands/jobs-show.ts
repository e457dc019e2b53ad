import {
  type Attempt,
  formatDuration,
  type Job,
  systemClock,
  toAttemptJson,
  toJobJson,
  type Why,
} from '@duly/core';
import { withClient } from '../client.ts';
import { printJson } from '../output/json.ts';
import { stepText } from '../output/progress-bar.ts';
import { statusStyles } from '../output/status.ts';
import { printTable } from '../output/table.ts';
import { harmless, oneLine, type Terminal } from '../output/terminal.ts';
import { absolute, relative } from '../output/times.ts';
import type { CommonOptions, Shell } from '../shell.ts';

/** `duly jobs show`. */
export async function jobsShow(shell: Shell, options: CommonOptions, id: string): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    const job = await duly.job(id).get();
    if (shell.json) {
      const shown = { stack: true };
      printJson(shell.out, {
        ...toJobJson(job, shown),
        attempt_list: job.attemptList.map((attempt) => toAttemptJson(attempt, shown)),
      });
      return;
    }
    printJob(shell.out, job, await duly.why(id));
  });
}

function printJob(out: Terminal, job: Job, why: Why): void {
  const now = systemClock.now();
  const when = (instant: Date | null): string | null => (instant === null ? null : absolute(instant, now));
  const fields: [string, string | null][] = [
    ['id', job.id],
    ['type', job.version === 1 ? job.type : `${job.type} (version ${job.version})`],
    ['status', out.paint(statusStyles[job.status], job.status)],
    [
      'progress',
      job.progress.percent === 0 && job.progress.message === null
        ? null
        : `${job.progress.percent} % ${stepText(job.progress)}`.trim(),
    ],
    ['attempts', `${job.attempts} of ${job.maxAttempts}${job.losses === 0 ? '' : `, ${job.losses} lost`}`],
    ['queue', job.queue],
    ['priority', job.priority === 0 ? null : String(job.priority)],
    ['tenant', job.tenant],
    ['key', job.key],
    ['serial', job.serial],
    ['parent', job.parentId],
    ['made', when(job.createdAt)],
    ['due', when(job.dueAt)],
    ['started', when(job.startedAt)],
    ['finished', when(job.finishedAt)],
    ['expires', job.startedAt === null && job.finishedAt === null ? when(job.expireAt) : null],
    ['node', job.node],
    ['input', oneLine(JSON.stringify(job.input) ?? 'null')],
    ['metadata', Object.keys(job.metadata).length === 0 ? null : oneLine(JSON.stringify(job.metadata))],
    ['result', job.status === 'COMPLETED' ? oneLine(JSON.stringify(job.result)) : null],
  ];
  for (const [name, value] of fields) {
    if (value !== null) out.line(`${out.paint('dim', name.padEnd(9))} ${value}`);
  }
  out.line();
  out.line(harmless(why.sentence));
  if (job.error !== null && job.status !== 'COMPLETED') {
    out.line();
    out.line(out.paint('red', harmless(job.error.stack ?? `${job.error.name}: ${job.error.message}`)));
  }
  if (job.attemptList.length > 1) {
    out.line();
    printAttempts(out, job.attemptList, now);
  }
}

function printAttempts(out: Terminal, attempts: readonly Attempt[], now: number): void {
  printTable(
    out,
    [
      { title: 'ATTEMPT', align: 'right' },
      { title: 'STARTED', align: 'right' },
      { title: 'TOOK', align: 'right' },
      { title: 'ENDED' },
      { title: 'ERROR', flexible: true },
    ],
    attempts.map((attempt) => [
      String(attempt.n),
      relative(attempt.startedAt, now),
      attempt.endedAt === null ? '' : formatDuration(attempt.endedAt.getTime() - attempt.startedAt.getTime()),
      attempt.reason ?? 'runs',
      attempt.error === null ? '' : oneLine(`${attempt.error.name}: ${attempt.error.message}`),
    ]),
  );
}
