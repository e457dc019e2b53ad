/** What can be done to a server and to the way there. */
import {
  type FaultKind,
  pick,
  reportNoWrites,
  type World,
  withClient,
  withNode,
} from '../../faults/fault.ts';
import type { FleetProcess } from '../../fleet.ts';
import { healed } from '../../moves-again.ts';
import type { Cluster } from './cluster.ts';
import type { PostgresSeat } from './seats.ts';

// A call that has no answer is given up after 10 s, and one that began a moment before the end of a fault has them still before it.
const recoverMs = 12_000;
// After a server has closed a connection a new one is made at once; a node that failed waits up to 5 s before it tries again.
const reconnectMs = 6_000;
/** Within this time a node must notice that nobody answers. */
const noticeMsMax = 15_000;

const seatOf = ({ seat }: FleetProcess): PostgresSeat => seat as PostgresSeat;

/** Something was wrong for one process, and is healed; it may need some time to find out. */
function reportOf(world: World, one: FleetProcess, fault: string, fromAt: number, detail: string): void {
  world.write({ kind: 'fault', at: fromAt, node: one.node, fault, untilAt: world.now() + recoverMs, detail });
}

/** Something was wrong for all, and is healed; they may need some time to find out. */
function reportAll(world: World, fault: string, fromAt: number, detail: string, thenMs: number): void {
  const at = world.now();
  world.write({ kind: 'fault', at: fromAt, node: '*', fault, untilAt: at + thenMs, detail });
  world.write({ kind: 'fault', at, node: 'run', fault: healed, detail: fault });
}

