import { isTerminal, type JobLogLine, systemClock } from '@duly/core';
import type { CommonOptions, Shell } from '../cli/shell.ts';
import { withClient } from '../client/client.ts';
import { printJson } from '../output/json.ts';
import { harmless, type Style } from '../output/terminal.ts';

const lookMs = 250;
const styles: Record<JobLogLine['level'], Style> = {
  debug: 'dim',
  info: 'cyan',
  warn: 'yellow',
  error: 'red',
};

/** `duly jobs logs`. */
export async function jobsLogs(
  shell: Shell,
  options: CommonOptions & { follow?: boolean },
  id: string,
): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    let after = 0;
    for (;;) {
      // The status first: lines that come after it are found by the next look.
      const isOver = !options.follow || isTerminal((await duly.job(id).get()).status);
      const lines = (await duly.job(id).logs()).filter((line) => line.n > after);
      for (const line of lines) printLine(shell, line);
      if (after === 0 && lines.length === 0 && isOver && !shell.json) shell.err.line('It logged nothing.');
      after = lines.at(-1)?.n ?? after;
      if (isOver) return;
      await systemClock.sleep(lookMs);
    }
  });
}

function printLine({ out, json }: Shell, { n, attempt, at, level, message }: JobLogLine): void {
  if (json) {
    printJson(out, { n, attempt, at: at.toISOString(), level, message }, { indent: 0 });
    return;
  }
  const head = `${out.paint('dim', at.toISOString())} ${out.paint(styles[level], level.padEnd(5))}`;
  const [first = '', ...rest] = harmless(message).split('\n');
  out.line(`${head} ${out.paint('dim', `#${attempt}`)} ${first}`);
  // Every line begins with something of ours, so that no message can look like a line of another.
  for (const line of rest) out.line(`${out.paint('dim', '  |')} ${line}`);
}
