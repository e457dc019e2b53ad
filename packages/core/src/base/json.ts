import { isDate, isNativeError, isPromise, isRegExp, isWeakMap, isWeakSet } from 'node:util/types';
import { dulyError, type ErrorCode } from './errors.ts';

/** Most bytes of a job's input, as UTF-8. */
export const inputBytesMax = 1024 * 1024;
/** Most bytes of a job's metadata. */
export const metadataBytesMax = 64 * 1024;
/** Most bytes of a handler's result. */
export const resultBytesMax = 1024 * 1024;
/** Most bytes of one log line. */
export const logLineBytesMax = 8 * 1024;

/** Deepest nesting of a value. Every reader of a store must be able to walk it without running out of stack. */
export const jsonDepthMax = 500;

/** What a value is, for the error: `result` and `metadata` have codes of their own, anything else those of an input. */
export interface ToJsonOptions {
  what: string;
  maxBytes: number;
}

/**
 * Writes a value as JSON. `undefined` is written as `null`, in an array too, and is left out of an object.
 * Throws, with the path of the place, for what JSON cannot keep (cycles, BigInt, functions, symbols) and for what it would
 * change without a word (NaN, Infinity, an invalid Date, Map, Set, binary data, errors, promises); for what cannot be read (a
 * getter that throws, a revoked proxy); and when the text is larger than `maxBytes`. A `__proto__` key is kept as data.
 */
export function toJson(value: unknown, { what, maxBytes }: ToJsonOptions): string {
  // The ordinary value is walked once without building paths; only what looks odd is walked again to judge and to name it.
  if (!isSurelyPlain(value)) refuseOdd(value, what);
  let text: string;
  try {
    text = JSON.stringify(value) ?? 'null';
  } catch (cause) {
    // Longer than the longest string of the engine, about 512 MiB.
    if (cause instanceof RangeError) throw tooLarge(what, maxBytes, null);
    throw notJson(what, 'it', 'could not be written', undefined, cause);
  }
  // UTF-8 needs one to three bytes for each unit of the string, so most texts need no counting.
  if (text.length > maxBytes) throw tooLarge(what, maxBytes, Buffer.byteLength(text));
  if (text.length * 3 > maxBytes) {
    const byteCount = Buffer.byteLength(text);
    if (byteCount > maxBytes) throw tooLarge(what, maxBytes, byteCount);
  }
  return text;
}

/**
 * Reads JSON. A `__proto__` key becomes an ordinary own property and changes no prototype; copy such objects with a spread,
 * which keeps it that way, and not with `Object.assign`, which would set the copy's prototype.
 * Throws `input_not_json` (or the code of `what`) without quoting the text.
 */
export function fromJson(text: string, what = 'input'): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's own message quotes the text, which may be private.
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    throw dulyError(codeFor(what, 'not_json'), {
      message: `The ${what} is not valid JSON${position === undefined ? '' : ` at character ${position}`}.`,
      hint: 'Write it as JSON: texts and names in double quotes, no trailing comma.',
      details: { what, ...(position === undefined ? {} : { position: Number(position) }) },
    });
  }
}

function isSurelyPlain(value: unknown): boolean {
  try {
    return isPlainJson(value, 0);
  } catch {
    // A getter or a proxy threw; the closer look finds it again, with its place.
    return false;
  }
}

