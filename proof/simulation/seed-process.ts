// A process of `play-range.ts`: plays the seeds that it receives and reports each of them. Its argument is the engine.
import { headlineOf, playSeed } from './seeds.ts';

/** The report of one seed. */
export interface SeedReport {
  seed: number;
  /** The broken invariants with the first message of each; empty if the world is clean. */
  broken: { invariant: string; message: string }[];
  headline: string;
  /** How often each invariant compared something that could have broken it. */
  counts: Record<string, number>;
  /** CPU time of this process until now, in milliseconds. */
  cpuMs: number;
}

// The server ends with this process, even if that is killed.
const worlds =
  process.argv[2] === 'postgres'
    ? import('./postgres/worlds.ts').then(({ startPostgresWorlds }) => startPostgresWorlds())
    : null;

// Ctrl-C reaches every process of the terminal. The parent decides when this one ends.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.on('message', async ({ from, count }: { from: number; count: number }) => {
  const options = worlds === null ? {} : { open: (await worlds).open };
  for (let seed = from; seed < from + count; seed++) {
    const played = await playSeed(seed, options);
    const broken = new Map<string, string>();
    for (const { invariant, message } of played.violations)
      if (!broken.has(invariant)) broken.set(invariant, message);
    const { user, system } = process.cpuUsage();
    const report: SeedReport = {
      seed,
      broken: [...broken].map(([invariant, message]) => ({ invariant, message })),
      headline: played.violations.length === 0 ? '' : headlineOf(played),
      counts: Object.fromEntries(played.counts),
      cpuMs: (user + system) / 1_000,
    };
    // Without a callback, a parent that was killed in the meantime would make this an unhandled error.
    process.send?.(report, undefined, undefined, (error) => {
      if (error !== null) process.exit();
    });
  }
});
