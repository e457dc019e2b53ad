import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const comesToRest: Invariant = {
  name: 'comes-to-rest',
  promise: 'When nothing more is asked and nothing is wrong, the nodes come to rest.',
  check({ restless }, _facts, exercise) {
    exercise();
    return restless === undefined ? [] : [{ subjects: [], message: `Did not come to rest: ${restless}.` }];
  },
};
