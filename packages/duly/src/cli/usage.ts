import { DulyError, parseDuration, parseInstant } from '@duly/core';
import { nearest } from '@duly/core/internal';
import { sentenceOf } from '../output/errors.ts';
import type { Refusal } from './command-builder.ts';

/** What the parser refused, as an error with a code and a hint. */
export function usageErrorOf(error: Refusal): DulyError {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const guess =
    codeGuess(first, error.usage) ??
    nearest(error.word ?? '', error.known ?? []) ??
    /^\(Did you mean (?:one of )?(.*)\?\)$/.exec(rest.join(' ').trim())?.[1];
  const message = first.replace(/'([^']*)'/g, '"$1"');
  // Every other command takes them.
  if (/^unknown option '--(server|server-key|profile)'/.test(first)) {
    return usageError(
      sentenceOf(`Unknown option ${/"--[a-z-]+"/.exec(message)?.[0]}`),
      'This command works at the store itself, and not through a server: give it --store <url>.',
    );
  }
  return usageError(
    sentenceOf(message.charAt(0).toUpperCase() + message.slice(1)),
    taskHintOf(first, error.usage) ??
      (guess === undefined
        ? `Usage: ${error.usage ?? 'duly <command>'}. With --help it shows the rest.`
        : `Did you mean ${guess
            .split(', ')
            .map((word) => `"${word}"`)
            .join(' or ')}?`),
  );
}

/** A word of the library that has another name here, such as `--every` for a rate. */
function codeGuess(message: string, usage = ''): string | undefined {
  const word = /'([a-z-]+)/.exec(message)?.[1];
  if (/^duly schedules (?:add|preview)\b/.test(usage) && word === '--rate') return '--every';
  if (/^duly (?:pause|resume)\b/.test(usage) && word === 'task') return 'type';
  if (word === 'workers') return 'nodes';
  const takesType = /^duly (?:jobs (?:ls|cancel)|dead|schedules (?:ls|add))\b/.test(usage);
  return takesType && word === '--task' ? '--type' : undefined;
}

/** What to do where `--task` has no other name: the task is an argument, or nothing is chosen by it. */
function taskHintOf(message: string, usage = ''): string | undefined {
  if (!/^unknown option '--task\b/.test(message)) return undefined;
  if (/^duly run\b/.test(usage)) return 'Give the task as the first argument: duly run <task> [input].';
  if (/^duly forecast\b/.test(usage)) {
    return 'A forecast covers the schedules of every type. With --tenant <name> it covers those of one tenant.';
  }
  return undefined;
}

/** An error about how the command was called. */
export function usageError(message: string, hint?: string): DulyError {
  return new DulyError('usage', { message, ...(hint === undefined ? {} : { hint }) });
}

/** Reads a whole number from the command line. */
export function readCount(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw usageError(`Expected ${option} to be a whole number, got "${text.slice(0, 40)}".`);
}

/** Reads how many a list shows. */
export function readLimit(text: string | undefined): number {
  return readCount(text, '--limit') ?? 20;
}

/** Reads words separated by commas, from an option that may be given several times. A comma inside a word is written `\,`. */
export function readList(texts: readonly string[] | undefined, option: string): string[] | undefined {
  if (texts === undefined) return undefined;
  const words = texts
    .flatMap((text) => text.split(/(?<!\\),/))
    .map((word) => word.replaceAll('\\,', ',').trim())
    .filter((word) => word !== '');
  if (words.length === 0) throw usageError(`Expected ${option} to name at least one, got "${texts.join()}".`);
  return words;
}

/** Reads a duration from the command line, in milliseconds. */
export function readDuration(text: string, option: string, { minMs = 0 }: { minMs?: number } = {}): number {
  return onCommandLine(option, 'Write it like 250ms, 15m, 1h30m or "3 days".', () =>
    parseDuration(text, option, { minMs }),
  );
}

/** Reads an instant from the command line, in epoch milliseconds. */
export function readInstant(text: string, option: string): number {
  return onCommandLine(option, 'Write it like 2027-01-15T10:00:00Z or 2027-01-15T10:00:00+01:00.', () =>
    parseInstant(text, option),
  );
}

// These hints of the library are about the text itself; the others tell what to write in a program.
const hintsForAll = /^Write (days|")/;

/** Says what the library refused as it is said on a command line: the option by its name, a hint about what to type. */
function onCommandLine<Value>(option: string, hint: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DulyError)) throw error;
    throw new DulyError(error.code, {
      message: error.message.replace(`"${option}"`, option),
      hint: hintsForAll.test(error.hint ?? '')
        ? (error.hint as string).replace(' with at()', ' with --at')
        : hint,
      details: error.details,
    });
  }
}

/** Reads a value: JSON if it is JSON, else the text itself. */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Reads `name=value` pairs; values that are JSON are JSON. */
export function readPairs(pairs: readonly string[], option: string, orElse = ''): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals < 1) {
      throw usageError(`Expected ${option} to be name=value${orElse}, got "${pair.slice(0, 40)}".`);
    }
    result[pair.slice(0, equals)] = readValue(pair.slice(equals + 1));
  }
  return { ...result };
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates);
  return near === undefined ? '' : ` Did you mean "${near}"?`;
}
