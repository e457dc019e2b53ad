// The pauses that hold a job, in sentences and for programs.

import type { WaitingFor } from './job-why.ts';
import type { WhyFacts } from './job-why-facts.ts';
import type { Pause } from './pauses.ts';

/** The pauses in force that hold the job. */
export function pausesOf({ pauses, job, now }: WhyFacts): Pause[] {
  return pauses.filter((pause) => {
    if (pause.until !== null && pause.until.getTime() <= now) return false;
    if (pause.scope === 'all') return true;
    return pause.scope === 'queue' ? pause.name === job.queue : pause.name === job.type;
  });
}

/** Who paused what, since when and until when. */
export function pauseSentence(pause: Pause): string {
  const what =
    pause.scope === 'all'
      ? 'Everything'
      : pause.scope === 'queue'
        ? `Queue "${pause.name}"`
        : `Type "${pause.name}"`;
  const note = pause.note === null ? '' : `, who noted "${pause.note}"`;
  const until = pause.until === null ? 'until it is resumed' : `until ${pause.until.toISOString()}`;
  return `${what} is paused since ${pause.since.toISOString()} by ${pause.by}${note}, ${until}.`;
}

/** A pause for programs. */
export function pauseWait(pause: Pause): WaitingFor {
  return {
    kind: 'pause',
    scope: pause.scope,
    name: pause.name,
    by: pause.by,
    note: pause.note,
    since: pause.since,
    until: pause.until,
  };
}

/** When a job starts that could start at this instant; null: a pause has no end. */
export function startAfterPauses(from: number, pauses: Pause[]): number | null {
  let start = from;
  for (const pause of pauses) {
    if (pause.until === null) return null;
    start = Math.max(start, pause.until.getTime());
  }
  return start;
}
