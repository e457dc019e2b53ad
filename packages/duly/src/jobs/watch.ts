import {
  formatDuration,
  isDulyError,
  isTerminal,
  type Job,
  systemClock,
  type TerminalStatus,
} from '@duly/core';
import { toJobJson } from '@duly/core/internal';
import type { CommandContext } from '../cli/context.ts';
import { outcomeExitCodes } from '../cli/exit-codes.ts';
import type { Client } from '../client/client.ts';
import { printJson } from '../output/json.ts';
import { createLiveArea } from '../output/live-area.ts';
import { percentText, progressBar, stepText } from '../output/progress-bar.ts';
import { errorText, statusStyles } from '../output/status.ts';
import { oneLine, wrap } from '../output/terminal.ts';

// Ten looks a second: a bar moves smoothly, and a look is one small read.
const lookMs = 100;
// What a waiting job waits for is asked less often: it needs several reads.
const whyMs = 1_000;

// A server that is put in again, or a database that changes over, is back by then.
const awayMs = 60_000;
const askAgainMs = 1_000;

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
// As shells tell of SIGPIPE.
const unreadCode = 141;

/** Shows a job until it ends and answers with the exit code of its outcome. */
export async function watchJob(client: Client, id: string, context: CommandContext): Promise<number> {
  const { duly } = client;
  const view = viewOf(context, client);
  let job = await duly.job(id).get();
  let reason: string | null = null;
  let askAtElapsed = systemClock.elapsed() + whyMs;
  const onSignal = (signal: NodeJS.Signals): void => {
    view.close();
    // A person may think that the job was stopped with the watching.
    if (!context.json)
      context.err.line(`The job goes on. To stop it: ${client.command(`jobs cancel ${id}`)}`);
    process.exit(signals[signal as keyof typeof signals]);
  };
  // Nobody reads any more, and the job is not over: 0 would say that it is COMPLETED.
  const onUnread = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE') process.exit(unreadCode);
  };
  for (const signal of Object.keys(signals)) process.once(signal, onSignal);
  process.stdout.prependListener('error', onUnread);
  try {
    for (;;) {
      view.show(job, reason);
      if (isTerminal(job.status)) break;
      await systemClock.sleep(lookMs);
      const before = job;
      job = await patiently(() => duly.job(id).get(), view);
      if (job.losses > before.losses) {
        view.report(
          `It lost the node ${before.node === null ? 'it ran on' : `"${before.node}"`}; that spends no attempt.`,
        );
      }
      if (job.status !== before.status || (job.status === 'RUNNING' && !isOverdue(job))) reason = null;
      else if (systemClock.elapsed() >= askAtElapsed && !context.json) {
        reason = isOverdue(job)
          ? `Its node "${job.node}" has sent no heartbeat for a while. The job is taken over by the next node that looks.`
          : await duly.why(id).then(
              ({ sentence }) => sentence,
              () => reason,
            );
        askAtElapsed = systemClock.elapsed() + whyMs;
      }
    }
  } finally {
    for (const signal of Object.keys(signals)) process.off(signal, onSignal);
    process.stdout.off('error', onUnread);
    view.close();
  }
  view.end(job);
  return outcomeExitCodes[job.status as TerminalStatus];
}

/** Asks again while the server or the store is away for a moment: whoever watches wants the outcome, and the job goes on without us. */
async function patiently<Value>(ask: () => Promise<Value>, view: View): Promise<Value> {
  const sinceElapsed = systemClock.elapsed();
  let isReported = false;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isAway = isDulyError(error, 'server_unavailable') || isDulyError(error, 'store_unavailable');
      if (!isAway || systemClock.elapsed() - sinceElapsed > awayMs) throw error;
      if (!isReported) view.report(`${error.message} It is asked again for ${formatDuration(awayMs)}.`);
      isReported = true;
      await systemClock.sleep(askAgainMs);
    }
  }
}

