/** Worlds in which many quick jobs come at once, so that claims and outcomes travel in lists, and some of an outcome's company is lost. */
import type { ScheduleDefinition } from '../../packages/core/src/schedules/definition/definition.ts';
import { plainCreate } from './plain-create.ts';
import type { Script, Step } from './script.ts';
import type { Dice } from './world.ts';

const second = 1_000;
// What the ordinary script may still do beside the bursts: a world costs about the same as one without them.
const ordinaryCountMax = 3;

/** Makes a script one of bursts: fewer schedules and calls, nodes with many places, and faults that meet many jobs on the way. */
export function withBursts(script: Script, dice: Dice): Script {
  const { leaseMs } = script;
  const lastsMs = dice.between(20, 30) * second;
  const puts = script.steps.filter((step) => step.do === 'put').slice(0, 1);
  const others = script.steps.filter(
    ({ do: what }) => what === 'create' || what === 'cancel' || what === 'lock',
  );
  const steps: Step[] = [...puts, ...others.slice(0, ordinaryCountMax)];
  for (let i = dice.between(1, 2); i > 0; i--) {
    const atMs = second + dice.below(lastsMs - 12 * second);
    steps.push(...drawBurst(dice, atMs, leaseMs));
  }
  if (dice.chance(0.5)) steps.push(...drawAwaited(dice));
  steps.sort((one, other) => one.atMs - other.atMs);
  return {
    ...script,
    lastsMs,
    nodes: script.nodes.slice(0, 3).map((node) => ({ ...node, concurrency: dice.between(8, 16) })),
    steps,
  };
}

// From four on outcomes are written in a list; one or two may be taken by another node.
const awaitedCount = 6;

/** Schedules whose runs begin and end together, each with something that waits for its end: the next run behind a gate, or the schedule itself. */
function drawAwaited(dice: Dice): Step[] {
  const atMs = dice.below(second);
  const by = dice.below(1_000);
  const isBuffered = dice.chance(0.5);
  // Each run is still on its way when the next slot comes.
  const ms = isBuffered ? dice.one([5_000, 6_000]) : dice.one([500, 1_500]);
  const input = { call: null, ms, failures: 0 };
  const rule = isBuffered
    ? ({ rate: 4 * second, anchor: 'epoch', overlap: 'bufferOne' } as const)
    : { delay: 4 * second };
  return Array.from({ length: awaitedCount }, (_, i): Step => {
    const definition: ScheduleDefinition = { type: 'steady', name: `awaited${i}`, ...rule, input };
    return { atMs, by, do: 'put', definition };
  });
}

/** Jobs that end together, and what goes wrong while they run. */
function drawBurst(dice: Dice, atMs: number, leaseMs: number): Step[] {
  const ms = dice.one([0, 300, 1_500, 4_000]);
  const create: Step = {
    ...plainCreate,
    atMs,
    by: dice.below(1_000),
    task: ms === 0 ? 'quick' : 'steady',
    delayMs: dice.chance(0.3) ? dice.between(1, 3) * second : null,
    isInstant: true,
    ms,
    count: dice.between(20, 60),
  };
  // More urgent ones that come while the others wait.
  const urgent: Step[] = dice.chance(0.5)
    ? [{ ...create, atMs: atMs + dice.below(30), priority: 1, count: dice.between(5, 15) }]
    : [];
  const beginsMs = atMs + (create.delayMs ?? 0);
  const fault = (): Step => {
    const base = { atMs: beginsMs + dice.below(ms + 50), by: dice.below(1_000) };
    switch (dice.below(5)) {
      case 0:
        return { ...base, do: 'crash' };
      case 1:
        return {
          ...base,
          // From before the burst, so that the answers to its first claims are among what is lost.
          atMs: Math.max(0, beginsMs - 100),
          do: 'weather',
          forMs: ms + 5 * second,
          weather: {
            replyLost: dice.one([0.1, 0.3]),
            slow: dice.one([0, 0.1, 0.3]),
            crash: dice.one([0, 0.01]),
            notificationLost: 0,
          },
        };
      default:
        // Past the lease, and back while others run what was taken from it.
        return { ...base, do: 'freeze', forMs: leaseMs + 200 + dice.below(ms + 2 * second) };
    }
  };
  return [create, ...urgent, ...Array.from({ length: dice.between(1, 3) }, fault)];
}
