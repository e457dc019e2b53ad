import { type Clock, type Duly, DulyError, type Job, type JobJson } from '@duly/core';
import type { RedactOptions } from '../options.ts';
import type { EventFilter } from './event-filter.ts';
import { createChangeTexts, openEventStream } from './event-stream.ts';
import { createFactBook } from './job-facts.ts';
import { createJobStates, type JobWatch } from './job-states.ts';
import { type JobPlace, openJobStream } from './job-stream.ts';
import type { LiveStream } from './live-stream.ts';

/** Everything that tells what happens to jobs while it happens. */
export interface Live {
  /** Watches one job, without its log. */
  watchJob(id: string): Promise<JobWatch>;
  /**
   * Opens the stream of one job, from a place on; null: its end was told there, and nothing has happened since. Throws `job_not_found`, or
   * what `show` throws.
   */
  jobStream(options: {
    id: string;
    /** The tenant of the watcher, checked before the job is read; null: any. */
    tenant: string | null;
    after: JobPlace;
    logs: boolean;
    /** The job as the watcher may see it; throws if they may not. */
    show(job: Job): JobJson;
  }): Promise<LiveStream | null>;
  /** Opens the stream of all changes that match; `after` null: from now on. */
  eventStream(options: { filter: EventFilter; after: number | null }): LiveStream;
  /** Streams and watches that are open. */
  count(): number;
  /** Ends all of them; those who come back find another server, or this one started again. */
  close(): void;
}

/** Makes it over one Duly. Nothing is read before somebody watches. */
export function createLive(options: {
  duly: Duly;
  clock: Clock;
  watchersMax: number;
  redact: Required<RedactOptions>;
}): Live {
  const { duly, clock, watchersMax, redact } = options;
  const states = createJobStates({ duly, clock, redact });
  const facts = createFactBook(duly);
  const texts = createChangeTexts();
  const streams = new Set<LiveStream>();
  let isClosed = false;

  function admit(): void {
    if (isClosed) throw new DulyError('stopped', { message: 'The server is stopping.' });
    if (states.count() + streams.size < watchersMax) return;
    throw new DulyError('too_many_watchers', {
      message: `${watchersMax} watchers are connected to this server, and it takes no more.`,
      hint: 'Come back later, or ask another server of the same store.',
      details: { watchersMax },
    });
  }

  return {
    async watchJob(id) {
      admit();
      return states.watch(id);
    },
    async jobStream({ id, tenant, after, logs, show }) {
      admit();
      if (tenant !== null) await duly.job(id).get({ tenant });
      const watch = await states.watch(id, logs ? after.line : null);
      try {
        const state = watch.state();
        show(await state.job());
        if (!after.isEnd || !state.isOver || state.tag !== after.tag) {
          return openJobStream({ watch, after, show });
        }
        watch.close();
        return null;
      } catch (error) {
        watch.close();
        throw error;
      }
    },
    eventStream({ filter, after }) {
      admit();
      const pages = duly.changes(after === null ? {} : { after });
      const stream = openEventStream({ pages, facts, texts, filter, clock });
      const tracked: LiveStream = {
        ...stream,
        close() {
          streams.delete(tracked);
          stream.close();
        },
      };
      streams.add(tracked);
      return tracked;
    },
    count: () => states.count() + streams.size,
    close() {
      isClosed = true;
      states.close();
      for (const stream of [...streams]) stream.close();
    },
  };
}
