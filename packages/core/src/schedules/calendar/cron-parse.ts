import { dulyError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { shown } from '../../base/option-reader.ts';
import type { CronFields } from './cron-fields.ts';
import { refuseImpossible } from './cron-impossible.ts';
import { CronReader } from './cron-reader.ts';

/** No cron needs more: sixty minutes and seconds, written out, have 340 characters. */
export const cronLengthMax = 1_000;

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** How a cron is read. */
export interface ParseCronOptions {
  /** With it, a cron whose years are all over is refused. */
  now?: number;
}

/**
 * Reads a cron of 5, 6 or 7 fields, or a macro. Throws `invalid_cron`, whose details name the field and the position: the offset
 * of the first wrong character, from 0. A cron that can never fire is refused too.
 */
export function parseCron(text: string, { now }: ParseCronOptions = {}): CronFields {
  if (typeof text !== 'string') {
    throw dulyError('invalid_cron', {
      message: `Expected "cron" to be a text like "30 2 * * MON-FRI", got ${shown(text)}.`,
      details: { field: 'cron', position: 0 },
    });
  }
  if (text.length > cronLengthMax) {
    const expected = `to have at most ${cronLengthMax} characters, got ${text.length}`;
    throw dulyError('invalid_cron', {
      message: `Expected a cron ${expected}.`,
      hint: 'Ranges and steps are shorter than lists. Several rules are several schedules.',
      details: { field: 'cron', position: cronLengthMax },
    });
  }
  const trimmed = text.trim();
  if (trimmed.startsWith('@')) return parseMacro(text, trimmed);
  const fields = new CronReader(text).read();
  refuseImpossible(text, fields, now);
  return fields;
}

function parseMacro(text: string, macro: string): CronFields {
  const expanded = macros[macro.toLowerCase()];
  if (expanded !== undefined) return { ...new CronReader(expanded).read(), text: macro.toLowerCase() };
  const near = nearest(macro, Object.keys(macros));
  let hint = `The macros are ${Object.keys(macros).join(', ')}.`;
  if (/^@every\b/i.test(macro)) hint = 'For a fixed rate write { "rate": "10m" } instead of a cron.';
  else if (/^@reboot\b/i.test(macro))
    hint = 'A schedule does not follow restarts; call the task when your program starts.';
  else if (near !== undefined) hint = `Did you mean "${near}"?`;
  throw dulyError('invalid_cron', {
    message: `${shown(macro)} is not a macro.`,
    hint,
    details: { field: 'cron', position: text.indexOf('@'), cron: text },
  });
}
