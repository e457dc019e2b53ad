import { isDulyError, type Job, type JobLogLine } from '@duly/core';
import type { JobJson } from '@duly/core/internal';
import type { LiveEvent, LiveStream } from './live-stream.ts';
import type { JobWatch } from './open-watch.ts';

/** The place in a stream of one job: what was last told of it, and its last log line. */
export interface JobPlace {
  tag: string | null;
  line: number;
  /** The end of the job was told. */
  isEnd: boolean;
}

/** Reads the place that an event of a job's stream names; one that was never given is the beginning. */
export function readJobPlace(text: string | undefined): JobPlace {
  const [, tag, line, end] = /^([\w-]{22})?\.(\d{1,15})(\.end)?$/.exec(text ?? '') ?? [];
  return { tag: tag ?? null, line: Number(line ?? 0), isEnd: end !== undefined };
}

function placeText({ tag, line, isEnd }: JobPlace): string {
  return `${tag ?? ''}.${line}${isEnd ? '.end' : ''}`;
}

/** A log line as JSON. */
export interface LogLineJson {
  n: number;
  attempt: number;
  at: string;
  level: JobLogLine['level'];
  message: string;
}

/** Turns a log line into JSON. */
export function toLogLineJson({ at, ...line }: JobLogLine): LogLineJson {
  return { ...line, at: at.toISOString() };
}

/**
 * The stream of one job: its status as `GET` shows it whenever it changes, `log` for each new line, and `end` once it is over. Between two
 * events that are taken slowly the job may change more than once; then the last state is told, and it is always told.
 */
export function openJobStream(options: {
  watch: JobWatch;
  after: JobPlace;
  show(job: Job): JobJson;
}): LiveStream {
  const { watch, after, show } = options;
  const place: JobPlace = { ...after, isEnd: false };
  let lines: JobLogLine[] = [];
  let isEnded = false;

  function end(data: unknown): LiveEvent {
    isEnded = true;
    place.isEnd = true;
    watch.close();
    return { event: 'end', id: placeText(place), data: JSON.stringify(data) };
  }

  function logEvent(line: JobLogLine): LiveEvent {
    place.line = line.n;
    return { event: 'log', id: placeText(place), data: JSON.stringify(toLogLineJson(line)) };
  }

  return {
    place: () => null,
    more() {
      const kept = isEnded ? undefined : lines.shift();
      return kept === undefined ? null : logEvent(kept);
    },
    close() {
      isEnded = true;
      watch.close();
    },
    async next() {
      while (!isEnded && !watch.isClosed) {
        try {
          const kept = lines.shift();
          if (kept !== undefined) return logEvent(kept);
          // The state before the lines: the lines that belong to it are told before it.
          const state = watch.state();
          lines = await watch.takeLines();
          if (lines.length > 0) continue;
          if (state.tag !== place.tag) {
            const job = await state.job();
            place.tag = state.tag;
            return { event: null, id: placeText(place), data: JSON.stringify(show(job)) };
          }
          if (state.isOver) return end({ status: (await state.job()).status });
        } catch (error) {
          // It was deleted, or is past its retention.
          return end({ status: null, code: isDulyError(error) ? error.code : 'internal' });
        }
        await watch.changed();
      }
      return null;
    },
  };
}
