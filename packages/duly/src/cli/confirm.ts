import { createInterface } from 'node:readline';
import type { CommandContext } from './context.ts';
import { usageError } from './usage.ts';

/** What came of a question. */
export type Answer = 'yes' | 'no' | 'interrupted';

/**
 * Asks a person, no being the default. Ctrl-C and the end of the input (Ctrl-D) are answers too. Throws `usage` where nobody can be
 * asked (off a terminal, or a program wants JSON): `what` names what then needs `--yes`.
 */
export async function confirm(context: CommandContext, question: string, what: string): Promise<Answer> {
  requireAsking(context, what);
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    const end = (answer: Answer, hasLineEnd: boolean): void => {
      if (!hasLineEnd) process.stderr.write('\n');
      resolve(answer);
      reader.removeAllListeners('close');
      reader.close();
    };
    reader.once('SIGINT', () => end('interrupted', false));
    reader.once('close', () => end('no', false));
    reader.question(`${question} [y/N] `, (answer) =>
      end(/^y(es)?$/i.test(answer.trim()) ? 'yes' : 'no', true),
    );
  });
}

/** Throws `usage` where nobody can be asked. */
export function requireAsking({ err, json }: CommandContext, what: string): void {
  if (!json && process.stdin.isTTY === true && err.isTerminal) return;
  throw usageError(
    `${what} needs --yes here: nobody can be asked.`,
    'Look first at what it would do, then say --yes.',
  );
}
