import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Duly, Schedule } from 'duly';
import { z } from 'zod';

/** What is done to a repository in a night, in this order: looked through first, so that nothing broken is packed away. */
export const steps = ['fsck', 'gc', 'commit-graph'] as const;

/** One of them. */
export type Step = (typeof steps)[number];

/** Does one step to a repository; throws if it fails. */
export type Maintain = (path: string, step: Step, signal: AbortSignal) => Promise<void>;

/** Does it with git itself. What is aborted is killed, and can be begun again. */
export const maintainWithGit: Maintain = async (path, step, signal) => {
  const args =
    step === 'fsck' ? ['fsck', '--no-progress'] : ['maintenance', 'run', `--task=${step}`, '--quiet'];
  await promisify(execFile)('git', ['-C', path, ...args], { signal });
};

/** Nightly maintenance of many repositories, spread over two hours; one that fails three nights in a row is flagged for a person. */
export function defineMaintenance(duly: Duly, maintain: Maintain) {
  const maintenance = duly.task({
    name: 'repository_maintenance',
    input: z.object({ path: z.string() }),
    // Disks are slow when everybody uses them.
    concurrency: 4,
    retry: { attempts: 2, backoff: 'fixed', delay: '10m' },
    timeout: '45m',
    run: async ({ input, signal, progress }) => {
      for (const [done, step] of steps.entries()) {
        await progress((done / steps.length) * 100, step, { step: done, of: steps.length });
        await maintain(input.path, step, signal);
      }
    },
  });

  const nameOf = (path: string): string => `maintenance ${path}`;
  return {
    /** Takes a repository in. The same call again changes nothing. */
    add: (path: string) =>
      maintenance.every(
        { cron: '0 1 * * *', timezone: 'Europe/Rome' },
        { path },
        {
          name: nameOf(path),
          // From a hash of the schedule: each repository has its own minute of the two hours, and the same every night.
          jitter: '2h',
          // A night that was missed is not made up for at noon, when people work.
          missed: 'skip',
          startDeadline: '2h',
          // It goes on every night all the same: what is flagged may mend itself, and then the flag is gone.
          flagAfterFailures: 3,
        },
      ),
    remove: (path: string) => duly.schedules.delete({ name: nameOf(path) }),
    /** The repositories that a person should look at. */
    async flagged(): Promise<{ path: string; failureCount: number }[]> {
      const found: Schedule[] = [];
      let cursor: string | undefined;
      do {
        const page = await duly.schedules.list({ type: maintenance.name, ...(cursor && { cursor }) });
        found.push(...page.schedules);
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      return found.flatMap(({ input, flagged }) =>
        flagged === null
          ? []
          : [{ path: (input as { path: string }).path, failureCount: flagged.failureCount }],
      );
    },
  };
}
