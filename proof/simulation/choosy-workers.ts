/** Worlds in which not every worker handles every job: some take from one queue only, and some have an older version of the tasks. */
import { plainCreate } from './plain-create.ts';
import type { Script, Step } from './script.ts';
import type { TaskName } from './tasks.ts';
import type { Dice } from './world.ts';

const second = 1_000;
const newer: Partial<Record<TaskName, number>> = { quick: 2, steady: 2, slow: 2 };

/** Gives the nodes what they handle, and jobs of every sort. The first handles all of it, so that nothing waits for ever. */
export function withChoosyWorkers(script: Script, dice: Dice): Script {
  const nodes = script.nodes.map((node, i) => {
    const queues = i === 0 ? null : i === 1 ? ['default'] : i === 2 ? ['side'] : dice.one([null, ['side']]);
    const versionOf = i === 0 || (i > 1 && dice.chance(0.5)) ? newer : {};
    // What a release declares is made by the version that its nodes have; here nodes of one release have several.
    return { ...node, release: null, queues, versionOf };
  });
  const creates = Array.from({ length: dice.between(12, 20) }, (): Step => {
    const task = dice.one(['quick', 'quick', 'steady', 'slow'] as const);
    return {
      ...plainCreate,
      atMs: second + dice.below(script.lastsMs - second),
      by: dice.below(1_000),
      task,
      delayMs: dice.one([null, null, 2_000]),
      ms: dice.one([100, 1_000, 4_000]),
      queue: dice.one([null, 'side']),
      count: dice.between(1, 3),
    };
  });
  const steps = [...script.steps, ...creates].sort((one, other) => one.atMs - other.atMs);
  return { ...script, nodes, declared: {}, steps };
}
