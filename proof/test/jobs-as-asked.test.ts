// Calls that fold into a job, repeats of them after a lost reply, and the options of calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobRecord } from '../../packages/core/src/contract/engine.ts';
import { jobsAsAsked } from '../checker/jobs-as-asked.ts';
import type { Changed, CreatedJob, HistoryEvent, ReplacedFields } from '../history.ts';
import { changed, created, judge } from './judge.ts';

const own = { version: 1, queue: 'default', priority: 0, maxAttempts: 3, timeoutMs: null } as const;

const job = (at: number, id: string): HistoryEvent =>
  created(at, id, {
    ...{ ...own, input: '"own"', rankOffsetMs: 0, dueAt: at, serial: null, origin: 'api', slot: null },
    ...{ retry: {}, delivery: 'at-least-once' },
  } as Partial<CreatedJob>);

/** A stored job with what it took over from its calls. */
const stored = (id: string, { timeoutMs, ...taken }: Partial<ReplacedFields>): Partial<JobRecord> =>
  ({
    ...{ id, type: 'work', tenant: null, serial: null, origin: 'api', slot: null, dedupeKey: null },
    ...{ ...own, input: '"call"', ...taken },
    policy: { timeoutMs: timeoutMs ?? null, retry: {}, delivery: 'at-least-once' },
  }) as unknown as Partial<JobRecord>;

/** Call `call` with the input `"call"` is folded into a job and replaces it. */
const fold = (
  at: number,
  id: string,
  repeat: boolean,
  fields: Partial<ReplacedFields> = {},
): HistoryEvent => {
  const folded = { call: 'job_9', repeat, input: '"call"', replaces: true, wantedAt: at, dueAt: at, fields };
  return changed(at, 'fold', id, { folded: folded as Changed['folded'] });
};

/** What is said when a repeat at `at` is folded into another job than the call was first, and that job then has this input. */
const breaks = (at: number, input: string): string =>
  judge(
    jobsAsAsked,
    [
      job(0, 'job_1'),
      fold(1_000, 'job_1', false),
      fold(600_500, 'job_1', true),
      job(600_600, 'job_2'),
      fold(at, 'job_2', true),
    ],
    [{ ...stored('job_2', {}), input }],
  );

test('a repeat of a folded call changes nothing until the first fold is forgotten', () => {
  assert.equal(breaks(600_999, '"own"'), '');
  assert.match(breaks(600_999, '"call"'), /job_2 has the input "call"; it was given "own"/);
  assert.equal(breaks(601_000, '"own"'), '');
  assert.equal(breaks(601_000, '"call"'), '');
});

test('a job that was created with another option than was asked for is reported with both', () => {
  const call = { node: 'n', call: 1, what: 'create' };
  const wants = { input: '"own"', inMs: null, dueAt: null, options: { queue: 'mail' } };
  const of = (queue: string): string =>
    judge(jobsAsAsked, [
      { kind: 'asked', at: 0, ...call, subject: null, wants },
      created(1, 'job_1', { input: '"own"', priority: 0, rankOffsetMs: 0, dueAt: 1, queue }),
      { kind: 'answered', at: 2, ...call, outcome: 'acknowledged', subject: 'job_1' },
    ]);
  assert.equal(of('mail'), '');
  assert.equal(of('default'), 'Job job_1 was asked for with the queue "mail" and created with "default".');
});

test('a replaced job that does not have all that the last call asked for is reported', () => {
  const wanted = { version: 2, queue: 'mail', priority: 5, maxAttempts: 9, timeoutMs: 1_000 };
  const breaksWith = (kept: Partial<ReplacedFields>): string =>
    judge(
      jobsAsAsked,
      [job(0, 'job_1'), fold(1_000, 'job_1', false, wanted)],
      [stored('job_1', { ...wanted, ...kept })],
    );
  assert.equal(breaksWith({}), '');
  for (const name of ['version', 'queue', 'priority', 'maxAttempts', 'timeoutMs'] as const)
    assert.match(breaksWith({ [name]: own[name] ?? undefined }), new RegExp(`is stored with the ${name} `));
});

test('a call waits at most `maxWait` after the job was created in a transaction, not after its commit', () => {
  const late = job(2_000, 'job_1') as HistoryEvent & { calledAt?: number };
  const folds = (dueAt: number): string => {
    const folded = {
      call: 'job_9',
      repeat: false,
      input: '"own"',
      replaces: true,
      wantedAt: 2_500,
      maxWaitMs: 1_000,
    };
    const event = changed(2_100, 'fold', 'job_1', {
      folded: { ...folded, dueAt, fields: {} } as Changed['folded'],
    });
    return judge(jobsAsAsked, [{ ...late, calledAt: 1_000 } as HistoryEvent, event], []);
  };
  assert.equal(folds(2_000), '');
  assert.match(folds(2_500), /wanted job job_1 at .*02\.000, and it is due at .*02\.500/);
});
