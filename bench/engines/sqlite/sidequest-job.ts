// The job that sidequest runs. It imports this file by itself, so what the harness wants to know goes through a global.
import { loadPeer } from '../../peer-module.ts';

const { Job } = await loadPeer<{ Job: new () => object }>('@sidequest/core');

/** What the contestant listens to. */
export interface SidequestHooks {
  benchSidequestRun?: (n: number) => void;
}

/** A no-op that tells that it began. */
export class BenchJob extends Job {
  run(n: number): void {
    (globalThis as SidequestHooks).benchSidequestRun?.(n);
  }
}