/** Ends every connection of Duly, again and again. */
async function terminate(world: World, cluster: Cluster): Promise<boolean> {
  const { clock, random } = world;
  const fromAt = world.now();
  const sinceElapsed = clock.elapsed();
  let count = 0;
  world.waitsFor('the primary to answer');
  while (clock.elapsed() - sinceElapsed < 4_000) {
    const rows = await cluster.ask(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'chaos'`,
    );
    count += rows.length;
    await clock.sleep(20 + random.next() * 150);
  }
  reportAll(world, 'connections-ended', fromAt, `${count} of them`, reconnectMs);
  return count > 0;
}

async function crash(world: World, cluster: Cluster): Promise<boolean> {
  const fromAt = world.now();
  const primary = cluster.primary();
  world.waitsFor('the primary to stop and to start again');
  await primary.halt('immediate');
  const goneAt = world.now();
  await world.clock.sleep(500 + world.random.next() * 3_000);
  reportNoWrites(world, '*', goneAt);
  await primary.restart();
  // Nothing is confirmed until the standby is back.
  world.waitsFor('the standby to follow its primary');
  await cluster.inStep();
  reportAll(world, 'server-crashed', fromAt, 'stopped with immediate and started again', reconnectMs);
  return true;
}

/** Writes are taken and none is confirmed: whoever only asks whether it can connect sees nothing. */
async function loseStandby(world: World, cluster: Cluster): Promise<boolean> {
  const fromAt = world.now();
  const standby = cluster.standby();
  world.waitsFor('the standby to stop and to start again');
  await standby.halt('immediate');
  const goneAt = world.now();
  await world.clock.sleep(3_000 + world.random.next() * 3_000);
  reportNoWrites(world, '*', goneAt);
  await standby.restart();
  world.waitsFor('the standby to follow its primary');
  await cluster.inStep();
  reportAll(world, 'standby-away', fromAt, 'commits waited for it', reconnectMs);
  return true;
}

/** Promotes the standby while the old primary lives and, with `split`, is still reached by one node. */
async function failOver(world: World, cluster: Cluster, how: 'silent' | 'split'): Promise<boolean> {
  const { clock } = world;
  const fromAt = world.now();
  const old = cluster.primary();
  const left =
    how === 'split'
      ? pick(
          world,
          [...world.fleet.processes].filter(({ role, isReady }) => role === 'node' && isReady),
        )
      : undefined;
  if (left !== undefined) {
    // It goes straight to the old one from now on, also with new connections.
    seatOf(left).way.lead(old.port);
    seatOf(left).way.cut();
    await clock.sleep(300);
  }
  world.waitsFor('the standby to be promoted');
  if (how === 'silent') cluster.way.freeze();
  await cluster.promote();
  if (how === 'silent') cluster.way.thaw();
  else cluster.way.cut();
  const thenMs = how === 'silent' ? recoverMs : reconnectMs;
  reportAll(world, 'failover', fromAt, `${how}, from port ${old.port} to ${cluster.primary().port}`, thenMs);
  if (left !== undefined) {
    // The standby that the old one waits for is a primary now.
    const promotedAt = world.now();
    await clock.sleep(5_000);
    reportNoWrites(world, left.node, promotedAt);
    seatOf(left).way.lead(cluster.port);
    seatOf(left).way.cut();
    reportOf(world, left, 'old-primary', fromAt, 'it still reached the old one');
  }
  world.waitsFor('the old primary to end, and a new standby to follow');
  await cluster.replaceOld();
  return true;
}

/** Loses packets of one process until it has noticed, and mends the wire. */
async function losePackets(
  world: World,
  one: FleetProcess,
  what: 'both ways' | 'from the host',
): Promise<boolean> {
  const { clock } = world;
  const { wire, way } = seatOf(one);
  const fromAt = world.now();
  const sinceElapsed = clock.elapsed();
  const before = one.failedCount;
  if (wire === null) way.freeze();
  else wire.lose(what);
  const lostAt = world.now();
  const isThere = () => world.fleet.processes.has(one);
  const tookMs = () => clock.elapsed() - sinceElapsed;
  while (isThere() && one.failedCount === before && tookMs() < noticeMsMax + 1_000) await clock.sleep(50);
  const noticedMs = tookMs();
  reportNoWrites(world, one.node, lostAt);
  if (wire === null) way.thaw();
  else wire.mend();
  const fault = what === 'both ways' ? 'cut-off' : 'answers-lost';
  reportOf(world, one, fault, fromAt, `noticed after ${Math.round(noticedMs)} ms`);
  if (isThere() && noticedMs > noticeMsMax)
    world.fail('silence-is-noticed', `${one.name} asked into silence for ${Math.round(noticedMs)} ms.`);
  return isThere() && one.failedCount > before;
}

/** Two seconds for every round trip, and one packet in ten lost. */
async function slowDown(world: World, one: FleetProcess): Promise<boolean> {
  const { wire, way } = seatOf(one);
  const fromAt = world.now();
  if (!wire?.slow(2_000, 10)) way.slow({ delayMs: 2_000, lossPercent: 10, random: world.random.next });
  await world.clock.sleep(10_000);
  way.slow(null);
  wire?.mend();
  reportOf(world, one, 'slow-way', fromAt, '2 s and 10 % loss');
  return world.fleet.processes.has(one);
}

/** Every kind of fault of a server and of the ways there. */
export function serverFaults(cluster: Cluster, hasTime: boolean): FaultKind[] {
  const faults: FaultKind[] = [
    {
      name: 'pg_terminate_backend in a loop',
      isStoreWide: true,
      strike: (world) => terminate(world, cluster),
    },
    {
      name: 'server stopped with immediate, started again',
      isStoreWide: true,
      strike: (world) => crash(world, cluster),
    },
    {
      name: 'synchronous standby away, commits hang',
      isStoreWide: true,
      strike: (world) => loseStandby(world, cluster),
    },
    {
      name: 'standby promoted, old primary cut off without a word',
      isStoreWide: true,
      strike: (world) => failOver(world, cluster, 'silent'),
    },
    {
      name: 'standby promoted, old primary still reached by a node',
      isStoreWide: true,
      strike: (world) => failOver(world, cluster, 'split'),
    },
    {
      name: 'node cut off without a word',
      isStoreWide: false,
      strike: (world) => withNode(world, (one) => losePackets(world, one, 'both ways')),
    },
    {
      name: 'answers to a node lost',
      isStoreWide: false,
      strike: (world) => withNode(world, (one) => losePackets(world, one, 'from the host')),
    },
    {
      name: 'answers to the client lost',
      isStoreWide: false,
      strike: (world) => withClient(world, (one) => losePackets(world, one, 'from the host')),
    },
    {
      name: '2 s latency with 10 % loss',
      isStoreWide: false,
      strike: (world) => withNode(world, (one) => slowDown(world, one)),
    },
  ];
  if (!hasTime) return faults;
  return [
    ...faults,
    {
      name: 'wall clock of a node stepped by two hours',
      isStoreWide: false,
      strike: (world) =>
        withNode(world, async (one) => {
          const { time } = seatOf(one);
          if (time === null) return false;
          time.setOffset(time.offsetMs() > 0 ? -3_600_000 : 3_600_000);
          return true;
        }),
    },
  ];
}
