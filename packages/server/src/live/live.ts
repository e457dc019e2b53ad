import { type Clock, type Duly, DulyError, type Job } from '@duly/core';
import type { JobJson } from '@duly/core/internal';
import type { RedactOptions } from '../options.ts';
import type { EventFilter } from './event-filter.ts';
import { createChangeTexts, openEventStream } from './event-stream.ts';
import { createFactCache } from './job-facts.ts';
import { createJobStates } from './job-states.ts';
import { type JobPlace, openJobStream } from './job-stream.ts';
import type { LiveStream } from './live-stream.ts';
import type { JobWatch } from './open-watch.ts';
import { createWatcherLimit } from './watcher-limit.ts';

/** The streams and watches that report changes of jobs as they happen. */
export interface Live {
  /** Watches one job, without its log. */
  watchJob(id: string, options: { actor: string }): Promise<JobWatch>;
  /**
   * Opens the stream of one job, from a place on; null: the watcher has read its end there, and nothing has happened since. Throws
   * `job_not_found`, or what `show` throws.
   */
  jobStream(options: {
    /** The caller, whose watchers are bounded. */
    actor: string;
    id: string;
    /** The tenant of the watcher, checked before the job is read; null: any. */
    tenant: string | null;
    after: JobPlace;
    logs: boolean;
    /** The job as the watcher may see it; throws if they may not. */
    show(job: Job): JobJson;
  }): Promise<LiveStream | null>;
  /** Opens the stream of all changes that match; `after` null: from now on. */
  eventStream(options: { actor: string; filter: EventFilter; after: number | null }): LiveStream;
  /** Streams and watches that are open. */
  count(): number;
  /** Ends all of them. Their clients connect again, to another server or to this one after its restart. */
  close(): void;
}

/** Creates them over one Duly. Nothing is read before the first watcher. */
export function createLive(options: {
  duly: Duly;
  clock: Clock;
  watchersMax: number;
  redact: Required<RedactOptions>;
}): Live {
  const { duly, clock, watchersMax, redact } = options;
  const states = createJobStates({ duly, clock, redact });
  const facts = createFactCache(duly);
  const texts = createChangeTexts();
  const streams = new Set<LiveStream>();
  let isClosed = false;

  const count = (): number => states.count() + streams.size;
  const limit = createWatcherLimit({ watchersMax, count });

  /** Counts a watcher of this caller until the returned function is called. */
  function admit(actor: string): () => void {
    if (isClosed) throw new DulyError('stopped', { message: 'The server is stopping.' });
    return limit.admit(actor);
  }

  return {
    async watchJob(id, { actor }) {
      const release = admit(actor);
      try {
        return await states.watch(id, { onClose: release });
      } catch (error) {
        release();
        throw error;
      }
    },
    async jobStream({ actor, id, tenant, after, logs, show }) {
      const release = admit(actor);
      let watch: JobWatch | null = null;
      try {
        if (tenant !== null) await duly.job(id).get({ tenant });
        watch = await states.watch(id, { logsAfter: logs ? after.line : null, onClose: release });
        const state = watch.state();
        show(await state.job());
        if (!after.isEnd || !state.isOver || state.tag !== after.tag) {
          return openJobStream({ watch, after, show });
        }
        watch.close();
        return null;
      } catch (error) {
        watch?.close();
        release();
        throw error;
      }
    },
    eventStream({ actor, filter, after }) {
      const release = admit(actor);
      const pages = duly.changes(after === null ? {} : { after });
      const stream = openEventStream({ pages, facts, texts, filter, clock });
      const tracked: LiveStream = {
        ...stream,
        close() {
          release();
          streams.delete(tracked);
          stream.close();
        },
      };
      streams.add(tracked);
      return tracked;
    },
    count,
    close() {
      isClosed = true;
      states.close();
      for (const stream of [...streams]) stream.close();
    },
  };
}
