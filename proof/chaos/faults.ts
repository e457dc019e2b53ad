/** The faults of a chaos run. Each does its harm, undoes it, and writes into the history from when to when it held. */
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../packages/core/src/clock.ts';
import type { Random } from '../../packages/core/src/random.ts';
import { scheduleLeaseMs } from '../../packages/core/src/scheduler/fire-pass.ts';
import { freeze, isStopped } from '../../packages/core/test/processes/freeze.ts';
import type { HistoryEvent } from '../history.ts';
import type { Fleet, FleetProcess } from './fleet.ts';
import { type KillPoint, killPointNames } from './kill-points.ts';
import type { Place } from './place.ts';

/** What a fault may touch. */
export interface World {
  fleet: Fleet;
  place: Place;
  /** The database file. */
  file: string;
  leaseMs: number;
  clock: Clock;
  random: Random;
  write(event: HistoryEvent): void;
  now(): number;
}

/** A kind of fault. */
export interface FaultKind {
  name: string;
  /** It is wrong for all processes at once; only kills go on meanwhile. */
  isStoreWide: boolean;
  /** Does the harm and undoes it; answers whether it struck. */
  strike(world: World): Promise<boolean>;
}

// As long as the longest backup that somebody takes in the middle of the day with a shell.
const outsideLockMs = 10_000;
// A point that nobody passes for so long is given up.
const pointPatienceMs = 8_000;
const nodePatienceMs = 4_000;
// How long the disk stays full after the first call has met it, and how long it is waited for that.
const fullMs = 2_500;
const fullPatienceMs = 8_000;

function pick<Item>(world: World, items: readonly Item[]): Item | undefined {
  return items[Math.floor(world.random.next() * items.length)];
}

function freeNodes({ fleet }: World): FleetProcess[] {
  return [...fleet.processes].filter(({ role, isReady, isBusy }) => role === 'node' && isReady && !isBusy);
}

/** Lets a fault have a process for as long as it needs it. */
async function withNode(world: World, harm: (one: FleetProcess) => Promise<boolean>): Promise<boolean> {
  const sinceElapsed = world.clock.elapsed();
  let one = pick(world, freeNodes(world));
  // Others may have them all, or they are about to be started again.
  while (one === undefined && world.clock.elapsed() - sinceElapsed < nodePatienceMs) {
    await world.clock.sleep(50);
    one = pick(world, freeNodes(world));
  }
  if (one === undefined) return false;
  one.isBusy = true;
  try {
    return await harm(one);
  } finally {
    one.isBusy = false;
  }
}

async function kill(world: World, one: FleetProcess): Promise<boolean> {
  one.child.kill('SIGKILL');
  await world.fleet.ended(one);
  return true;
}

/** Lets whoever of some nodes first passes the point die there. */
async function killAt(world: World, point: KillPoint): Promise<boolean> {
  const { fleet, clock } = world;
  const sinceElapsed = clock.elapsed();
  const told = new Set<FleetProcess>();
  // Whoever comes first has the reap; of the rest some must stay for the other faults.
  const countMax = point === 'after reap' ? Number.POSITIVE_INFINITY : 2;
  let nextVictimElapsed = sinceElapsed;
  const isHit = () => [...told].some((one) => !fleet.processes.has(one));
  while (!isHit() && clock.elapsed() - sinceElapsed < pointPatienceMs) {
    for (const one of freeNodes(world).slice(0, Math.max(0, countMax - told.size))) {
      one.isBusy = true;
      told.add(one);
      fleet.send(one, { kind: 'end', at: point, signal: 'SIGKILL' });
    }
    // There must be something to reap; one that held no lease leaves nothing.
    if (point === 'after reap' && told.size > 1 && clock.elapsed() >= nextVictimElapsed) {
      const victim = pick(world, [...told]) as FleetProcess;
      told.delete(victim);
      nextVictimElapsed = clock.elapsed() + world.leaseMs * 1.5;
      await kill(world, victim);
    }
    await clock.sleep(20);
  }
  const hasStruck = isHit();
  for (const one of told) {
    fleet.send(one, { kind: 'end', at: null, signal: 'SIGKILL' });
    one.isBusy = false;
  }
  return hasStruck;
}

/** Lets a node stop by itself at a point, and go on once others have taken over what it held. */
async function stopAt(world: World, one: FleetProcess, point: KillPoint): Promise<boolean> {
  const { fleet, clock } = world;
  const sinceElapsed = clock.elapsed();
  fleet.send(one, { kind: 'end', at: point, signal: 'SIGSTOP' });
  const isThere = () => fleet.processes.has(one);
  while (isThere() && !isStopped(one.child.pid as number)) {
    if (clock.elapsed() - sinceElapsed > pointPatienceMs) {
      fleet.send(one, { kind: 'end', at: null, signal: 'SIGSTOP' });
      // It may have come by just now.
      one.child.kill('SIGCONT');
      return false;
    }
    await clock.sleep(10);
  }
  return isThere() && stop(world, one, () => {});
}

