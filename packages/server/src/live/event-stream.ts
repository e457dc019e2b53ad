import type { ChangesPage, Clock, FeedChange } from '@duly/core';
import { type EventFilter, type JobFacts, matchesFacts, mayMatch } from './event-filter.ts';
import type { FactBook } from './job-facts.ts';
import type { LiveEvent, LiveStream } from './live-stream.ts';

/** A change as JSON. */
export interface ChangeJson extends JobFacts {
  /** The job. */
  id: string;
  type: string;
  status: FeedChange['status'];
  /** What happened: `made`, `claimed`, `progress`, `log`, or how it went on. */
  event: string;
  /** Of a `progress`; null: the event tells of none. */
  progress: number | null;
  at: string;
}

const troubleWaitMs = 250;

/**
 * The stream of all changes that match, each one, in order, without gaps: `change` for each, and `gap` where changes are missing that are
 * past their retention. A reader that is slow finds them in the store when it comes to them.
 */
export function openEventStream(options: {
  pages: AsyncIterableIterator<ChangesPage>;
  facts: FactBook;
  filter: EventFilter;
  clock: Clock;
}): LiveStream {
  const { pages, facts, filter, clock } = options;
  let waiting: LiveEvent[] = [];
  let position: number | null = null;
  let isClosed = false;

  async function eventsOf({ changes, position: end, gap }: ChangesPage): Promise<LiveEvent[]> {
    const events: LiveEvent[] = [];
    if (gap) events.push({ event: 'gap', id: String(end), data: '{}' });
    const possible = changes.filter((change) => mayMatch(filter, change));
    const known = possible.length === 0 ? null : await readFacts(possible);
    for (const change of possible) {
      const found = known?.get(change.id) ?? null;
      if (!matchesFacts(filter, found)) continue;
      const data = JSON.stringify(toChangeJson(change, found));
      events.push({ event: 'change', id: String(change.position), data });
    }
    return events;
  }

  async function readFacts(changes: FeedChange[]): Promise<Map<string, JobFacts | null>> {
    for (;;) {
      try {
        return await facts.of(changes);
      } catch (error) {
        if (isClosed) throw error;
        await clock.sleep(troubleWaitMs);
      }
    }
  }

  return {
    // Everything before the events that wait is told, and all that wait are of the page that ends here.
    place: () => (waiting.length === 0 && position !== null ? String(position) : null),
    close() {
      isClosed = true;
      waiting = [];
      void pages.return?.();
    },
    async next() {
      while (waiting.length === 0) {
        const isFirst = position === null;
        const { done, value } = await pages.next();
        if (done === true || isClosed) return null;
        const events = await eventsOf(value);
        if (isClosed) return null;
        position = value.position;
        // Named at once: whoever is cut off before the first event goes on from here.
        if (isFirst) events.unshift({ event: null, id: String(startOf(value)), data: null });
        waiting = events;
      }
      return waiting.shift() as LiveEvent;
    },
  };
}

/** The place before a page. */
function startOf({ changes, position }: ChangesPage): number {
  const [first] = changes;
  return first === undefined ? position : Math.max(0, first.position - 1);
}

function toChangeJson(change: FeedChange, facts: JobFacts | null): ChangeJson {
  return {
    id: change.id,
    type: change.type,
    status: change.status,
    event: change.event,
    progress: change.percent,
    at: change.at.toISOString(),
    tenant: facts?.tenant ?? null,
    queue: facts?.queue ?? null,
    schedule: facts?.schedule ?? null,
  };
}
