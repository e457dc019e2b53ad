// Jobs that several people cancel, and who is kept as the one who did.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storedAsReported } from '../checker/stored-as-reported.ts';
import type { Changed } from '../history.ts';
import { changed, created, judge } from './judge.ts';

/** What is said of a cancelled job after these acts, if it is kept as cancelled by this person. */
const breaks = (cancelledBy: string, ...acts: Changed[]): string =>
  judge(
    storedAsReported,
    [created(0, 'job_1'), ...acts],
    [{ id: 'job_1', status: 'CANCELLED', error: null, cancelledBy }],
  );

test('who ended a job at once has cancelled it, else who first asked its handler to stop', () => {
  const ann = changed(10, 'cancel', 'job_1', { result: 'asked', actor: 'ann' });
  const bob = changed(20, 'cancel', 'job_1', { result: 'asked', actor: 'bob' });
  assert.equal(breaks('ann', ann, bob), '');
  assert.match(breaks('bob', ann, bob), /was cancelled by "ann" at 00:00:00.010, and is kept as .* "bob"/);
  for (const verb of ['terminate', 'cancel'] as const) {
    const eve = changed(30, verb, 'job_1', { actor: 'eve' });
    assert.equal(breaks('eve', ann, bob, eve), '');
    assert.match(
      breaks('ann', ann, bob, eve),
      /was cancelled by "eve" at 00:00:00.030, and is kept as .* "ann"/,
    );
  }
});
