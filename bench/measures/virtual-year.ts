import { createTestDuly } from '@duly/core/testing';
import { pause } from '../contestant.ts';
import type { Measure } from '../rounds.ts';

/** A year of a schedule that fires every minute, played on virtual time. */
export const virtualYear: Measure = {
  name: 'virtual-year',
  title: 'a year of a per-minute schedule on virtual time',
  async run({ isQuick, progress }) {
    const days = isQuick ? 10 : 365;
    const duly = createTestDuly();
    let ran = 0;
    const task = duly.task({
      name: 'minute',
      run: () => {
        ran++;
      },
    });
    await task.every('* * * * *');
    const from = performance.now();
    for (let day = 0; day < days; day += 5) {
      await duly.advance('5 days');
      progress.step(`day ${day + 5} of ${days}`);
      // A signal is heard between two turns of the event loop.
      await pause(0);
    }
    const tookMs = performance.now() - from;
    await duly.stop();
    const expected = days * 1_440;
    if (ran !== expected) throw new Error(`Expected ${expected} runs on virtual time, counted ${ran}.`);
    return [
      {
        measure: 'virtual-year',
        title: `a per-minute year on virtual time${isQuick ? ' (from 10 days)' : ''}`,
        unit: 's',
        isMoreBetter: false,
        duly: (tookMs / 1_000) * (365 / days),
        bare: null,
        ratio: null,
        peers: [],
        target: { text: 'seconds: ≤ 60', of: 'value', atMost: 60 },
        details: { days, ran, tookMs },
      },
    ];
  },
};
