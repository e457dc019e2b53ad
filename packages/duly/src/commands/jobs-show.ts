import {
  type Attempt,
  type AuditEntry,
  formatDuration,
  type Job,
  type JobError,
  systemClock,
  type Why,
} from '@duly/core';
import { toAttemptJson, toJobJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { withClient } from '../client/client.ts';
import { printJson } from '../output/json.ts';
import { stepText } from '../output/progress-bar.ts';
import { attemptsText, statusStyles } from '../output/status.ts';
import { printTable } from '../output/table.ts';
import { harmless, oneLine, type Terminal } from '../output/terminal.ts';
import { absolute, relative } from '../output/times.ts';

// What was done to one job fits on a page; the newest come first.
const auditCountMax = 50;

/** `duly jobs show`. */
export async function jobsShow(
  context: CommandContext,
  options: CommonOptions,
  id: string,
): Promise<undefined> {
  await withClient(context, options, async ({ duly }) => {
    const job = await duly.job(id).get();
    const entries = await duly.audit({ subject: `job:${job.id}`, limit: auditCountMax });
    const audit = entries.toReversed();
    if (context.json) {
      const shown = { stack: true };
      printJson(context.out, {
        ...toJobJson(job, shown),
        attempt_list: job.attemptList.map((attempt) => toAttemptJson(attempt, shown)),
        audit: audit.map(({ at, actor, action, note }) => ({ at: at.toISOString(), actor, action, note })),
      });
      return;
    }
    printJob(context.out, job, await duly.why(id), audit);
  });
}

function printJob(out: Terminal, job: Job, why: Why, audit: readonly AuditEntry[]): void {
  const now = systemClock.now();
  printFields(out, job, now);
  out.line();
  out.sentence(harmless(why.sentence));
  if (job.error !== null && job.status !== 'COMPLETED') {
    out.line();
    printJobError(out, job.error);
  }
  if (job.attemptList.length > 0) {
    out.line();
    printAttempts(out, job.attemptList, now);
  }
  if (audit.length > 0) {
    out.line();
    printAudit(out, audit, now);
  }
}

function printFields(out: Terminal, job: Job, now: number): void {
  const when = (instant: Date | null): string | null => (instant === null ? null : absolute(instant, now));
  const valueText = (value: unknown): string | null => {
    if (value === null) return null;
    if (value instanceof Date) return absolute(value, now);
    return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
  };
  const fields: [string, string | null][] = [
    ['id', job.id],
    ['type', oneLine(job.version === 1 ? job.type : `${job.type} (version ${job.version})`)],
    ['status', out.paint(statusStyles[job.status], job.status)],
    [
      'progress',
      job.progress.percent === 0 && job.progress.message === null
        ? null
        : `${job.progress.percent} % ${stepText(job.progress)}`.trim(),
    ],
    ['attempts', attemptsText(job)],
    ['queue', job.queue],
    ['priority', job.priority === 0 ? null : String(job.priority)],
    ['tenant', job.tenant],
    ['key', job.key],
    ['serial', job.serial],
    ['parent', job.parentId],
    ['created', when(job.createdAt)],
    ['due', when(job.dueAt)],
    ['started', when(job.startedAt)],
    ['finished', when(job.finishedAt)],
    ['expires', job.startedAt === null && job.finishedAt === null ? when(job.expireAt) : null],
    ['node', job.node],
    ['input', oneLine(JSON.stringify(job.input) ?? 'null')],
    ['metadata', Object.keys(job.metadata).length === 0 ? null : oneLine(JSON.stringify(job.metadata))],
    // {{job.passive +json | ['%json', valueText(job.%field)],}}
    ['copy_of', valueText(job.copyOf)],
    // {{/job}}
    ['result', job.status === 'COMPLETED' ? oneLine(JSON.stringify(job.result)) : null],
  ];
  for (const [name, value] of fields) {
    if (value !== null) out.line(`${out.paint('dim', name.padEnd(9))} ${value}`);
  }
}

/** An error with its stack, and what caused it. */
function printJobError(out: Terminal, error: JobError): void {
  let text = '';
  for (let one: JobError | undefined = error; one !== undefined; one = one.cause) {
    const reported = one.stack ?? `${one.name}: ${one.message}`;
    text += text === '' ? reported : `\ncaused by ${reported}`;
  }
  // Each line by itself: a colour that spans lines is lost in pagers.
  for (const line of harmless(text).split('\n')) out.line(out.paint('red', line));
}

function printAttempts(out: Terminal, attempts: readonly Attempt[], now: number): void {
  printTable(
    out,
    [
      { title: 'ATTEMPT', align: 'right' },
      { title: 'STARTED', align: 'right' },
      { title: 'TOOK', align: 'right' },
      { title: 'ENDED' },
      { title: 'NODE', leaveOut: 1 },
      { title: 'ERROR', widthMin: 12, leaveOut: 2 },
    ],
    attempts.map((attempt) => [
      String(attempt.n),
      relative(attempt.startedAt, now),
      attempt.endedAt === null ? '' : formatDuration(attempt.endedAt.getTime() - attempt.startedAt.getTime()),
      attempt.reason ?? 'runs',
      attempt.node,
      attempt.error === null ? '' : oneLine(`${attempt.error.name}: ${attempt.error.message}`),
    ]),
  );
}

function printAudit(out: Terminal, entries: readonly AuditEntry[], now: number): void {
  printTable(
    out,
    [
      { title: 'WHEN', align: 'right' },
      { title: 'WHO', widthMin: 12 },
      { title: 'DID' },
      { title: 'NOTE', widthMin: 12 },
    ],
    entries.map(({ at, actor, action, note }) => [
      relative(at, now),
      oneLine(actor),
      action,
      oneLine(note ?? ''),
    ]),
  );
}
