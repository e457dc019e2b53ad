import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { CommandRun } from './context.ts';

/** What was refused, and how the command is used. Which of the known words was meant is found out by whoever says so: help needs no library. */
export type Refusal = CommanderError & { usage?: string; word?: string; known?: readonly string[] };

/** Creates an action of a command that is loaded only when it is called: help and typing mistakes need none of them. */
export type ActionOf = (load: () => Promise<CommandRun>) => (...call: unknown[]) => Promise<void>;

/** A command that does something: `duly jobs ls`. It has the options that every one of them has. */
export function addCommand(parent: Command, name: string, description: string): Command {
  const created = withStore(addStorelessCommand(parent, name, description));
  return atTheStore.has(name) ? created : withServer(created);
}

// These are nodes themselves, or look at the store itself: no server can do it for them.
const atTheStore = new Set(['up', 'worker', 'tick', 'exec', 'doctor', 'bench', 'migrate', 'status']);

/** The same for one that needs no store. */
export function addStorelessCommand(parent: Command, name: string, description: string): Command {
  return withOutput(parent.command(name)).description(description);
}

/** A command that only holds others: `duly jobs`. It takes their common options too. */
export function addGroup(parent: Command, name: string, description: string): Command {
  return withServer(withStore(withOutput(parent.command(name)))).description(description);
}

/** Gives a command `-o`, and lets it name itself in what is refused. */
export function withOutput(command: Command): Command {
  const usage = (): string => command.createHelp().commandUsage(command);
  return command
    .exitOverride((error: CommanderError) => {
      throw Object.assign(unknownFirst(command, error), { usage: usage() });
    })
    .addHelpText('before', () => {
      const mistyped = mistypedVerb(command);
      if (mistyped !== null) throw Object.assign(mistyped, { usage: usage() });
      return '';
    })
    .enablePositionalOptions()
    .addOption(
      new Option('-o, --output <format>', 'table (default), json or jsonl').argParser(
        wordOf('table', 'json', 'jsonl'),
      ),
    );
}

/**
 * The parser asks for a required option before it looks at those it does not know; a mistyped one is what the caller wants to hear of. And it takes a mistyped verb for an
 * argument where the group does something itself: `duly migrate sttaus`.
 */
function unknownFirst(command: Command, error: CommanderError): CommanderError {
  if (error.code === 'commander.excessArguments' && command.commands.length > 0) {
    const verbs = command.commands.map((one) => one.name());
    return unknown('Command', 'command', command.args[0] ?? '', verbs);
  }
  if (error.code !== 'commander.missingMandatoryOptionValue') return error;
  const mistyped = command.args.find((word) => /^--?[a-z]/i.test(word))?.replace(/=.*$/, '');
  if (mistyped === undefined) return error;
  const options = command.options.flatMap(({ long }) => long ?? []);
  return unknown('Option', 'option', mistyped, options);
}

/** Where help of a command is asked for that is not there (`duly help schedule`, `duly shedules --help`), the parser would print that of the one above. */
function mistypedVerb(command: Command): Refusal | null {
  const [first, second] = command.args;
  const word = first === 'help' ? second : first;
  if (command.commands.length === 0 || word === undefined || word.startsWith('-')) return null;
  const verbs = command.commands.flatMap((one) => [one.name(), ...one.aliases()]);
  return verbs.includes(word) ? null : unknown('Command', 'command', word, verbs);
}

/** As the parser says it. */
function unknown(code: 'Command' | 'Option', what: string, word: string, known: string[]): Refusal {
  const error = new CommanderError(1, `commander.unknown${code}`, `error: unknown ${what} '${word}'`);
  return Object.assign(error, { word, known });
}

/** Gives a command the options that name a store. */
export function withStore(command: Command): Command {
  return command
    .option('--store <url>', 'the store (default: $DULY_STORE, then the config, then sqlite:./duly.db)')
    .option('--config <file>', 'the config (default: duly.config.ts, .mts, .js or .mjs in this folder)');
}

/** Gives a command the options that name a server. */
function withServer(command: Command): Command {
  return command
    .option('--server <url>', 'a server instead of a store (default: $DULY_SERVER, then the profile in use)')
    .option('--server-key <key>', 'the key for it (default: $DULY_KEY, then that of the profile)')
    .option('--profile <name>', 'a server and its key, as stored with "duly profiles add"');
}

/** The options of a command together with those that stood before its name; its own go first. */
export function optionsOf(command: Command): Record<string, unknown> {
  const above = command.parent === null ? {} : optionsOf(command.parent);
  return { ...above, ...command.opts() };
}

/** Takes one of some words. */
export function wordOf(...words: string[]): (value: string) => string {
  return (value) => {
    if (words.includes(value)) return value;
    const near = words.find((word) => word.startsWith(value.charAt(0).toLowerCase()));
    throw new InvalidArgumentError(
      `Allowed are ${words.slice(0, -1).join(', ')} and ${words.at(-1)}.${near === undefined ? '' : `\n(Did you mean ${near}?)`}`,
    );
  };
}

/** Puts the values of a repeatable option together. Give it no default: help would show an empty list. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}
