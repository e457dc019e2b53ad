/** What can be done to processes, whatever they store in: killed, stopped, blocked. */
import { scheduleLeaseMs } from '../../../packages/core/src/schedules/schedule-lease.ts';
import { isStopped } from '../../../packages/core/test/processes/freeze.ts';
import type { FleetProcess } from '../fleet.ts';
import type { Ground } from '../ground.ts';
import { type KillPoint, killPointNames } from '../kill-points.ts';
import {
  type FaultKind,
  freeNodes,
  pick,
  reportStoreWide,
  type World,
  withClient,
  withNode,
} from './fault.ts';

// A point that nobody passes for so long is given up.
const pointPatienceMs = 8_000;

async function kill(world: World, one: FleetProcess): Promise<boolean> {
  world.waitsFor(`the end of ${one.name}`);
  one.child.kill('SIGKILL');
  await world.fleet.ended(one);
  return true;
}

/** Lets whoever of some nodes first passes the point die there. */
async function killAt(world: World, point: KillPoint): Promise<boolean> {
  const { fleet, clock } = world;
  const sinceElapsed = clock.elapsed();
  world.waitsFor(`somebody to pass "${point}"`);
  const reported = new Set<FleetProcess>();
  // Whoever comes first has the reap; of the rest some must stay for the other faults.
  const countMax = point === 'after reap' ? Number.POSITIVE_INFINITY : 2;
  let nextVictimElapsed = sinceElapsed;
  const isHit = () => [...reported].some((one) => !fleet.processes.has(one));
  while (!isHit() && clock.elapsed() - sinceElapsed < pointPatienceMs) {
    for (const one of freeNodes(world).slice(0, Math.max(0, countMax - reported.size))) {
      one.isBusy = true;
      reported.add(one);
      fleet.send(one, { kind: 'end', at: point, signal: 'SIGKILL' });
    }
    // There must be something to reap; one that held no lease leaves nothing.
    if (point === 'after reap' && reported.size > 1 && clock.elapsed() >= nextVictimElapsed) {
      const victim = pick(world, [...reported]) as FleetProcess;
      reported.delete(victim);
      nextVictimElapsed = clock.elapsed() + world.leaseMs * 1.5;
      await kill(world, victim);
    }
    await clock.sleep(20);
  }
  const hasStruck = isHit();
  for (const one of reported) {
    fleet.send(one, { kind: 'end', at: null, signal: 'SIGKILL' });
    one.isBusy = false;
  }
  return hasStruck;
}

/** Lets a node stop by itself at a point, and go on once others have taken over what it held. */
async function stopAt(world: World, ground: Ground, one: FleetProcess, point: KillPoint): Promise<boolean> {
  const { fleet, clock } = world;
  const sinceElapsed = clock.elapsed();
  world.waitsFor(`${one.name} to pass "${point}"`);
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
  return isThere() && stop(world, ground, one, () => {});
}

/** Stops a process for longer than its leases and lets it go on. */
async function stop(world: World, ground: Ground, one: FleetProcess, halt: () => void): Promise<boolean> {
  halt();
  world.write({ kind: 'node', at: world.now(), node: one.node, state: 'paused' });
  const fromAt = world.now();
  const isLocked = !ground.canWrite();
  // Longer than the lease of a schedule that it was about to decide, too.
  await world.clock.sleep(Math.max(world.leaseMs, scheduleLeaseMs) * (1.3 + world.random.next() / 2));
  one.child.kill('SIGCONT');
  world.write({ kind: 'node', at: world.now(), node: one.node, state: 'resumed' });
  // It was stopped in the middle of a commit, and nobody could write.
  if (isLocked) reportStoreWide(world, 'store-locked', fromAt, `by ${one.node}, stopped inside a commit`);
  return true;
}

/** Every kind of fault that processes can have. */
export function processFaults(ground: Ground): FaultKind[] {
  return [
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
    ...(['after enqueue', 'in a transaction', 'after a commit'] as const).map(
      (at): FaultKind => ({
        name: `kill -9 of the client ${at}`,
        isStoreWide: false,
        strike: (world) =>
          withClient(world, async (one) => {
            world.waitsFor(`${one.name} to die "${at}"`);
            world.fleet.send(one, { kind: 'die', at });
            await world.fleet.ended(one);
            return true;
          }),
      }),
    ),
    ...(['between plan and fire', 'before settle', 'after claim'] as const).map(
      (point): FaultKind => ({
        name: `SIGSTOP ${point}, past the lease, SIGCONT`,
        // Its other thread may be inside a commit.
        isStoreWide: ground.stopMayLock,
        strike: (world) => withNode(world, (one) => stopAt(world, ground, one, point)),
      }),
    ),
    {
      name: 'SIGSTOP past the lease, SIGCONT',
      isStoreWide: false,
      strike: (world) => withNode(world, (one) => stop(world, ground, one, () => ground.freeze(one.child))),
    },
    {
      name: 'SIGSTOP wherever it is, SIGCONT',
      // It may be inside a commit, and then nobody can write.
      isStoreWide: ground.stopMayLock,
      strike: (world) => withNode(world, (one) => stop(world, ground, one, () => one.child.kill('SIGSTOP'))),
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
  ];
}
