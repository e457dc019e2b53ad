/** What can be done to a file from outside: locked by another program, or without space to grow. */
import { DatabaseSync } from 'node:sqlite';
import { type FaultKind, reportNoWrites, reportStoreWide, type World } from '../../faults/fault.ts';
import type { Place } from './place.ts';

// As long as the longest backup that somebody takes in the middle of the day with a shell.
const outsideLockMs = 10_000;
// How long the disk stays full after the first call has met it, and how long it is waited for that.
const fullMs = 2_500;
const fullPatienceMs = 8_000;

/** Holds the write lock from outside, as a shell with an open transaction does. */
async function lockFromOutside(world: World, file: string, forMs: number): Promise<boolean> {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  try {
    db.exec(world.random.next() < 0.5 ? 'BEGIN IMMEDIATE' : 'BEGIN EXCLUSIVE');
    const fromAt = world.now();
    await world.clock.sleep(forMs);
    reportNoWrites(world, '*', fromAt);
    db.exec('ROLLBACK');
    reportStoreWide(world, 'store-locked', fromAt, `from outside for ${forMs} ms`);
    return true;
  } finally {
    db.close();
  }
}

/** Fills the disk until calls have failed of it and some time more. */
async function fillDisk(world: World, place: Place): Promise<boolean> {
  const { fleet, clock } = world;
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
  reportStoreWide(world, 'disk-full', fromAt, `by ${place.how}`);
  return isMet;
}

/** Every kind of fault of a file. */
export function fileFaults(file: string, place: Place): FaultKind[] {
  return [
    { name: 'full disk', isStoreWide: true, strike: (world) => fillDisk(world, place) },
    {
      name: 'file locked by another program for 10 s',
      isStoreWide: true,
      strike: (world) => lockFromOutside(world, file, outsideLockMs),
    },
    {
      name: 'file locked by another program for half a lease',
      isStoreWide: true,
      strike: (world) => lockFromOutside(world, file, world.leaseMs / 2),
    },
  ];
}
