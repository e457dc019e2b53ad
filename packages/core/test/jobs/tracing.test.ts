import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { type TestContext, test } from 'node:test';
import * as api from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { openTelemetry } from '../../src/index.ts';
import { createTestDuly } from '../../src/testing/index.ts';

/** What Node's own SDK registers: the context follows awaits. */
const storage = new AsyncLocalStorage<api.Context>();
const contexts: api.ContextManager = {
  active: () => storage.getStore() ?? api.ROOT_CONTEXT,
  with: (context, fn, thisArg, ...args) => storage.run(context, () => fn.call(thisArg as never, ...args)),
  bind: (_, target) => target,
  enable: () => contexts,
  disable: () => contexts,
};

function setup(t: TestContext) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  api.trace.setGlobalTracerProvider(provider);
  api.context.setGlobalContextManager(contexts);
  const duly = createTestDuly({ tracing: openTelemetry(api) });
  t.after(async () => {
    await duly.stop();
    api.trace.disable();
    api.context.disable();
  });
  const spans = (name: string): ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.name === name);
  return { duly, spans };
}

test('an attempt is a trace of its own, linked to the span that made its job', async (t) => {
  const { duly, spans } = setup(t);
  const inner = duly.task({ name: 'inner', run: () => {} });
  const task = duly.task({
    name: 'render',
    run: async () => {
      api.trace.getTracer('app').startSpan('inside').end();
      await inner.now();
    },
  });
  const request = api.trace.getTracer('app').startSpan('request');
  const job = await api.context.with(api.trace.setSpan(api.context.active(), request), () =>
    task.now(1, { metadata: { own: true } }),
  );
  request.end();
  await duly.runDue();
  const [enqueued] = spans('enqueue render');
  const [attempted] = spans('attempt render');
  assert.ok(enqueued && attempted);
  // Made inside the request, run apart from it.
  assert.equal(enqueued.parentSpanContext?.spanId, request.spanContext().spanId);
  assert.equal(enqueued.kind, api.SpanKind.PRODUCER);
  assert.equal(enqueued.attributes['messaging.message.id'], job.id);
  assert.equal(attempted.parentSpanContext, undefined);
  assert.notEqual(attempted.spanContext().traceId, enqueued.spanContext().traceId);
  assert.equal(attempted.kind, api.SpanKind.CONSUMER);
  assert.deepEqual(
    attempted.links.map(({ context }) => [context.traceId, context.spanId]),
    [[enqueued.spanContext().traceId, enqueued.spanContext().spanId]],
  );
  assert.equal(attempted.attributes['duly.attempt'], 1);
  // What happens in the handler is part of the attempt, and so are the jobs that it makes.
  const attemptId = attempted.spanContext().spanId;
  assert.equal(spans('inside')[0]?.parentSpanContext?.spanId, attemptId);
  assert.equal(spans('enqueue inner')[0]?.parentSpanContext?.spanId, attemptId);
  const { metadata } = await job.get();
  assert.equal(metadata.own, true);
  assert.match(String(metadata.traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
});

test('each attempt has a span, those that fail say so, and many jobs are created under one', async (t) => {
  const { duly, spans } = setup(t);
  const task = duly.task({
    name: 'flaky',
    retry: { attempts: 2, delay: '1s', jitter: 0 },
    run: ({ attempt }) => {
      if (attempt === 1) throw new Error('no luck');
    },
  });
  await task.nowMany([1, 2]);
  await duly.advance('1m');
  assert.equal(spans('enqueue flaky').length, 1);
  assert.equal(spans('enqueue flaky')[0]?.attributes['messaging.batch.message_count'], 2);
  const attempts = spans('attempt flaky');
  assert.equal(attempts.length, 4);
  const failed = attempts.filter(({ status }) => status.code === api.SpanStatusCode.ERROR);
  assert.equal(failed.length, 2);
  assert.equal(failed[0]?.status.message, 'no luck');
  assert.ok(attempts.every(({ links }) => links.length === 1));
});

test('where nothing is recorded, nothing is kept with the job', async (t) => {
  const duly = createTestDuly({ tracing: openTelemetry(api) });
  t.after(() => duly.stop());
  const task = duly.task({ name: 'plain', run: () => 'made' });
  const job = await task.now();
  await duly.runDue();
  const { metadata, result } = await job.get();
  assert.deepEqual([metadata, result], [{}, 'made']);
});
