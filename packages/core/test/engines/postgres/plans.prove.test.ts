import { test } from 'node:test';
import { expectSteadyPlans } from './plans.ts';

test('a session that planned on an empty store reads no more pages when the store holds a million jobs', () =>
  expectSteadyPlans({ leases: 300_000, jobs: 1_000_000, schedules: 100_000 }));
