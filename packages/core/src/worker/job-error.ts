import { type PlainError, toPlainError } from '../base/errors.ts';
import type { JobError } from '../contract/engine.ts';

// Enough to find the place in the code; a message with a payload in it must not fill the store.
const nameLengthMax = 200;
const messageLengthMax = 8 * 1024;
const stackLengthMax = 16 * 1024;
const causeDepthMax = 5;

/** Turns whatever a handler threw into the error that is kept with its job: bounded, never throws itself. */
export function toJobError(thrown: unknown): JobError {
  if (thrown === undefined || thrown === null) {
    return {
      name: 'NotAnError',
      message: `The handler threw ${String(thrown)}: there is no message and no stack to keep. Throw an Error.`,
      code: 'handler_threw_nullish',
    };
  }
  return fromPlain(toPlainError(thrown), 1);
}

function fromPlain(plain: PlainError, depth: number): JobError {
  const error: JobError = {
    name: cut(plain.name, nameLengthMax),
    message: cut(plain.message, messageLengthMax),
  };
  if (plain.stack !== null) error.stack = cut(plain.stack, stackLengthMax);
  if (plain.code !== null) error.code = cut(plain.code, nameLengthMax);
  if (plain.cause !== null && depth < causeDepthMax) error.cause = fromPlain(plain.cause, depth + 1);
  return error;
}

function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, lengthMax)}… [${text.length - lengthMax} characters cut]`;
}
