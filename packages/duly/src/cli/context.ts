import { printWarning } from '../output/errors.ts';
import type { Terminal } from '../output/terminal.ts';

/** Options that every command has. */
export interface CommonOptions {
  store?: string;
  /** A server instead of a store, its key, and both by a name. */
  server?: string | boolean;
  serverKey?: string;
  profile?: string;
  config?: string;
  output?: 'table' | 'json' | 'jsonl';
}

/** What a command prints to. */
export interface CommandContext {
  readonly out: Terminal;
  readonly err: Terminal;
  /** Whether programs read it: `-o json`. */
  readonly json: boolean;
  /** Says on stderr what a person should know and what stops nothing. */
  warn(message: string): void;
}

/** What a command does; it answers with its exit code, or with nothing when all went well. */
export type CommandRun = (
  context: CommandContext,
  options: never,
  ...args: never[]
) => Promise<number | undefined>;

/** Creates the context of one command. */
export function createContext(out: Terminal, err: Terminal, json: boolean): CommandContext {
  return { out, err, json, warn: (message) => printWarning(err, message, json) };
}
