import type { JsonText } from '../contract/engine.ts';
import type { ResolvedTask, TaskContext } from './task-definition.ts';

/** Jobs that are about to be created. */
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

/** Follows jobs through a program: notified when jobs are created and when a handler runs. `openTelemetry` creates one. */
export interface Tracing {
  /** Runs `create`, which creates the jobs and stores this text with each of them; null: none. */
  enqueue<Value>(call: TracedEnqueue, create: (traceparent: string | null) => Promise<Value>): Promise<Value>;
  /** Runs the handler. What it returns or throws goes on as it is. */
  attempt<Value>(call: TracedAttempt, run: () => Promise<Value>): Promise<Value>;
}

/** The field of a job's metadata that joins its attempts to the place where it was created. */
export const traceparentField = 'traceparent';

/** Metadata with the trace that created the job. */
export function withTraceparent(metadata: JsonText | null, traceparent: string): JsonText {
  const fields = metadata === null ? {} : (JSON.parse(metadata) as Record<string, unknown>);
  return JSON.stringify({ ...fields, [traceparentField]: traceparent });
}

/** The task whose handler is followed where somebody follows; else the task as it is. */
export function tracedTask(task: ResolvedTask, tracing: Tracing | null): ResolvedTask {
  if (tracing === null) return task;
  return Object.freeze({
    ...task,
    run: (context: TaskContext<unknown>) => {
      const { id, type, queue, metadata } = context.job;
      const created = metadata[traceparentField];
      const traceparent = typeof created === 'string' ? created : null;
      const call = { id, type, queue, attempt: context.attempt, traceparent };
      return tracing.attempt(call, async () => task.run(context));
    },
  });
}

/** Names a span across processes. */
interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote?: boolean;
}

interface Span {
  spanContext(): SpanContext;
  recordException(error: Error): void;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

interface SpanOptions {
  kind: number;
  root?: boolean;
  attributes: Record<string, string | number>;
  links?: { context: SpanContext }[];
}

/** The slice of `@opentelemetry/api` that is used. */
export interface OpenTelemetryApi {
  trace: {
    getTracer(name: string): { startSpan(name: string, options: SpanOptions): Span };
    // biome-ignore lint/suspicious/noExplicitAny: the context of the library is handed back to it and never looked at
    setSpan(context: any, span: any): any;
  };
  context: {
    active(): unknown;
    // biome-ignore lint/suspicious/noExplicitAny: as above
    with<Value>(context: any, fn: () => Value): Value;
  };
  SpanKind: { PRODUCER: number; CONSUMER: number };
  SpanStatusCode: { ERROR: number };
}

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Spans for creating jobs and for attempts, by the `@opentelemetry/api` of the program. An attempt is a trace of its own, since it may be days later, and is
 * linked to the span that created its job.
 *
 * ```ts
 * import * as api from '@opentelemetry/api';
 * const duly = new Duly({ tracing: openTelemetry(api) });
 * ```
 */
export function openTelemetry(api: OpenTelemetryApi): Tracing {
  const { trace, context, SpanKind, SpanStatusCode } = api;

  async function during<Value>(span: Span, fn: () => Promise<Value>): Promise<Value> {
    try {
      return await context.with(trace.setSpan(context.active(), span), fn);
    } catch (error) {
      const shown = error instanceof Error ? error : new Error(String(error));
      span.recordException(shown);
      span.setStatus({ code: SpanStatusCode.ERROR, message: shown.message });
      throw error;
    } finally {
      span.end();
    }
  }

  return {
    enqueue({ type, queue, ids }, create) {
      const span = trace.getTracer('duly').startSpan(`enqueue ${type}`, {
        kind: SpanKind.PRODUCER,
        attributes: {
          'messaging.system': 'duly',
          'messaging.operation.type': 'send',
          'messaging.destination.name': queue,
          'duly.job.type': type,
          ...(ids.length === 1
            ? { 'messaging.message.id': ids[0] as string }
            : { 'messaging.batch.message_count': ids.length }),
        },
      });
      return during(span, () => create(traceparentOf(span.spanContext())));
    },
    attempt({ id, type, queue, attempt, traceparent }, run) {
      const link = contextOf(traceparent);
      const span = trace.getTracer('duly').startSpan(`attempt ${type}`, {
        kind: SpanKind.CONSUMER,
        root: true,
        attributes: {
          'messaging.system': 'duly',
          'messaging.operation.type': 'process',
          'messaging.destination.name': queue,
          'messaging.message.id': id,
          'duly.job.type': type,
          'duly.attempt': attempt,
        },
        ...(link === null ? {} : { links: [{ context: link }] }),
      });
      return during(span, run);
    },
  };
}

/** The form of W3C Trace Context; null where nothing is recorded. */
function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string | null {
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function contextOf(traceparent: string | null): SpanContext | null {
  const [, traceId, spanId, flags] = traceparentPattern.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
