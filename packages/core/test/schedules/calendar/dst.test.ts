import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runFactor } from '../../../../../test/property.ts';
import { type Rule, resolveRule } from '../../../src/schedules/calendar/rule.ts';
import { findZone } from '../../../src/schedules/calendar/zone.ts';
import {
  findChanges,
  policiesFor,
  readClock,
  readWindow,
  type SlowCron,
  type SlowDst,
  slowSlots,
} from './brute-force.ts';

const hourMs = 3_600_000;
const fromAt = Date.UTC(2006, 0, 1);
const toAt = Date.UTC(2037, 0, 1);
/** The years whose changes are looked at minute by minute: from here on each country's rule comes again and again. */
const closelyFromAt = Date.UTC(2014, 0, 1);
const closelyYears = Math.min(15, 2 * runFactor);
const closelyToAt = Date.UTC(2014 + closelyYears, 0, 1);
const allZones = Intl.supportedValuesOf('timeZone');

/** The changes of a zone between two instants, by our own table. */
function changesOf(name: string, from: number, to: number): { at: number; shiftMs: number }[] {
  const changes: { at: number; shiftMs: number }[] = [];
  const zone = findZone(name);
  for (let span = zone.spanAt(from / 1_000); span.end * 1_000 < to; span = zone.spanAt(span.end)) {
    const shiftMs = (span.offsetAfter - span.offset) * 1_000;
    if (shiftMs !== 0) changes.push({ at: span.end * 1_000, shiftMs });
  }
  return changes;
}

/** Zones that changed their clocks alike in these years, by the first of each kind. */
const histories = new Map<string, { name: string; changes: { at: number; shiftMs: number }[] }>();

test('every zone has the changes that Intl shows, from 2006 to 2036, to the second', () => {
  for (const name of allZones) {
    const changes = changesOf(name, fromAt, toAt);
    assert.deepEqual(changes, findChanges(name, fromAt, toAt), name);
    const history = JSON.stringify([readClock(name, fromAt) - fromAt, changes]);
    if (!histories.has(history)) histories.set(history, { name, changes });
  }
});

/** Crons around the hour that a change skips or repeats. */
function cronsAround(wallAt: number): SlowCron[] {
  const wall = new Date(wallAt);
  const hour = wall.getUTCHours();
  const next = (hour + 1) % 24;
  const before = (hour + 23) % 24;
  const minute = (wall.getUTCMinutes() + 15) % 60;
  const always = (): boolean => true;
  const [low, high] = [Math.min(hour, next), Math.max(hour, next)];
  return [
    {
      text: `${minute} ${hour} * * *`,
      isFixed: true,
      hasTime: (h, m) => h === hour && m === minute,
      hasDate: always,
    },
    {
      text: `*/10 ${hour},${next} * * *`,
      isFixed: true,
      hasTime: (h, m) => (h === hour || h === next) && m % 10 === 0,
      hasDate: always,
    },
    {
      text: `5-59/25 ${before},${hour} * * *`,
      isFixed: true,
      hasTime: (h, m) => (h === before || h === hour) && m % 25 === 5,
      hasDate: always,
    },
    { text: '0 0,12 * * *', isFixed: true, hasTime: (h, m) => h % 12 === 0 && m === 0, hasDate: always },
    { text: '*/20 * * * *', isFixed: false, hasTime: (_, m) => m % 20 === 0, hasDate: always },
    {
      text: `15,45 ${low}-${high} * * *`,
      isFixed: false,
      hasTime: (h, m) => h >= low && h <= high && m % 30 === 15,
      hasDate: always,
    },
    { text: '7 */3 * * *', isFixed: false, hasTime: (h, m) => h % 3 === 0 && m === 7, hasDate: always },
  ];
}

