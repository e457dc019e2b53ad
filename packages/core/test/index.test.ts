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
    'builtInPrefix',
    'builtInTask',
    'callbackField',
    'callbacksRecord',
    'capacity',
    'commandTaskName',
    'defaultStore',
    'durationMsMax',
    'errorCodes',
    'examineStore',
    'explain',
    'formatDuration',
    'formatInstant',
    'fromDefinitionJson',
    'httpTaskName',
    'internalQueue',
    'isDulyError',
    'isTerminal',
    'jobStatuses',
    'jobTransitions',
    'localText',
    'moveStore',
    'nearest',
    'openEngine',
    'openStore',
    'openTelemetry',
    'parseDuration',
    'parseInstant',
    'parseStoreAddress',
    'pauseOf',
    'preview',
    'previous',
    'quietLogger',
    'readMoment',
    'readSchemaStatus',
    'resolveRule',
    'roles',
    'shadowTaskName',
    'snakeName',
    'systemClock',
    'taskFormKind',
    'terminalStatuses',
    'toAttemptJson',
    'toComingSlotJson',
    'toDeclaredTaskJson',
    'toDefinitionJson',
    'toJobJson',
    'toLedgerJson',
    'toScheduleJson',
    'toSnakeCase',
    'withoutPassword',
  ]);
  assert.deepEqual(Object.keys(testing).sort(), ['TestDuly', 'createManualClock', 'createTestDuly']);
});

test('everything is exported by name', () => {
  for (const file of ['../src/index.ts', '../src/testing/index.ts']) {
    assert.doesNotMatch(readFileSync(join(import.meta.dirname, file), 'utf8'), /export \*/);
  }
});
