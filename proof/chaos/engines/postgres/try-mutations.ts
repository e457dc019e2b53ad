/** Runs with a defect in the store, and tells which invariants found it. */
import { runChaos } from '../../chaos.ts';
import { createPostgresGround } from './ground.ts';
import { mutate, mutations } from './mutations.ts';

/** Tries each defect whose name matches; answers whether all were caught by the invariants that should. */
export async function tryMutations(options: {
  minutes: number;
  seed: number;
  only: RegExp | undefined;
}): Promise<boolean> {
  const { minutes, seed, only = /./ } = options;
  let areCaught = true;
  for (const mutation of mutations) {
    const { name, faults, caughtBy } = mutation;
    if (!only.test(name)) continue;
    const found = await runChaos({
      ...{ minutes, seed, only: faults, ground: createPostgresGround },
      prepare: (store) => mutate(store, mutation),
    }).then(
      ({ violations }) => violations.map(({ invariant }) => invariant),
      // A store that is so broken that nothing can go on is found, too, but not by whom it should be.
      (error: Error) => [`could not go on: ${error.message.slice(0, 200)}`],
    );
    const isCaught = found.some((one) => caughtBy.includes(one));
    areCaught &&= isCaught;
    console.log(`${isCaught ? 'caught' : 'MISSED'}  ${name}: ${[...new Set(found)].join(', ') || 'nothing'}`);
  }
  return areCaught;
}