/** Whether a value is surely written by JSON as it is. `false` means: look closer. */
function isPlainJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth >= jsonDepthMax) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlainJson(value[i], depth + 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key of Object.keys(value)) {
    if (!isPlainJson((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

/** Walks a value with its path and throws for the first thing that JSON would lose; returns if there is none. */
function refuseOdd(root: unknown, what: string): void {
  // The objects from the root down to here: meeting one of them again is a cycle, meeting another one twice is not.
  const above = new Set<object>();

  const walk = (value: unknown, path: string): void => {
    const refuse = (problem: string, hint?: string): never => {
      throw notJson(what, path === '' ? 'it' : `"${path}"`, problem, hint);
    };
    if (typeof value === 'number' && !Number.isFinite(value)) {
      refuse(`is ${value}, which JSON turns into null`, 'Leave it out, or write null or a text.');
    }
    if (typeof value === 'bigint') refuse('is a BigInt', 'Write it as a text: String(value).');
    if (typeof value === 'function') refuse('is a function', 'Give data; the code belongs in the task.');
    if (typeof value === 'symbol') refuse('is a symbol', 'Write it as a text.');
    if (typeof value !== 'object' || value === null) return;

    const [problem, hint] = read(path, () => oddObject(value)) ?? [];
    if (problem !== undefined) refuse(problem, hint);
    if (above.has(value)) refuse('refers back to an object that holds it', 'Refer to it by an id.');
    if (above.size >= jsonDepthMax) refuse(`is nested more than ${jsonDepthMax} levels deep`, 'Flatten it.');

    above.add(value);
    const own = value as Record<string, unknown> & { toJSON?: unknown };
    if (read(path, () => typeof own.toJSON === 'function')) {
      const written = read(path, () => (own as { toJSON(): unknown }).toJSON(), 'has a toJSON() that threw');
      walk(written, path);
    } else if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) walkInto(`${path}[${i}]`, () => value[i]);
    } else {
      for (const key of read(path, () => Object.keys(own))) walkInto(joinPath(path, key), () => own[key]);
    }
    above.delete(value);
  };

  const walkInto = (path: string, item: () => unknown): void => walk(read(path, item), path);

  /** Runs code of the value itself: a getter, a proxy or a toJSON(), any of which may throw. */
  const read = <Read>(path: string, fn: () => Read, problem = 'cannot be read'): Read => {
    try {
      return fn();
    } catch (cause) {
      const hint = 'A getter, a proxy or a toJSON() threw; see the cause.';
      throw notJson(what, path === '' ? 'it' : `"${path}"`, problem, hint, cause);
    }
  };

  walk(root, '');
}

/** What is wrong with an object that JSON would write as `{}` or worse, and what to do. */
function oddObject(value: object): [problem: string, hint: string] | null {
  if (isDate(value)) {
    return Number.isNaN(value.getTime()) ? ['is an invalid Date', 'Check where the date comes from.'] : null;
  }
  if (value instanceof Map) return ['is a Map', 'Convert it: Object.fromEntries(map), or [...map].'];
  if (value instanceof Set) return ['is a Set', 'Convert it: [...set].'];
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return ['is binary data', 'Store it elsewhere and refer to it, or write it as base64.'];
  }
  if (isPromise(value)) return ['is a promise', 'Await it first.'];
  if (isNativeError(value)) return ['is an error, of which JSON keeps nothing', 'Write its message.'];
  if (isRegExp(value)) return ['is a regular expression', 'Write its source.'];
  if (isWeakMap(value) || isWeakSet(value))
    return ['is a weak collection', 'Convert it to an array or an object.'];
  return null;
}

function joinPath(path: string, key: string): string {
  const short = key.length > 40 ? `${key.slice(0, 40)}…` : key;
  return path === '' ? short : `${path}.${short}`;
}

function notJson(what: string, place: string, problem: string, hint?: string, cause?: unknown): Error {
  // A deep value has a long path; its end is what helps.
  const shown = place.length > 120 ? `"…${place.slice(-118)}` : place;
  return dulyError(codeFor(what, 'not_json'), {
    message: `The ${what} cannot be stored as JSON: ${shown} ${problem}.`,
    hint: hint ?? 'Give plain data: texts, finite numbers, booleans, null, arrays and objects.',
    details: { what, path: place === 'it' ? '' : shown.replace(/^"|"$/g, '') },
    cause,
  });
}

function tooLarge(what: string, maxBytes: number, byteCount: number | null): Error {
  const size = byteCount === null ? 'too large to be written' : `${byteCount} bytes as JSON`;
  return dulyError(codeFor(what, 'too_large'), {
    message: `The ${what} is ${size}; at most ${maxBytes} bytes are allowed.`,
    hint: 'Store the data elsewhere and keep only a reference to it.',
    details: { what, byteCount, maxBytes },
  });
}

function codeFor(what: string, problem: 'not_json' | 'too_large'): ErrorCode {
  if (what === 'metadata') return 'metadata_invalid';
  return what === 'result' ? `result_${problem}` : `input_${problem}`;
}
