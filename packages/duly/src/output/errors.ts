import { isDulyError } from '@duly/core';
import { exitCodeOf, exitCodes } from '../exit-codes.ts';
import { harmless, type Terminal } from './terminal.ts';

/** Prints an error and answers with the exit code for it. */
export function printError(err: Terminal, error: unknown, json: boolean): number {
  const { code, message, hint, details } = partsOf(error);
  if (json) {
    err.line(JSON.stringify({ error: { code, message, hint, details } }));
  } else {
    err.line(`${err.paint(['bold', 'red'], `error[${code}]:`)} ${harmless(message)}`);
    if (hint !== null) err.line(`${err.paint('cyan', 'hint:')} ${harmless(hint)}`);
  }
  return code === 'internal' ? exitCodes.failure : exitCodeOf(code);
}

/** Prints something a person should know that stops nothing. */
export function printWarning(err: Terminal, message: string, json: boolean): void {
  if (json) err.line(JSON.stringify({ warning: { message } }));
  else err.line(`${err.paint(['bold', 'yellow'], 'warning:')} ${harmless(message)}`);
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
