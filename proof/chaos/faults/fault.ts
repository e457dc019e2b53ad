/** What a fault is, and what it may touch. */
import type { Clock } from '../../../packages/core/src/base/clock.ts';
import type { Random } from '../../../packages/core/src/base/random.ts';
import type { HistoryEvent } from '../../history.ts';
import type { Fleet, FleetProcess } from '../fleet.ts';
import { noWrites } from '../health-reports-truth.ts';

/** What a fault may touch. */
export interface World {
  fleet: Fleet;
  leaseMs: number;
  clock: Clock;
  random: Random;
  write(event: HistoryEvent): void;
  now(): number;
  /** Something that must hold during a fault did not. */
  fail(invariant: string, message: string): void;
  /** What the fault waits for now: told if it does not come. */
  waitsFor(what: string): void;
}

/** A kind of fault. Each does its harm, undoes it, and writes into the history from when to when it held. */
export interface FaultKind {
  name: string;
  /** It is wrong for all processes at once; only kills go on meanwhile. */
  isStoreWide: boolean;
  /** Does the harm and undoes it; answers whether it struck. */
  strike(world: World): Promise<boolean>;
}

// Other faults may have all nodes, each for as long as it waits for its point.
const nodePatienceMs = 12_000;

/** One of them, by chance. */
export function pick<Item>({ random }: World, items: readonly Item[]): Item | undefined {
  return items[Math.floor(random.next() * items.length)];
}

/** Nodes that no fault has. */
export function freeNodes({ fleet }: World): FleetProcess[] {
  return [...fleet.processes].filter(({ role, isReady, isBusy }) => role === 'node' && isReady && !isBusy);
}

/** Lets a fault have a process for as long as it needs it. */
export async function withNode(
  world: World,
  harm: (one: FleetProcess) => Promise<boolean>,
): Promise<boolean> {
  const sinceElapsed = world.clock.elapsed();
  let one = pick(world, freeNodes(world));
  world.waitsFor('a node that no other fault has');
  // Others may have them all, or they are about to be started again.
  while (one === undefined && world.clock.elapsed() - sinceElapsed < nodePatienceMs) {
    await world.clock.sleep(50);
    one = pick(world, freeNodes(world));
  }
  if (one === undefined) return false;
  world.waitsFor(`what it does to ${one.name}`);
  one.isBusy = true;
  try {
    return await harm(one);
  } finally {
    one.isBusy = false;
  }
}

/** Lets a fault have the client. */
export async function withClient(
  world: World,
  harm: (one: FleetProcess) => Promise<boolean>,
): Promise<boolean> {
  const one = [...world.fleet.processes].find(({ role, isReady }) => role === 'client' && isReady);
  return one === undefined ? false : harm(one);
}

/**
 * Writes down that nobody, or one process, could have a write confirmed from then until now. Called when the harm was done and before it is
 * undone, so that whoever says meanwhile that all is well is wrong.
 */
export function reportNoWrites(world: World, node: string, fromAt: number): void {
  world.write({ kind: 'fault', at: fromAt, node, fault: noWrites, untilAt: world.now() });
}

/** Writes down that something was wrong for all, from then until now. */
export function reportStoreWide(world: World, fault: string, fromAt: number, detail: string): void {
  world.write({ kind: 'fault', at: fromAt, node: '*', fault, untilAt: world.now(), detail });
}
