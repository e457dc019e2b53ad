import type { Measure } from '../rounds.ts';
import { calendar } from './calendar.ts';
import { drain } from './drain.ts';
import { enqueue } from './enqueue.ts';
import { forecast } from './forecast.ts';
import { future } from './future.ts';
import { idle } from './idle.ts';
import { latency } from './latency.ts';
import { memory } from './memory.ts';
import { oldTransaction } from './old-transaction.ts';
import { precision } from './precision.ts';
import { schedules } from './schedules.ts';
import { server } from './server.ts';
import { sustained } from './sustained.ts';
import { transaction } from './transaction.ts';
import { virtualYear } from './virtual-year.ts';

/** All measures, in the order of the table. */
export const measures: readonly Measure[] = [
  enqueue,
  drain,
  latency,
  transaction,
  precision,
  schedules,
  future,
  oldTransaction,
  sustained,
  idle,
  memory,
  calendar,
  forecast,
  virtualYear,
  server,
];
