import type { JsonText } from '../contract/engine.ts';

/** Jobs that are about to be made. */
export interface TracedEnqueue {
  type: string;
  queue: string;
  ids: readonly string[];
}

/** A handler that is about to be entered. */
export interface TracedAttempt {
  id: string;
  type: string;
  queue: string;
  attempt: number;
  /** What `enqueue` had kept with the job; null: nothing. */
  traceparent: string | null;
}

/** Follows promises through a program: told when jobs are made and when a handler runs. `openTelemetry` makes one. */
export interface Tracing {
  /** Runs `make`, which makes the jobs and keeps this text with each of them; null: none. */
  enqueue<Value>(call: TracedEnqueue, create: (traceparent: string | null) => Promise<Value>): Promise<Value>;
  /** Runs the handler. What it returns or throws goes on as it is. */
  attempt<Value>(call: TracedAttempt, run: () => Promise<Value>): Promise<Value>;
}

/** The field of a job's metadata that joins its attempts to the place where it was made. */
export const traceparentField = 'traceparent';

/** Metadata with the trace that made the job. */
export function withTraceparent(metadata: JsonText | null, traceparent: string): JsonText {
  const fields = metadata === null ? {} : (JSON.parse(metadata) as Record<string, unknown>);
  return JSON.stringify({ ...fields, [traceparentField]: traceparent });
}
