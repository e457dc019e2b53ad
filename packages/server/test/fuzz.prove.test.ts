import { test } from 'node:test';
import { fuzzServer } from './fuzz.ts';

test('random requests find no failure, on SQLite', { timeout: 120_000 }, fuzzServer);
