import { isDulyError } from '@duly/core';
import { exitCodeOf, exitCodes } from '../cli/exit-codes.ts';
import { caretLines } from './caret.ts';
import { harmless, type Terminal } from './terminal.ts';

/** Prints an error and answers with the exit code for it. */
export function printError(err: Terminal, error: unknown, json: boolean): number {
  const { code, message, hint, details } = partsOf(error);
  const causes = causesOf(error, message);
  if (json) {
    err.line(JSON.stringify({ error: { code, message, hint, details, causes } }));
  } else {
    err.sentence(`${err.paint(['bold', 'red'], `error[${code}]:`)} ${harmless(message)}`);
    for (const line of caretLines(details)) err.line(line);
    for (const cause of causes) err.sentence(`${err.paint('dim', 'cause:')} ${harmless(cause)}`);
    if (hint !== null) err.sentence(`${err.paint('cyan', 'hint:')} ${harmless(hint)}`);
  }
  return code === 'internal' ? exitCodes.failure : exitCodeOf(code);
}

/** Prints something a person should know that stops nothing. */
export function printWarning(err: Terminal, message: string, json: boolean): void {
  if (json) err.line(JSON.stringify({ warning: { message } }));
  else err.sentence(`${err.paint(['bold', 'yellow'], 'warning:')} ${harmless(message)}`);
}

interface ErrorParts {
  code: string;
  message: string;
  hint: string | null;
  details: Record<string, unknown>;
}

function partsOf(error: unknown): ErrorParts {
  if (isDulyError(error)) {
    const { code, message, hint, details } = error;
    return { code, message, hint: hint ?? null, details };
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  return {
    code: 'internal',
    message: stack ?? message,
    hint: 'This is a defect of Duly. Please report it with this message.',
    details: {},
  };
}

// A longer chain is a cycle, or of no use to a reader.
const causeCountMax = 5;

/** What lies behind an error, nearest first: each cause that the message before it does not tell already. */
function causesOf(error: unknown, message: string): string[] {
  const causes: string[] = [];
  let last = message;
  let cause = (error as { cause?: unknown } | null | undefined)?.cause;
  while (cause !== undefined && cause !== null && causes.length < causeCountMax) {
    const text = thrownText(cause);
    const { message: own = text } = cause as { message?: string };
    if (!last.includes(own)) causes.push(text);
    last = own;
    cause = (cause as { cause?: unknown }).cause;
  }
  return causes;
}

/** What was thrown, in words: `TypeError: x is not a function`, or what it was instead of an error. */
export function thrownText(thrown: unknown): string {
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`;
  if (typeof thrown === 'string') return thrown === '' ? 'an empty text was thrown' : thrown;
  if (typeof thrown === 'object' && thrown !== null) return 'an object that is not an error was thrown';
  return `${String(thrown)} was thrown`;
}

/** A text that ends with a full stop, and with one only. */
export function sentenceOf(text: string): string {
  return /[.?!…]$/.test(text.trimEnd()) ? text.trimEnd() : `${text.trimEnd()}.`;
}
