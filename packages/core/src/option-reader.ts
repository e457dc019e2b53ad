import { dulyError, type ErrorCode } from './errors.ts';
import { nearest } from './nearest.ts';

/** The names an options object may have, written so that the compiler misses none. */
export type OptionNames<Options> = Record<keyof Required<Options>, true>;

/** Checks that this is an object with known names only and returns it; left out, it is empty. Throws `invalid_option`. */
export function readOptions<Options extends object>(
  given: Options | undefined,
  what: string,
  names: OptionNames<Options>,
  code: ErrorCode = 'invalid_option',
): Options {
  if (given === undefined) return {} as Options;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw dulyError(code, {
      message: `Expected the options of ${what} to be an object, got ${shown(given)}.`,
      details: { what },
    });
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    const known = Object.keys(names);
    const near = nearest(name, known);
    throw dulyError(code, {
      message: `Unknown option "${name.slice(0, 60)}" of ${what}.`,
      hint: near === undefined ? `The options are ${known.join(', ')}.` : `Did you mean "${near}"?`,
      details: { what, field: name.slice(0, 60) },
    });
  }
  return given;
}

/** Refuses a value: says which field, what was expected and what came. */
export function refuseOption(
  field: string,
  value: unknown,
  expected: string,
  hint?: string,
  code: ErrorCode = 'invalid_option',
): never {
  throw dulyError(code, {
    message: `Expected "${field}" ${expected}, got ${shown(value)}.`,
    hint,
    details: { field },
  });
}

/** Reads a whole number between two bounds. */
export function readWholeNumber(value: unknown, field: string, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    refuseOption(field, value, `to be a whole number from ${min} to ${max}`);
  }
  return value === 0 ? 0 : value;
}

/** Reads true or false. */
export function readFlag(value: unknown, field: string): boolean {
  if (typeof value !== 'boolean') refuseOption(field, value, 'to be true or false');
  return value;
}

/** Reads one of some words, with the nearest one as a hint. */
export function readWord<Word extends string>(value: unknown, field: string, words: readonly Word[]): Word {
  if (typeof value === 'string' && (words as readonly string[]).includes(value)) return value as Word;
  const near = typeof value === 'string' ? nearest(value, words) : undefined;
  return refuseOption(
    field,
    value,
    `to be one of ${words.map((word) => `"${word}"`).join(', ')}`,
    near === undefined ? undefined : `Did you mean "${near}"?`,
  );
}

/** How long a name may be: task, queue, tenant, key. */
export const nameLengthMax = 200;

// Control characters make names that look equal and are not, and break terminals and log lines.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacters = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Reads a name: 1 to 200 characters, none of them a control character. */
export function readName(value: unknown, field: string, code: ErrorCode = 'invalid_option'): string {
  if (typeof value !== 'string') return refuseOption(field, value, 'to be a text', undefined, code);
  if (value.length === 0 || value.length > nameLengthMax) {
    return refuseOption(field, value, `to have 1 to ${nameLengthMax} characters`, undefined, code);
  }
  if (controlCharacters.test(value) || !value.isWellFormed()) {
    return refuseOption(field, value, 'to hold no control characters', undefined, code);
  }
  if (value.trim() === '') return refuseOption(field, value, 'to be more than blanks', undefined, code);
  return value;
}

/** How a wrong value is shown in a message: short, and never the inside of an object. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'function') return 'a function';
  return `"${String(value)}"`;
}
