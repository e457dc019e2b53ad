/** When the machine did not let a run go on, by measures that know nothing of the product. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../packages/core/src/base/clock.ts';
import { startYardstick } from '../soak/yardstick.ts';

/** What is watched, and who is told. */
export interface StallOptions {
  leaseMs: number;
  /** A folder on the disk of the store. */
  folder: string;
  /** The ids of the processes of the run that live. */
  pids(): number[];
  report(fromAt: number, untilAt: number): void;
}

/** A time during which the machine did not let the run go on. */
export interface Stall {
  fromAt: number;
  untilAt: number;
}

/** How long stalls took in all; what several measures tell of the same moment counts once. */
export function stalledMsOf(stalls: readonly Stall[]): number {
  let sumMs = 0;
  let coveredUntilAt = Number.NEGATIVE_INFINITY;
  for (const { fromAt, untilAt } of stalls.toSorted((one, other) => one.fromAt - other.fromAt)) {
    sumMs += Math.max(0, untilAt - Math.max(fromAt, coveredUntilAt));
    coveredUntilAt = Math.max(coveredUntilAt, untilAt);
  }
  return sumMs;
}

const lookMs = 100;
const sampleMs = 250;

/**
 * Tells of moments when this process, which has nothing to do, was not given the machine; when it could not flush a page to the disk; and when a
 * thread of the run that could have run waited for a core. A lease that was renewed in time and confirmed too late is lost by the machine.
 */
export function watchStalls({ leaseMs, folder, pids, report }: StallOptions): { stop(): Promise<void> } {
  const reportMs = leaseMs / 3;
  const yardstick = startYardstick(join(folder, 'yardstick'));
  const queues = watchQueues(leaseMs / 2, reportMs);
  let isOver = false;
  let stopping: Promise<void> | null = null;
  let lastElapsed = systemClock.elapsed();
  let sampledElapsed = lastElapsed;
  const look = () => {
    if (isOver) return;
    const elapsed = systemClock.elapsed();
    const gapMs = elapsed - lastElapsed - lookMs;
    if (gapMs > reportMs) report(systemClock.now() - gapMs, systemClock.now());
    const flushMs = yardstick.takeSlowestMs();
    // A commit is flushed by two servers, one after the other.
    if (flushMs > reportMs / 2) report(systemClock.now() - flushMs - 2 * lookMs, systemClock.now() + flushMs);
    if (elapsed - sampledElapsed >= sampleMs) {
      const waitedMs = queues.sample(elapsed, pids());
      if (waitedMs > 0) report(systemClock.now() - waitedMs, systemClock.now());
      sampledElapsed = elapsed;
    }
    lastElapsed = systemClock.elapsed();
    systemClock.after(lookMs, look, { unref: true });
  };
  look();
  return {
    stop() {
      isOver = true;
      stopping ??= yardstick.stop();
      return stopping;
    },
  };
}

/** The queue for a core, of each thread: Linux counts how long it stood there ready to run. Other systems do not say, and none has waited. */
function watchQueues(spanMs: number, reportMs: number) {
  let samples = new Map<string, { elapsed: number; waitedMs: number }[]>();
  return {
    /** How long ago the span began in which a thread waited too long; 0: none did. */
    sample(elapsed: number, pids: readonly number[]): number {
      const kept: typeof samples = new Map();
      let longestMs = 0;
      for (const [thread, waitedMs] of pids.flatMap(waitsOf)) {
        const all = [...(samples.get(thread) ?? []), { elapsed, waitedMs }];
        const span = all.filter((one, i) => one.elapsed >= elapsed - spanMs || i === all.length - 1);
        kept.set(thread, span);
        const [first] = span;
        if (first !== undefined && waitedMs - first.waitedMs > reportMs)
          longestMs = Math.max(longestMs, elapsed - first.elapsed);
      }
      samples = kept;
      return longestMs;
    },
  };
}

function waitsOf(pid: number): [thread: string, waitedMs: number][] {
  try {
    const folder = `/proc/${pid}/task`;
    return readdirSync(folder).map((thread) => {
      const [, waitedNs = '0'] = readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ');
      return [thread, Number(waitedNs) / 1e6];
    });
  } catch {
    // It ended meanwhile, or this is no Linux.
    return [];
  }
}
