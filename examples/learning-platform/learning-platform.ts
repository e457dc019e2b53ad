import type { Duly } from 'duly';
import { z } from 'zod';

const dayMs = 86_400_000;

/** What is around it. */
export interface School {
  remind(classId: string): Promise<void>;
  report(day: string): Promise<void>;
  /** Removes uploads that nobody finished; returns how many. */
  cleanUp(): Promise<number>;
}

/** A learning platform: reminders that move with their class, a nightly report, and a clean-up that may be one for several. */
export function defineSchool(duly: Duly, school: School) {
  const remind = duly.task({
    name: 'class_reminder',
    input: z.string(),
    // Told after the class has begun it would only confuse.
    startDeadline: '23h',
    run: ({ input, once }) => once('remind', () => school.remind(input)),
  });

  // One run for each night, also for the nights on which nobody was there.
  duly.task({
    name: 'nightly_report',
    every: { cron: '0 2 * * *', timezone: 'Asia/Kolkata', missed: 'all', catchUpWindow: '7 days' },
    run: ({ slot }) => school.report(slot?.date ?? ''),
  });

  // What is left over is the same however many slots were missed: the latest stands for all.
  duly.task({
    name: 'clean_up',
    every: { cron: '*/15 * * * *', missed: 'latest', overlap: 'skip' },
    run: () => school.cleanUp(),
  });

  return {
    /** Plans a class, or moves it: the reminder has the key of the class, so the last call counts. */
    async plan(classId: string, beginsAt: Date): Promise<void> {
      await remind.at(new Date(beginsAt.getTime() - dayMs), classId, {
        dedupe: { key: classId, mode: 'replace' },
      });
    },
    callOff: (classId: string) =>
      duly.cancel({ type: 'class_reminder', key: classId }, { note: 'called off' }),
  };
}
