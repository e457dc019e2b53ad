import { resolveRule } from '@duly/core';
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import { pause } from '../contestant.ts';
import type { PeerFigure, Result } from '../result.ts';
import type { Measure } from '../rounds.ts';

const cases: [cron: string, timezone: string][] = [
  ['* * * * *', 'UTC'],
  ['*/15 * * * *', 'Europe/Rome'],
  ['30 2 * * 1-5', 'America/New_York'],
  ['0 9 L * *', 'Asia/Kolkata'],
  ['0 0 13 * 5', 'Australia/Lord_Howe'],
  ['0 0 29 2 *', 'Africa/Cairo'],
];
// Not used by any case above: the first answer in a zone pays for its transitions.
const newZones = ['Europe/Paris', 'America/Chicago', 'Asia/Tehran', 'Pacific/Auckland', 'Africa/Casablanca'];
const fromAt = Date.UTC(2027, 0, 1);
const toAt = Date.UTC(2100, 0, 1);

type Next = (afterAt: number) => number | null;

// Until the compiler is done with a rule, however short the windows are that follow.
const warmUpMs = 250;
// Short ones fall whole into a moment in which somebody else has the core.
const windowCount = 4;

/** Calls of `next` in a second: one after the other for so long, the best of some windows, warm. */
function measure(next: Next, forMs: number): number {
  ratePerSecond(next, warmUpMs);
  return Math.max(...Array.from({ length: windowCount }, () => ratePerSecond(next, forMs)));
}

function ratePerSecond(next: Next, forMs: number): number {
  let at = fromAt;
  let count = 0;
  const start = performance.now();
  let elapsedMs = 0;
  while (elapsedMs < forMs) {
    for (let i = 0; i < 50; i++) {
      at = next(at) ?? fromAt;
      if (at > toAt) at = fromAt;
    }
    count += 50;
    elapsedMs = performance.now() - start;
  }
  return (count / elapsedMs) * 1_000;
}

/** The longest single answer of a warm rule; of each answer the best of three, as a busy machine may stop anyone anywhere. */
function slowest(next: Next, count: number): number {
  const tookMs = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  for (let pass = 0; pass < 3; pass++) {
    let at = fromAt;
    for (let i = 0; i < count; i++) {
      const start = performance.now();
      at = next(at) ?? fromAt;
      tookMs[i] = Math.min(tookMs[i] as number, performance.now() - start);
      if (at > toAt) at = fromAt;
    }
  }
  return tookMs.reduce((one, other) => Math.max(one, other), 0);
}

/** The same by other libraries. */
function peersOf(cron: string, timezone: string, forMs: number): PeerFigure[] {
  const croner = new Cron(cron, { timezone, paused: true });
  // Parsed once and moved by `reset`: several times faster than parsing anew.
  const parsed = CronExpressionParser.parse(cron, { tz: timezone });
  return [
    { name: 'croner', value: measure((at) => croner.nextRun(new Date(at))?.getTime() ?? null, forMs) },
    {
      name: 'cron-parser',
      value: measure((at) => {
        parsed.reset(new Date(at));
        return parsed.next().getTime();
      }, forMs),
    },
  ];
}

/** How fast the calendar answers, beside the libraries that judge it in tests. */
export const calendar: Measure = {
  name: 'calendar',
  title: 'calendar',
  async run({ isQuick, hasPeers, progress }) {
    const forMs = isQuick ? 60 : 150;
    const lines: Result[] = [];
    let slowestMs = 0;
    for (const [cron, timezone] of cases) {
      progress.step(`${cron} ${timezone}`);
      // A signal is heard between two turns of the event loop.
      await pause(0);
      const rule = resolveRule({ cron, timezone });
      const duly = measure((at) => rule.next(at), forMs);
      lines.push({
        measure: 'calendar',
        title: `next of "${cron}" in ${timezone}`,
        unit: 'per second',
        isMoreBetter: true,
        duly,
        bare: null,
        ratio: null,
        peers: hasPeers ? peersOf(cron, timezone, forMs) : [],
        target: { text: '≥ a million a second', of: 'value', atLeast: 1_000_000 },
      });
      slowestMs = Math.max(
        slowestMs,
        slowest((at) => rule.next(at), isQuick ? 2_000 : 20_000),
      );
    }
    const first = newZones.map((timezone) => {
      const start = performance.now();
      resolveRule({ cron: '30 2 * * *', timezone }, { now: fromAt }).next(fromAt);
      return performance.now() - start;
    });
    const rest = {
      measure: 'calendar',
      unit: 'ms',
      isMoreBetter: false,
      bare: null,
      ratio: null,
      peers: [],
    } as const;
    const second = resolveRule({ cron: '* * * * * *', timezone: 'Europe/Rome' });
    second.countBetween(fromAt, fromAt + 86_400_000);
    const start = performance.now();
    second.countBetween(fromAt, fromAt + 36_525 * 86_400_000);
    const centuryMs = performance.now() - start;
    return [
      ...lines,
      {
        ...rest,
        title: 'slowest warm answer',
        duly: slowestMs,
        peers: [],
        target: { text: '≤ 5 ms', of: 'value', atMost: 5 },
      },
      {
        ...rest,
        title: 'slowest first answer in a new zone',
        duly: Math.max(...first),
        peers: [],
        target: { text: '≤ 50 ms', of: 'value', atMost: 50 },
        details: { first },
      },
      { ...rest, title: 'counting the seconds of a century', duly: centuryMs, peers: [], target: null },
    ];
  },
};
