import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as library from '../src/index.ts';
import * as testing from '../src/testing/index.ts';

test('what is public is what is listed here: a new name is a decision', () => {
  assert.deepEqual(Object.keys(library).sort(), [
    'Duly',
    'DulyError',
    'abandonMove',
    'builtInTask',
    'capacity',
    'defaultStore',
    'durationMsMax',
    'errorCodes',
    'explain',
    'formatDuration',
    'formatInstant',
    'internalQueue',
    'isDulyError',
    'isTerminal',
    'jobStatuses',
    'jobTransitions',
    'moveStore',
    'openTelemetry',
    'parseDuration',
    'parseInstant',
    'preview',
    'previous',
    'readMoment',
    'resolveRule',
    'roles',
    'systemClock',
    'terminalStatuses',
  ]);
  assert.deepEqual(Object.keys(testing).sort(), ['TestDuly', 'createManualClock', 'createTestDuly']);
});

test('everything is exported by name', () => {
  for (const file of ['../src/index.ts', '../src/testing/index.ts']) {
    assert.doesNotMatch(readFileSync(join(import.meta.dirname, file), 'utf8'), /export \*/);
  }
});
