import {
  type Duly,
  formatDuration,
  isTerminal,
  type Job,
  systemClock,
  type TerminalStatus,
  toJobJson,
} from '@duly/core';
import { outcomeExitCodes } from './exit-codes.ts';
import { invocation } from './invocation.ts';
import { printJson } from './output/json.ts';
import { createLiveArea } from './output/live-area.ts';
import { percentText, progressBar, stepText } from './output/progress-bar.ts';
import { errorText, statusStyles } from './output/status.ts';
import { oneLine } from './output/terminal.ts';
import type { Shell } from './shell.ts';

// Ten looks a second: a bar moves smoothly, and a look is one small read.
const lookMs = 100;
// What a waiting job waits for is asked less often: it needs several reads.
const whyMs = 1_000;

/** Shows a job until it ends and answers with the exit code of its outcome. */
export async function watchJob(duly: Duly, id: string, shell: Shell): Promise<number> {
  const view = shell.json ? jsonView(shell) : shell.out.isTerminal ? barView(shell) : lineView(shell);
  let job = await duly.job(id).get();
  let reason: string | null = null;
  let askAtElapsed = systemClock.elapsed() + whyMs;
  const onInterrupt = (): void => {
    view.close();
    // A person may think that the job was stopped with the watching.
    if (!shell.json) shell.err.line(`The job goes on. To stop it: ${invocation()} jobs cancel ${id}`);
    process.exit(130);
  };
  process.once('SIGINT', onInterrupt);
  try {
    for (;;) {
      view.show(job, reason);
      if (isTerminal(job.status)) break;
      await systemClock.sleep(lookMs);
      const before = job.status;
      job = await duly.job(id).get();
      if (job.status === 'RUNNING' || job.status !== before) reason = null;
      else if (systemClock.elapsed() >= askAtElapsed && !shell.json) {
        reason = (await duly.why(id)).sentence;
        askAtElapsed = systemClock.elapsed() + whyMs;
      }
    }
  } finally {
    process.off('SIGINT', onInterrupt);
    view.close();
  }
  view.end(job);
  return outcomeExitCodes[job.status as TerminalStatus];
}

interface View {
  show(job: Job, reason: string | null): void;
  close(): void;
  end(job: Job): void;
}

/** A bar that is redrawn in place, and the reason below it while the job waits. */
function barView({ out }: Shell): View {
  const area = createLiveArea(out);
  return {
    show(job, reason) {
      const status = out.paint(statusStyles[job.status], job.status);
      const bar = out.paint(statusStyles[job.status], progressBar(job.progress.percent, 24));
      const attempt =
        job.attempts > 1 ? out.paint('dim', `  attempt ${job.attempts} of ${job.maxAttempts}`) : '';
      const line = `${job.type}  ${bar} ${percentText(job.progress.percent)}  ${status}  ${stepText(job.progress)}${attempt}`;
      const reasonLines =
        reason === null
          ? []
          : wrap(oneLine(reason), out.columns() - 3).map((one) => out.paint('dim', `  ${one}`));
      area.set(() => [line, ...reasonLines]);
    },
    close: () => area.close(),
    end(job) {
      const bar = out.paint(statusStyles[job.status], progressBar(job.progress.percent, 24));
      out.line(`${job.type}  ${bar} ${percentText(job.progress.percent)}`);
      printEnd(job, out);
    },
  };
}

/** A line for each change. */
function lineView({ out }: Shell): View {
  let last = '';
  let lastReason = '';
  return {
    show(job, reason) {
      const step = stepText(job.progress);
      const now = `${job.status}|${job.attempts}|${step}`;
      if (now !== last && !isTerminal(job.status)) {
        out.line(
          `${job.updatedAt.toISOString()} ${job.id} ${job.type} ${job.status} ${Math.floor(job.progress.percent)}%${step === '' ? '' : ` ${step}`}`,
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
    close() {},
    end: (job) => printEnd(job, out),
  };
}

/** The job as JSON, a line for each change. */
function jsonView({ out }: Shell): View {
  let last = '';
  return {
    show(job) {
      const text = JSON.stringify(toJobJson(job, { stack: true }));
      if (text !== last) printJson(out, toJobJson(job, { stack: true }), { indent: 0 });
      last = text;
    },
    close() {},
    end() {},
  };
}

function printEnd(job: Job, out: Shell['out']): void {
  const status = out.paint(['bold', statusStyles[job.status]], job.status);
  const took =
    job.startedAt === null || job.finishedAt === null
      ? ''
      : ` after ${formatDuration(job.finishedAt.getTime() - job.startedAt.getTime())}`;
  out.line(`${job.id} ${job.type} ${status}${took}`);
  if (job.status === 'COMPLETED' && job.result !== null)
    out.line(`result: ${oneLine(JSON.stringify(job.result))}`);
  if (job.error !== null && job.status !== 'COMPLETED') {
    out.line(`error: ${errorText(job)}`);
    out.line(out.paint('dim', `Ask: ${invocation()} why ${job.id}`));
  }
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
