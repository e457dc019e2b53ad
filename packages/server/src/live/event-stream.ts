import { setImmediate } from 'node:timers/promises';
import type { ChangesPage, Clock, FeedChange } from '@duly/core';
import { type EventFilter, type JobFacts, matchesFacts, mayMatch } from './event-filter.ts';
import type { FactCache } from './job-facts.ts';
import type { LiveEvent, LiveStream } from './live-stream.ts';

/** A change as JSON. */
export interface ChangeJson extends JobFacts {
  /** The job. */
  id: string;
  type: string;
  status: FeedChange['status'];
  /** What happened: `created`, `claimed`, `progress`, `log`, or how it went on. */
  event: string;
  /** Of a `progress`; null: the event tells of none. */
  progress: number | null;
  at: string;
}

const troubleWaitMs = 250;
// Those of a few pages, of about 300 bytes each.
const cachedTextsMax = 5_000;

/** The text of a change, made once for all watchers who meet it. */
export type ChangeTexts = (change: FeedChange, facts: JobFacts | null) => string;

/** Makes the texts. Watchers who keep up meet a change within moments of each other. */
export function createChangeTexts(): ChangeTexts {
  const cached = new Map<number, string>();
  return (change, facts) => {
    const known = cached.get(change.position);
    if (known !== undefined) return known;
    const text = JSON.stringify(toChangeJson(change, facts));
    if (cached.size >= cachedTextsMax) cached.delete(cached.keys().next().value as number);
    cached.set(change.position, text);
    return text;
  };
}

/**
 * The stream of all changes that match, each one, in order, without gaps: `change` for each, and `gap` where changes are missing that are
 * past their retention. A reader that is slow finds them in the store when it comes to them.
 */
export function openEventStream(options: {
  pages: AsyncIterableIterator<ChangesPage>;
  facts: FactCache;
  texts: ChangeTexts;
  filter: EventFilter;
  clock: Clock;
}): LiveStream {
  const { pages, facts, texts, filter, clock } = options;
  // Those that are told are left in it until all are: taking the first of a long list away costs as much as its length.
  let waiting: LiveEvent[] = [];
  let sentCount = 0;
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
      events.push({ event: 'change', id: String(change.position), data: texts(change, found) });
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

  function take(): LiveEvent | null {
    return waiting[sentCount] === undefined ? null : (waiting[sentCount++] as LiveEvent);
  }

  return {
    // Everything before the events that wait is told, and all that wait are of the page that ends here.
    place: () => (sentCount === waiting.length && position !== null ? String(position) : null),
    more: take,
    close() {
      isClosed = true;
      waiting = [];
      void pages.return?.();
    },
    async next() {
      for (;;) {
        const event = take();
        if (event !== null) return event;
        const isFirst = position === null;
        // Between two pages others have their turn: with many watchers a burst would otherwise hold up every request until it is told to the last.
        if (!isFirst) await setImmediate();
        const { done, value } = await pages.next();
        if (done === true || isClosed) return null;
        const events = await eventsOf(value);
        if (isClosed) return null;
        position = value.position;
        // Named at once: whoever is cut off before the first event goes on from here.
        if (isFirst) events.unshift({ event: null, id: String(startOf(value)), data: null });
        waiting = events;
        sentCount = 0;
      }
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
