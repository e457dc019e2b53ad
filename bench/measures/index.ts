import type { Measure } from '../rounds.ts';
import { calendar } from './calendar.ts';
import { drain } from './drain.ts';
import { enqueue } from './enqueue.ts';
import { latency } from './latency.ts';
import { virtualYear } from './virtual-year.ts';

/** All measures, in the order of the table. */
export const measures: readonly Measure[] = [enqueue, drain, latency, calendar, virtualYear];
