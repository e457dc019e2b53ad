import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { jobStatuses, jobTransitions } from '../../src/contract/job-status.ts';

const page = readFileSync(new URL('../../../../docs/reference/semantics.md', import.meta.url), 'utf8');

/** The cells of the table rows in a part of the page, without the heading and the rule below it. */
function tableRows(part: string): string[][] {
  return part
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

test('the page prints exactly the transitions of the source, in its order', () => {
  const part = /<!-- transitions -->(.*)<!-- \/transitions -->/s.exec(page)?.[1];
  assert.ok(part, 'docs/reference/semantics.md has lost the marks around its table of transitions.');
  assert.deepEqual(
    tableRows(part),
    jobTransitions.map(({ from, event, to }) => [from ?? '–', event, to]),
  );
});

test('the page explains every status, in the order of a job’s life', () => {
  const part = /## The life of a job(.*?)<!-- transitions -->/s.exec(page)?.[1];
  assert.ok(part, 'docs/reference/semantics.md has lost its section "The life of a job".');
  const explained = tableRows(part).map(([status, meaning]) => {
    assert.notEqual(meaning, '', `"${status}" has no meaning beside it.`);
    return status?.replaceAll('`', '');
  });
  assert.deepEqual(explained, [...jobStatuses]);
});
