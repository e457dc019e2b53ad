import { type Duly, type DulyEvents, systemClock } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import { printJson } from '../output/json.ts';
import type { Terminal } from '../output/terminal.ts';
import type { JobLines } from './job-lines.ts';

const eventNames = [
  'job.started',
  'job.progress',
  'job.settled',
  'job.lost',
  'job.reaped',
  'draining',
] as const satisfies (keyof DulyEvents)[];

/** Prints what a node does as one JSON object on each line. */
export function createJsonLines(first: Duly, out: Terminal): JobLines {
  const write = (event: string, fields: object): void =>
    printJson(
      out,
      { event, at: new Date(systemClock.now()).toISOString(), ...(toSnakeCase(fields) as object) },
      { indent: 0 },
    );
  const offs: (() => void)[] = [];
  const follow = (duly: Duly): void => {
    offs.push(...eventNames.map((name) => duly.on(name, (fields: object) => write(name, fields))));
  };
  follow(first);
  return {
    follow,
    print: (message) => write('message', { message }),
    write() {},
    started: (facts) => write('started', facts),
    serving: (facts) => write('serving', facts),
    begin() {},
    close() {
      for (const off of offs) off();
    },
  };
}