/** Whether the lease of a running job is over: its node is gone, or cannot reach the store. */
function isOverdue({ status, leaseUntilAt }: Job): boolean {
  return status === 'RUNNING' && leaseUntilAt !== null && leaseUntilAt.getTime() < systemClock.now();
}

interface View {
  show(job: Job, reason: string | null): void;
  /** Says something that happened in between. */
  report(sentence: string): void;
  close(): void;
  end(job: Job): void;
}

function viewOf(context: CommandContext, client: Client): View {
  if (context.json) return jsonView(context);
  return context.out.isTerminal ? barView(context, client) : lineView(context, client);
}

/** A bar that is redrawn in place, and the reason below it while the job waits. */
function barView({ out }: CommandContext, client: Client): View {
  const area = createLiveArea(out);
  return {
    show(job, reason) {
      const status = out.paint(statusStyles[job.status], job.status);
      const bar = out.paint(statusStyles[job.status], progressBar(job.progress.percent, 24));
      const attempt =
        job.attempts > 1 ? out.paint('dim', `  attempt ${job.attempts} of ${job.maxAttempts}`) : '';
      const line = `${oneLine(job.type)}  ${bar} ${percentText(job.progress.percent)}  ${status}  ${stepText(job.progress)}${attempt}`;
      const reasonLines =
        reason === null
          ? []
          : wrap(oneLine(reason), out.columns() - 3).map((one) => out.paint('dim', `  ${one}`));
      area.set(() => [line, ...reasonLines]);
    },
    report(sentence) {
      for (const line of wrap(oneLine(sentence), out.columns() - 1)) area.print(out.paint('yellow', line));
    },
    close: () => area.close(),
    end(job) {
      const bar = out.paint(statusStyles[job.status], progressBar(job.progress.percent, 24));
      out.line(`${oneLine(job.type)}  ${bar} ${percentText(job.progress.percent)}`);
      printEnd(job, out, client);
    },
  };
}

/** A line for each change. */
function lineView({ out }: CommandContext, client: Client): View {
  let last = '';
  let lastReason = '';
  return {
    show(job, reason) {
      const step = stepText(job.progress);
      const now = `${job.status}|${job.attempts}|${step}`;
      if (now !== last && !isTerminal(job.status)) {
        out.line(
          `${job.updatedAt.toISOString()} ${job.id} ${oneLine(job.type)} ${job.status} ${Math.floor(job.progress.percent)}%${step === '' ? '' : ` ${step}`}`,
        );
        lastReason = '';
      }
      last = now;
      // The sentence tells how long it waits and so changes every second; once per status is enough.
      if (reason !== null && lastReason !== job.status) {
        out.line(`  ${oneLine(reason)}`);
        lastReason = job.status;
      }
    },
    report: (sentence) => out.line(`  ${oneLine(sentence)}`),
    close() {},
    end: (job) => printEnd(job, out, client),
  };
}

/** The job as JSON, a line for each change. */
function jsonView({ out }: CommandContext): View {
  let last = '';
  return {
    show(job) {
      const text = JSON.stringify(toJobJson(job, { stack: true }));
      if (text !== last) printJson(out, toJobJson(job, { stack: true }), { indent: 0 });
      last = text;
    },
    report() {},
    close() {},
    end() {},
  };
}

function printEnd(job: Job, out: CommandContext['out'], { command }: Client): void {
  const status = out.paint(['bold', statusStyles[job.status]], job.status);
  const took =
    job.startedAt === null || job.finishedAt === null
      ? ''
      : ` after ${formatDuration(job.finishedAt.getTime() - job.startedAt.getTime())}`;
  out.line(`${job.id} ${oneLine(job.type)} ${status}${took}`);
  if (job.status === 'COMPLETED' && job.result !== null)
    out.line(`result: ${oneLine(JSON.stringify(job.result))}`);
  if (job.error !== null && job.status !== 'COMPLETED') {
    out.sentence(`error: ${errorText(job)}`);
    out.line(out.paint('dim', `Ask: ${command(`why ${job.id}`)}`));
  }
}
