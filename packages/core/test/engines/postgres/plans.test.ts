import { test } from 'node:test';
import { expectSteadyPlans } from './plans.ts';

test('a session that planned on an empty store reads no more pages when the store is full', () =>
  expectSteadyPlans({ leases: 60_000, jobs: 150_000, schedules: 30_000 }));