/** Stops a process for longer than its leases and lets it go on. */
async function stop(world: World, one: FleetProcess, halt: () => void): Promise<boolean> {
  halt();
  world.write({ kind: 'node', at: world.now(), node: one.node, state: 'paused' });
  const fromAt = world.now();
  const isLocked = !canWrite(world.file);
  // Longer than the lease of a schedule that it was about to decide, too.
  await world.clock.sleep(Math.max(world.leaseMs, scheduleLeaseMs) * (1.3 + world.random.next() / 2));
  one.child.kill('SIGCONT');
  world.write({ kind: 'node', at: world.now(), node: one.node, state: 'resumed' });
  // It was stopped in the middle of a commit, and nobody could write.
  if (isLocked) tellStoreWide(world, 'store-locked', fromAt, `by ${one.node}, stopped inside a commit`);
  return true;
}

function canWrite(file: string): boolean {
  const db = new DatabaseSync(file, { timeout: 100 });
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return true;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

function tellStoreWide(world: World, fault: string, fromAt: number, detail: string): void {
  world.write({ kind: 'fault', at: fromAt, node: '*', fault, untilAt: world.now(), detail });
}

/** Holds the write lock from outside, as a shell with an open transaction does. */
async function lockFromOutside(world: World, forMs: number): Promise<boolean> {
  const db = new DatabaseSync(world.file, { timeout: 5_000 });
  try {
    db.exec(world.random.next() < 0.5 ? 'BEGIN IMMEDIATE' : 'BEGIN EXCLUSIVE');
    const fromAt = world.now();
    await world.clock.sleep(forMs);
    db.exec('ROLLBACK');
    tellStoreWide(world, 'store-locked', fromAt, `from outside for ${forMs} ms`);
    return true;
  } finally {
    db.close();
  }
}

/** Fills the disk until calls have failed of it and some time more. */
async function fillDisk(world: World): Promise<boolean> {
  const { fleet, clock, place } = world;
  const metCount = () =>
    [...fleet.failures]
      .filter(([failure]) => /: store_(full|unavailable)$/.test(failure))
      .reduce((sum, [, count]) => sum + count, 0);
  const before = metCount();
  const fromAt = world.now();
  const pids = [...fleet.processes].map(({ child }) => child.pid as number);
  const undo = place.fill(pids);
  const sinceElapsed = clock.elapsed();
  while (metCount() === before && clock.elapsed() - sinceElapsed < fullPatienceMs) await clock.sleep(50);
  const isMet = metCount() > before;
  if (isMet) await clock.sleep(fullMs);
  undo();
  tellStoreWide(world, 'disk-full', fromAt, `by ${place.how}`);
  return isMet;
}

async function withClient(world: World, harm: (one: FleetProcess) => Promise<boolean>): Promise<boolean> {
  const one = [...world.fleet.processes].find(({ role, isReady }) => role === 'client' && isReady);
  return one === undefined ? false : harm(one);
}

/** Every kind of fault. */
export const faultKinds: readonly FaultKind[] = [
  ...killPointNames.map(
    (point): FaultKind => ({
      name: `kill -9 ${point}`,
      isStoreWide: false,
      strike: (world) => killAt(world, point),
    }),
  ),
  {
    name: 'kill -9 at random',
    isStoreWide: false,
    strike: (world) => withNode(world, (one) => kill(world, one)),
  },
  {
    name: 'kill -9 of the client',
    isStoreWide: false,
    strike: (world) => withClient(world, (one) => kill(world, one)),
  },
  {
    name: 'kill -9 of the client after its enqueue took effect',
    isStoreWide: false,
    strike: (world) =>
      withClient(world, async (one) => {
        world.fleet.send(one, { kind: 'die-after-enqueue' });
        await world.fleet.ended(one);
        return true;
      }),
  },
  ...(['between plan and fire', 'before settle', 'after claim'] as const).map(
    (point): FaultKind => ({
      name: `SIGSTOP ${point}, past the lease, SIGCONT`,
      // Its other thread may be inside a commit.
      isStoreWide: true,
      strike: (world) => withNode(world, (one) => stopAt(world, one, point)),
    }),
  ),
  {
    name: 'SIGSTOP past the lease, SIGCONT',
    isStoreWide: false,
    strike: (world) => withNode(world, (one) => stop(world, one, () => freeze(one.child, world.file))),
  },
  {
    name: 'SIGSTOP wherever it is, SIGCONT',
    // It may be inside a commit, and then nobody can write.
    isStoreWide: true,
    strike: (world) => withNode(world, (one) => stop(world, one, () => one.child.kill('SIGSTOP'))),
  },
  {
    name: 'event loop blocked for twice the lease',
    isStoreWide: false,
    strike: (world) =>
      withNode(world, async (one) => {
        const forMs = 2 * world.leaseMs;
        const at = world.now();
        world.fleet.send(one, { kind: 'block', forMs });
        await world.clock.sleep(forMs);
        // Under its own name, for it is no excuse to lose a lease: another thread renews them.
        const untilAt = world.now();
        world.write({ kind: 'fault', at, node: one.name, fault: 'blocked', untilAt, detail: one.node });
        return one.child.exitCode === null;
      }),
  },
  { name: 'full disk', isStoreWide: true, strike: fillDisk },
  {
    name: 'file locked by another program for 10 s',
    isStoreWide: true,
    strike: (world) => lockFromOutside(world, outsideLockMs),
  },
  {
    name: 'file locked by another program for half a lease',
    isStoreWide: true,
    strike: (world) => lockFromOutside(world, world.leaseMs / 2),
  },
];
