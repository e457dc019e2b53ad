/** How the commands of this folder read what they are asked for: alike. `--help` says how to call them; what is not understood ends them with 2. */
import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** What a command was asked for. */
export interface CommandArguments<Given extends Options> {
  readonly values: ReturnType<typeof parseArgs<{ options: Given }>>['values'];
  /** Says what is wrong and how to call the command, and ends the process. */
  refuse(message: string): never;
  /** The number that an option was given, or else the fallback; whatever else it was given is refused. */
  number(option: keyof Given & string, expected: ExpectedNumber): number;
  /** Refuses a file that cannot be written: better now than after a run of an hour. Leaves it as it is. */
  writable(option: keyof Given & string, path: string): void;
}

/** Which numbers an option takes. */
export interface ExpectedNumber {
  fallback: number;
  /** The lowest; left out: anything above 0. */
  min?: number;
  /** Fractions are fine. */
  isFraction?: boolean;
}

/** Why a file cannot be written, in a sentence; null: it can. Leaves it as it is; `createsFolder`: a folder that is missing is made. */
export function whyNotWritable(path: string, { createsFolder = false } = {}): string | null {
  const isThere = existsSync(path);
  try {
    if (createsFolder) mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, 'a'));
    if (!isThere) rmSync(path);
    return null;
  } catch (error) {
    return `${(error as Error).message}.`;
  }
}

/**
 * Puts a number below zero to the option before it (`--seed=-1`): `parseArgs` takes it for an option of its own and speaks of ambiguity,
 * where the range that is expected is the answer.
 */
export function joinNegatives(args: readonly string[], options: Options): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1) ?? '';
    const isAwaited = last.startsWith('--') && options[last.slice(2)]?.type === 'string';
    if (isAwaited && /^-\.?\d/.test(arg)) joined[joined.length - 1] = `${last}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

/** Reads the arguments of this process. */
export function readArguments<Given extends Options>(usage: string, options: Given): CommandArguments<Given> {
  const refuse = (message: string): never => {
    console.error(`${message}\n${usage}`);
    process.exit(2);
  };
  const help = { help: { type: 'boolean', short: 'h', default: false } } as const;
  let values: Record<string, unknown>;
  try {
    const args = joinNegatives(process.argv.slice(2), options);
    values = parseArgs({ args, options: { ...options, ...help } }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (values.help === true) {
    console.log(usage);
    process.exit(0);
  }
  return {
    values: values as CommandArguments<Given>['values'],
    refuse,
    number(option, { fallback, min, isFraction = false }) {
      const text = values[option] as string | undefined;
      if (text === undefined) return fallback;
      const value = text.trim() === '' ? Number.NaN : Number(text);
      const isKind = isFraction ? Number.isFinite(value) : Number.isSafeInteger(value);
      if (isKind && (min === undefined ? value > 0 : value >= min)) return value;
      const range = min === undefined ? 'above 0' : `from ${min} up`;
      return refuse(
        `Expected --${option} to be a ${isFraction ? '' : 'whole '}number ${range}, got "${text}".`,
      );
    },
    writable(option, path) {
      const reason = whyNotWritable(path);
      if (reason !== null)
        refuse(`Expected --${option} to be a file that can be written, got "${path}". ${reason}`);
    },
  };
}

/** Reads a setting or a file that a person wrote. If it is wrong, the process ends with the sentence that says so, without a stack trace. */
export function readOrEnd<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    console.error((error as Error).message);
    return process.exit(2);
  }
}
