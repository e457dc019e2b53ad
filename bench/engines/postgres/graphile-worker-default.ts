import type { ContestantModule } from '../../contestant.ts';
import { createGraphileWorker } from './graphile-worker.ts';

/** See `ContestantModule`: as it comes. */
export const createContestant: ContestantModule['createContestant'] = (place) =>
  createGraphileWorker(place, {});
