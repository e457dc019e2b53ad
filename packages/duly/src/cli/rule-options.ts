import { formatInstant, type RuleInput, readMoment } from '@duly/core';
import { readDuration, usageError } from './usage.ts';

/** The options that make a rule. */
export interface RuleOptions {
  cron?: string;
  every?: string;
  delay?: string;
  rrule?: string;
  timezone?: string;
  dstGap?: string;
  dstRepeat?: string;
  exclude?: string[];
  startAt?: string;
  endAt?: string;
  anchor?: string;
}

const kinds = ['cron', 'every', 'delay', 'rrule'] as const;

/** Whether one of the options names a rule. */
export function hasRule(options: RuleOptions): boolean {
  return kinds.some((kind) => options[kind] !== undefined);
}

/** Reads a rule; exactly one of `--cron`, `--every`, `--delay` and `--rrule`. The library checks the rest. */
export function readRule(options: RuleOptions): RuleInput {
  const given = kinds.filter((kind) => options[kind] !== undefined);
  if (given.length !== 1) {
    const names = given.map((kind) => `--${kind}`).join(' and ');
    throw usageError(
      `Give one of --cron, --every, --delay and --rrule${given.length === 0 ? '' : `, not ${names}`}.`,
    );
  }
  const {
    cron,
    every,
    delay,
    rrule,
    timezone,
    dstGap,
    dstRepeat,
    exclude = [],
    startAt,
    endAt,
    anchor,
  } = options;
  const dst = {
    ...(dstGap === undefined ? {} : { gap: dstGap }),
    ...(dstRepeat === undefined ? {} : { repeat: dstRepeat }),
  } as NonNullable<RuleInput['dst']>;
  return {
    ...(cron === undefined ? {} : { cron }),
    // Read here, so that the message names the option that was typed.
    ...(every === undefined ? {} : { rate: readDuration(every, '--every') }),
    ...(delay === undefined ? {} : { delay: readDuration(delay, '--delay') }),
    // A shell has no easy way to write a new line.
    ...(rrule === undefined ? {} : { rrule: rrule.replaceAll('\\n', '\n') }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(Object.keys(dst).length === 0 ? {} : { dst }),
    ...(exclude.length === 0 ? {} : { exclude: exclude.map(readExclude) }),
    ...(startAt === undefined ? {} : { startAt: instantText(startAt, '--start-at', timezone) }),
    ...(endAt === undefined ? {} : { endAt: instantText(endAt, '--end-at', timezone) }),
    ...(anchor === undefined ? {} : { anchor: anchor as 'start' | 'epoch' }),
  };
}

/** A date or wall time means the schedule's zone. */
function instantText(text: string, option: string, timezone = 'UTC'): string {
  return formatInstant(readMoment(text, option, timezone));
}

function readExclude(text: string): NonNullable<RuleInput['exclude']> & (string | { rrule: string }) {
  return /^(?:RRULE:|FREQ=|DTSTART)/i.test(text) ? { rrule: text.replaceAll('\\n', '\n') } : text;
}
