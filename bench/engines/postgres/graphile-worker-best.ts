import type { ContestantModule } from '../../contestant.ts';
import { createGraphileWorker } from './graphile-worker.ts';

/** See `ContestantModule`: with what its page on performance advises for many short jobs. */
export const createContestant: ContestantModule['createContestant'] = (place) =>
  createGraphileWorker(place, {
    concurrentJobs: 24,
    preset: {
      worker: { localQueue: { size: 2_000 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
    },
  });
