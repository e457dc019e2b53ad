// The isolated task of a soak, as its thread loads it. Making a Duly opens nothing.
import { Duly } from '../../packages/core/src/index.ts';

/** What the task does, in whichever thread. */
export async function runIsolated(context: { progress(percent: number): Promise<void> }): Promise<number> {
  await context.progress(50);
  return process.memoryUsage().rss;
}

new Duly().task({ name: 'isolated', isolate: true, run: runIsolated });
