// The process of one contestant: loads its module and does what the harness asks.
import type { Contestant, ContestantModule, ContestantPlace } from './contestant.ts';
import { leaveSignalsToHarness } from './interruption.ts';
import type { FromChild, ToChild } from './session.ts';

const [module, place] = process.argv.slice(2) as [string, string];
const report = (message: FromChild) => process.send?.(message);

leaveSignalsToHarness();
let contestant: Contestant;
try {
  const { createContestant } = (await import(module)) as ContestantModule;
  contestant = await createContestant(JSON.parse(place) as ContestantPlace);
  contestant.processorMs = async () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  report({ kind: 'ready', abilities: Object.keys(contestant) });
} catch (error) {
  report({ kind: 'refused', reason: error instanceof Error ? error.message : String(error) });
  process.disconnect?.();
}

process.on('message', async ({ id, ability, args }: ToChild) => {
  try {
    const call = contestant[ability] as (...args: unknown[]) => Promise<unknown>;
    report({ kind: 'answer', id, value: await call.apply(contestant, args) });
  } catch (error) {
    report({
      kind: 'failed',
      id,
      reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
  if (ability === 'close') process.disconnect?.();
});