/** Crons that name the very date of a change: a skipped time belongs to the date it names, even if it fires on the next. */
function cronsOnDate(wallAt: number): SlowCron[] {
  const wall = new Date(wallAt);
  const [hour, day, month, weekday] = [
    wall.getUTCHours(),
    wall.getUTCDate(),
    wall.getUTCMonth(),
    wall.getUTCDay(),
  ];
  return [
    {
      text: `*/15 ${hour} ${day} ${month + 1} *`,
      isFixed: true,
      hasTime: (h, m) => h === hour && m % 15 === 0,
      hasDate: (date) => date.getUTCDate() === day && date.getUTCMonth() === month,
    },
    {
      text: `30 ${hour} * * ${weekday}`,
      isFixed: true,
      hasTime: (h, m) => h === hour && m === 30,
      hasDate: (date) => date.getUTCDay() === weekday,
    },
    {
      text: `30 * * * ${weekday}`,
      isFixed: false,
      hasTime: (_, m) => m === 30,
      hasDate: (date) => date.getUTCDay() === weekday,
    },
  ];
}

const rules = new Map<string, Rule>();

function ruleOf(cron: string, timezone: string, dst: SlowDst): Rule {
  const key = `${cron}|${timezone}|${dst.gap}|${dst.repeat}`;
  const known = rules.get(key) ?? resolveRule({ cron, timezone, dst });
  rules.set(key, known);
  return known;
}

/** Asks a rule for its slots in a window in all the ways there are. */
function assertSlots(rule: Rule, from: number, to: number, expected: number[], what: string): void {
  const forward: number[] = [];
  for (let at = rule.next(from - 1); at !== null && at <= to; at = rule.next(at)) forward.push(at);
  const show = (slots: number[]): string[] => slots.map((at) => new Date(at).toISOString());
  if (forward.length !== expected.length || forward.some((at, index) => at !== expected[index])) {
    assert.deepEqual(show(forward), show(expected), `next of ${what}`);
  }
  const backward: number[] = [];
  for (let at = rule.previous(to + 1); at !== null && at >= from; at = rule.previous(at)) backward.push(at);
  backward.reverse();
  if (backward.length !== expected.length || backward.some((at, index) => at !== expected[index])) {
    assert.deepEqual(show(backward), show(expected), `previous of ${what}`);
  }
  assert.equal(rule.countBetween(from, to), expected.length, `count of ${what}`);
}

function assertAround(name: string, { at, shiftMs }: { at: number; shiftMs: number }): number {
  const reachMs = Math.abs(shiftMs) + 4 * hourMs;
  const start = Math.floor((at - reachMs) / 60_000) * 60_000;
  const window = readWindow(name, start, start + 2 * reachMs);
  const to = start + (window.walls.length - 1) * 60_000;
  // The first wall time that was left out or comes again.
  const wallAt = readClock(name, at) - Math.max(shiftMs, 0);
  let count = 0;
  for (const cron of [...cronsAround(wallAt), ...cronsOnDate(wallAt)]) {
    for (const dst of policiesFor(shiftMs).slice(0, cron.isFixed ? 3 : 1)) {
      const isShared = cron.hasDate.length === 0;
      const rule = isShared
        ? ruleOf(cron.text, name, dst)
        : resolveRule({ cron: cron.text, timezone: name, dst });
      const what = `${cron.text} in ${name} at ${new Date(at).toISOString()} with ${JSON.stringify(dst)}`;
      assertSlots(rule, start, to, slowSlots(window, cron, dst), what);
      count++;
    }
  }
  return count;
}

test(`around every change of every zone in ${closelyYears} years, slots are those of a model that looks at each minute`, (t) => {
  let count = 0;
  let changeCount = 0;
  for (const { name, changes } of histories.values()) {
    for (const change of changes) {
      if (change.at < closelyFromAt || change.at >= closelyToAt) continue;
      count += assertAround(name, change);
      changeCount++;
    }
    rules.clear();
  }
  t.diagnostic(`${histories.size} histories, ${changeCount} changes, ${count} comparisons`);
  assert.ok(histories.size > 100 && changeCount > 66 * closelyYears);
});
