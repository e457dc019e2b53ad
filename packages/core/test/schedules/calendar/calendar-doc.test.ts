import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ruleFields } from '../../../src/schedules/calendar/rule-input.ts';
import type { Dst } from '../../../src/schedules/calendar/zoned-times.ts';
import { explain } from '../../../src/schedules/definition/explain.ts';
import { preview } from '../../../src/schedules/definition/preview.ts';

const page = readFileSync(new URL('../../../../../docs/reference/calendar.md', import.meta.url), 'utf8');

/** The rows of the table between two marks, cell by cell. */
function rowsOf(mark: string): string[][] {
  const part = new RegExp(`<!-- ${mark} -->(.*)<!-- /${mark} -->`, 's').exec(page)?.[1];
  assert.ok(part, `docs/reference/calendar.md has lost its marks around "${mark}".`);
  return part
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

function assertSlots(slots: Date[], written: string[]): void {
  assert.deepEqual(
    slots.map((slot) => slot.toISOString()),
    written.map((text) => new Date(text).toISOString()),
  );
}

for (const [cron = '', words = '', slots = ''] of rowsOf('crons')) {
  test(`the page is right about ${cron}`, () => {
    assert.equal(explain(cron, { now: Date.UTC(2027, 0, 1) }), `${words}, in UTC.`);
    const written = slots.split(' ');
    assertSlots(preview(cron, { after: Date.UTC(2027, 0, 1) - 1, count: written.length }), written);
  });
}

for (const [cron = '', timezone = '', policy = '', after = '', slots = ''] of rowsOf('changes')) {
  test(`the page is right about ${cron} in ${timezone} ${policy} after ${after}`, () => {
    const [name, value] = policy.split(': ');
    const dst = (policy === '' ? {} : { [name as string]: value }) as Partial<Dst>;
    const written = slots.split(' ');
    assertSlots(preview({ cron, timezone, dst }, { after, count: written.length }), written);
  });
}

test('the page has enough examples, and names every field of a rule', () => {
  assert.ok(rowsOf('crons').length >= 10);
  assert.ok(rowsOf('changes').length >= 15);
  const table = /## A rule(.*?)## Cron/s.exec(page)?.[1] ?? '';
  const named = [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, field]) => field),
  );
  assert.deepEqual(named.sort(), Object.keys(ruleFields).sort());
});
