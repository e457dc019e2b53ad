import { deadLetters } from './dead-letters.ts';
import { failureRate } from './failure-rate.ts';
import { failuresInRow } from './failures-in-row.ts';
import { noWorker } from './no-worker.ts';
import { scheduleDeadline } from './schedule-deadline.ts';
import { stuck } from './stuck.ts';
import { waiting } from './waiting.ts';

/** Every kind of alert rule, in the order in which the HTTP schemas, the dashboard and the guide list them. */
export const alertKinds = [
  stuck,
  failureRate,
  failuresInRow,
  scheduleDeadline,
  waiting,
  noWorker,
  deadLetters,
] as const;
