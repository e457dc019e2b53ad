import { isTerminal, type JobLogLine, systemClock } from '@duly/core';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
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
  context: CommandContext,
  options: CommonOptions & { follow?: boolean },
  id: string,
): Promise<undefined> {
  await withClient(context, options, async ({ duly }) => {
    let after = 0;
    for (;;) {
      // The status first: lines that come after it are found by the next look.
      const isOver = !options.follow || isTerminal((await duly.job(id).get()).status);
      const lines = (await duly.job(id).logs()).filter((line) => line.n > after);
      for (const line of lines) printLine(context, line);
      if (after === 0 && lines.length === 0 && isOver && !context.json)
        context.err.line('It logged nothing.');
      after = lines.at(-1)?.n ?? after;
      if (isOver) return;
      await systemClock.sleep(lookMs);
    }
  });
}

function printLine({ out, json }: CommandContext, { n, attempt, at, level, message }: JobLogLine): void {
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
