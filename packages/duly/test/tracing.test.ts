import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trace } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { tracingOf } from '../src/node/tracing.ts';

test('a node follows jobs if an SDK was started before it, and does nothing otherwise', async (t) => {
  assert.deepEqual(await tracingOf(), {});
  trace.setGlobalTracerProvider(new BasicTracerProvider());
  t.after(() => trace.disable());
  assert.deepEqual(Object.keys((await tracingOf()).tracing ?? {}), ['enqueue', 'attempt']);
});
