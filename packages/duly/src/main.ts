import { type Command, CommanderError } from 'commander';
import { optionsOf } from './cli/command-builder.ts';
import type { CommandRun } from './cli/context.ts';
import { buildProgram } from './cli/program.ts';
import { printJsonAsLines } from './output/json.ts';
import { redirectStdout } from './output/redirect.ts';
import { createTerminal, type Terminal } from './output/terminal.ts';

/** Runs the command line and answers with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const out = createTerminal(process.stdout);
  // A node prints what goes to stderr above its bars.
  const err = createTerminal(process.stderr, { isRedirectable: true });
  const asked = jsonAskedFor(argv);
  const json = asked !== null;
  if (asked === 'jsonl') printJsonAsLines();
  let exitCode = 0;

  // A reader that has seen enough (`duly jobs ls | head`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    void endUnwritten(err, error, json);
  });
  // Where nobody reads the errors the exit code still tells.
  process.stderr.on('error', () => {});

  const program = buildProgram((load: () => Promise<CommandRun>) => async (...call: unknown[]) => {
    // Commander hands in the arguments, then the options, then the command itself.
    const args = call.slice(0, -2);
    const options = optionsOf(call.at(-1) as Command);
    const [{ createContext }, run] = await Promise.all([import('./cli/context.ts'), load()]);
    exitCode = (await run(createContext(out, err, json), options as never, ...(args as never[]))) ?? 0;
  });

  // What tasks and configs print would stand between the JSON.
  const restore = json ? redirectStdout() : () => {};
  try {
    if (argv.length === 0) {
      out.write(program.helpInformation());
      return 0;
    }
    await program.parseAsync(helpAskedFor(argv), { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // A noun without its verb; the help was printed.
    if (error instanceof CommanderError && error.code === 'commander.help') return 2;
    const [{ printError }, { usageErrorOf }] = await Promise.all([
      import('./output/errors.ts'),
      import('./cli/usage.ts'),
    ]);
    return printError(err, error instanceof CommanderError ? usageErrorOf(error) : error, json);
  } finally {
    restore();
  }
}

/** Says that the answer could not be written, and ends with it: whoever asked must not take half of it for the whole. */
async function endUnwritten(err: Terminal, cause: Error, json: boolean): Promise<never> {
  const [{ DulyError }, { printError }] = await Promise.all([
    import('@duly/core'),
    import('./output/errors.ts'),
  ]);
  const error = new DulyError('output_failed', {
    message: `What it printed could not be written: ${cause.message}.`,
    hint: 'What it did is done; look before you do it again.',
    cause,
  });
  process.exit(printError(err, error, json));
}

/** `duly help jobs ls` is `duly jobs ls --help`: the parser would stop at `jobs`. */
function helpAskedFor(argv: readonly string[]): string[] {
  return argv[0] === 'help' && argv.length > 1 ? [...argv.slice(1), '--help'] : [...argv];
}

/** How a program wants to read it, errors too, found out without the parser, which may be what fails; null: a person reads it. */
function jsonAskedFor(argv: readonly string[]): 'json' | 'jsonl' | null {
  const end = argv.indexOf('--');
  const options = end === -1 ? argv : argv.slice(0, end);
  let asked: 'json' | 'jsonl' | null = null;
  for (const [i, arg] of options.entries()) {
    const text =
      /^(?:-o=?|--output=)(.+)$/.exec(arg)?.[1] ??
      (/^(?:-o|--output)$/.test(arg) ? options[i + 1] : undefined);
    if (text === 'json' || text === 'jsonl') asked = text;
  }
  return asked;
}
