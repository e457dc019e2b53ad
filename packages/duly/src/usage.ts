import { DulyError, nearest } from '@duly/core';
import type { CommanderError } from 'commander';
import { invocation } from './invocation.ts';

/** What the parser refused, as an error with a code and a hint. */
export function usageErrorOf(error: CommanderError): DulyError {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const guess = /^\(Did you mean (.*)\?\)$/.exec(rest.join(' ').trim())?.[1];
  return usageError(
    sentence(first.replace(/'([^']*)'/g, '"$1"')),
    guess === undefined
      ? `Run "${invocation()} --help", or any command with --help.`
      : `Did you mean "${guess}"?`,
  );
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

/** Reads words separated by commas. */
export function readList(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
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
export function readPairs(pairs: readonly string[], option: string): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals < 1) throw usageError(`Expected ${option} to be name=value, got "${pair.slice(0, 40)}".`);
    result[pair.slice(0, equals)] = readValue(pair.slice(equals + 1));
  }
  return { ...result };
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates);
  return near === undefined ? '' : ` Did you mean "${near}"?`;
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(capital) ? capital : `${capital}.`;
}
