import { isDate, isProxy } from 'node:util/types';
import { dulyError, type ErrorCode } from './errors.ts';
import { nearest } from './nearest.ts';

/** The names an options object may have, written so that the compiler misses none. */
export type OptionNames<Options> = Record<keyof Required<Options>, true>;

/**
 * Checks that this is an object with known names only and returns it; left out, it is empty. Where it is itself the value of an option,
 * `field` is that option's name, and details name the path. Throws `invalid_option`.
 */
export function readOptions<Options extends object>(
  given: Options | undefined,
  what: string,
  names: OptionNames<Options>,
  code: ErrorCode = 'invalid_option',
  field?: string,
): Options {
  if (given === undefined) return {} as Options;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw dulyError(code, {
      message: `Expected the options of ${what} to be an object, got ${shown(given)}.`,
      details: field === undefined ? { what } : { what, field },
    });
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    const known = Object.keys(names);
    const near = nearest(name, known);
    throw dulyError(code, {
      message: `Unknown option "${name.slice(0, 60)}" of ${what}.`,
      hint: near === undefined ? `The options are ${known.join(', ')}.` : `Did you mean "${near}"?`,
      details: { what, field: `${field === undefined ? '' : `${field}.`}${name.slice(0, 60)}` },
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

// What makes texts that look equal and are not, or that break terminals and log lines. A zero-width joiner is not among them:
// emoji and some scripts are written with it.
const unseen: readonly [pattern: RegExp, what: string][] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  [/[\u0000-\u001f\u007f-\u009f]/, 'control characters such as tabs and line breaks'],
  [/[\u2028\u2029]/, 'line or paragraph separators (U+2028, U+2029)'],
  [
    /[\u202a-\u202e\u2066-\u2069]/,
    'characters that turn the direction of writing (U+202A to U+202E, U+2066 to U+2069)',
  ],
];

/**
 * Reads a text that every store can keep: well-formed Unicode without NUL, of at most `lengthMax` characters. As a `name` it must
 * also have at least one character that is no blank, and none that cannot be seen. `of` says in the message whose field it is.
 */
export function readText(
  value: unknown,
  field: string,
  {
    lengthMax,
    name = false,
    of = '',
    code,
  }: { lengthMax: number; name?: boolean; of?: string; code?: ErrorCode },
): string {
  const refuse = (expected: string): never =>
    refuseOption(field, value, of === '' ? expected : `of ${of} ${expected}`, undefined, code);
  if (typeof value !== 'string') return refuse('to be a text');
  if (name && value.length === 0) return refuse('not to be empty');
  if (value.length > lengthMax) return refuse(`to have at most ${lengthMax} characters`);
  if (!value.isWellFormed()) return refuse('to be well-formed Unicode, without half of a surrogate pair');
  if (value.includes('\0')) return refuse('to hold no NUL character');
  if (!name) return value;
  const found = unseen.find(([pattern]) => pattern.test(value));
  if (found !== undefined) return refuse(`to hold no ${found[1]}`);
  if (value.trim() === '') return refuse('to be more than blanks');
  return value;
}

/** Reads a name: 1 to 200 characters that can be seen, more than blanks. */
export function readName(value: unknown, field: string, code: ErrorCode = 'invalid_option'): string {
  return readText(value, field, { lengthMax: nameLengthMax, name: true, code });
}

// JSON writes these as they are, and a terminal would obey them.
const unescaped = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** How a wrong value is shown in a message: short, texts in quotes and nothing else, and never the inside of an object. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value).replace(
        unescaped,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
    case 'object':
      return shownObject(value);
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'bigint':
      return `${String(value).slice(0, 40)}n`;
    default:
      return String(value);
  }
}

function shownObject(value: object | null): string {
  if (value === null) return 'null';
  if (isProxy(value)) return 'a proxy';
  if (Array.isArray(value)) return 'an array';
  if (!isDate(value)) return 'an object';
  const at = value.getTime();
  return Number.isNaN(at) ? 'an invalid Date' : `a Date of ${at} ms`;
}
