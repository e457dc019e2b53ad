import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { ScheduleStory } from './schedule-story.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../../docs/reference/semantics.md'), 'utf8');
const table = /<!-- schedule cases -->\n(.*?)<!-- \/schedule cases -->/s.exec(page)?.[1] ?? '';
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| situation'))
  .map((line) => line.slice(2, -2).split(' | '));

test('the page has cases', () => {
  assert.ok(rows.length >= 50, `only ${rows.length} rows were found`);
  for (const row of rows) assert.equal(row.length, 5, row.join(' | '));
});

/** `{ cron: '0 * * * *' }` as an object. */
function read(code: string): Record<string, unknown> {
  return JSON.parse(JSON.stringify(runInNewContext(`(${code.replaceAll('`', '')})`)));
}

for (const [situation, rule, happens, decisions, jobs] of rows) {
  test(`schedules: ${situation}`, () => {
    const story = new ScheduleStory(read(rule as string));
    for (const event of (happens as string).split(' · ')) story.happen(event, read);
    assert.deepEqual(
      { decisions: story.decisions(), jobs: story.jobs() },
      { decisions, jobs },
      `${rule} — ${happens}`,
    );
  });
}
