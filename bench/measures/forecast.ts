import { Duly } from '@duly/core';
import type { Measure } from '../rounds.ts';

const zones = ['UTC', 'Europe/Rome', 'America/New_York', 'Asia/Kolkata', 'Australia/Sydney'];
const crons = ['0 2 * * *', '30 2 * * *', '0 8 * * MON-FRI', '15 6,18 * * *', '0 0 1 * *'];
// One request to the store holds as many as fit; more than these at once only wait in memory.
const waveCount = 2_000;
const minutesOfDay = 1_440;

/** Day-long schedules as a large installation has them: reports at round times, digests of users spread over the day, hourly ones. */
function ruleOf(i: number): { cron: string; timezone: string } | { rate: string } {
  if (i % 10 === 0) return { rate: '1h' };
  const timezone = zones[i % zones.length] as string;
  if (i % 3 === 0) return { cron: crons[i % crons.length] as string, timezone };
  const minute = (i * 7) % minutesOfDay;
  return { cron: `${minute % 60} ${Math.floor(minute / 60)} * * *`, timezone };
}

/** A day of many schedules played forward, from a store that holds them: `duly.forecast()`, whole. */
export const forecast: Measure = {
  name: 'forecast',
  title: 'a forecast over many schedules',
  async run({ room, isQuick, rounds, progress }) {
    const count = isQuick ? 5_000 : 100_000;
    const place = await room.createPlace();
    const duly = new Duly({ store: place.url, app: 'bench', logger: false });
    try {
      for (let done = 0; done < count; done += waveCount) {
        progress.step(`made ${done} of ${count}`);
        const wave = Array.from({ length: Math.min(waveCount, count - done) }, (_, i) => done + i);
        await Promise.all(
          wave.map((i) =>
            duly.schedules.put({ type: `task-${i % 50}`, name: `schedule-${i}`, ...ruleOf(i) }),
          ),
        );
      }
      const tookMs: number[] = [];
      // What it would take where nobody else is at work.
      const processorMs: number[] = [];
      let runs = 0;
      for (let round = 0; round < rounds; round++) {
        progress.step(`played ${round} of ${rounds}`);
        const from = performance.now();
        const used = process.cpuUsage();
        const played = await duly.forecast({ hours: 24 });
        tookMs.push(performance.now() - from);
        const { user, system } = process.cpuUsage(used);
        processorMs.push((user + system) / 1_000);
        if (played.schedules !== count) {
          throw new Error(`Expected a forecast of ${count} schedules, got ${played.schedules}.`);
        }
        runs = played.runs;
      }
      return [
        {
          measure: 'forecast',
          title: `a day of ${count.toLocaleString('en-US')} schedules forecast`,
          unit: 's',
          isMoreBetter: false,
          // The slowest: what a person waits for, the first one with an unwarmed calendar included.
          duly: Math.max(...tookMs) / 1_000,
          bare: null,
          ratio: null,
          peers: [],
          target: {
            text: 'seconds: < 10',
            of: 'value',
            atMost: 10,
            ...(isQuick ? { notJudged: 'with so few schedules' } : {}),
          },
          details: { runs, tookMs, processorMs },
        },
      ];
    } finally {
      await duly.stop();
      await place.remove();
    }
  },
};
