import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duly } from 'duly';

/** What is around it: where figures come from, where the file goes, and who is told. */
export interface Analytics {
  /** Where the reports are stored, one file for each day. */
  folder: string;
  /** Counts one kind of event of a day. */
  count(kind: string, day: string): Promise<number>;
  /** Sends the mail. The key is the same for every try of a day, so that a mail server that has seen it can drop it. */
  mail(day: string, file: string, key: string): Promise<void>;
  /** Links the file from the page of reports; to do it twice changes nothing. */
  publish(day: string, file: string): Promise<void>;
}

/** The kinds of events that are counted, in this order. */
export const kinds = ['visits', 'sign-ups', 'orders', 'refunds'] as const;

/** The daily report. However many processes declare it, a day has one run, one file and one mail. */
export function defineAnalyticsReport(duly: Duly, { folder, count, mail, publish }: Analytics) {
  return duly.task({
    name: 'analytics_report',
    // Declared: every process says the same, and the store has one schedule. A night on which nobody was there is made up for.
    every: { cron: '0 2 * * *', timezone: 'Asia/Kolkata', missed: 'all', catchUpWindow: '7 days' },
    retry: { attempts: 5, backoff: 'exponential' },
    run: async ({ slot, job, fence, progress, once }) => {
      const day = slot?.date ?? job.dueAt.toISOString().slice(0, 10);
      const figures: Record<string, number> = {};
      for (const [done, kind] of kinds.entries()) {
        await progress((done / kinds.length) * 90, `Counting ${kind}`, { step: done, of: kinds.length });
        figures[kind] = await count(kind, day);
      }
      const file = join(folder, `${day}.json`);
      await mkdir(folder, { recursive: true });
      // Whole or not at all: under the name of the day there is never half a report. The fence keeps apart the halves of a process that
      // slept through its lease and of the one that took over.
      await writeFile(`${file}.${fence}`, JSON.stringify({ day, ...figures }));
      await rename(`${file}.${fence}`, file);
      await progress(95, 'Sending the mail', { step: kinds.length, of: kinds.length });
      // Recorded with the job: an attempt after a crash goes past it.
      await once('mail', () => mail(day, file, `analytics-report/${day}`));
      await publish(day, file);
      return { file, ...figures };
    },
  });
}
