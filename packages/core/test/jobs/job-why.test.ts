import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptRecord, JobRecord } from '../../src/contract/engine.ts';
import { jobStatuses } from '../../src/contract/job-status.ts';
import { explainJob } from '../../src/jobs/job-why.ts';
import type { ListedNode, WhyFacts } from '../../src/jobs/job-why-facts.ts';

const now = Date.parse('2027-01-15T10:00:00Z');
const second = 1_000;
const minute = 60 * second;

function job(fields: Partial<JobRecord> = {}): JobRecord {
  return {
    // {{job.record +nullable | %field: null,}}
    tenant: null,
    metadata: null,
    cancelRequestedAt: null,
    reason: null,
    serial: null,
    copyOf: null,
    dedupeKey: null,
    startedAt: null,
    latenessMs: null,
    finishedAt: null,
    expireAt: null,
    node: null,
    cancelledBy: null,
    error: null,
    result: null,
    // {{/job}}
    id: 'job_1',
    type: 'mail',
    version: 1,
    queue: 'default',
    priority: 0,
    status: 'PENDING',
    input: 'null',
    policy: {
      maxAttempts: 3,
      retry: null,
      timeoutMs: 60 * minute,
      graceMs: 30 * second,
      delivery: 'at-least-once',
      retentionMs: 1,
      deadRetentionMs: 1,
    },
    progress: { percent: 0, message: null, step: null, of: null },
    createdAt: now - minute,
    dueAt: now - minute,
    updatedAt: now - minute,
    attempt: 0,
    spent: 0,
    maxAttempts: 3,
    losses: 0,
    begunLosses: 0,
    attempts: [],
    fence: 0,
    leaseUntilAt: null,
    gates: [],
    parent: null,
    origin: 'event',
    slot: null,
    dead: false,
    ...fields,
  };
}

function attempt(fields: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    n: 1,
    node: 'node_a',
    fence: 7,
    startedAt: now - 30 * second,
    begunAt: null,
    endedAt: now - 10 * second,
    reason: 'threw',
    error: { name: 'TypeError', message: 'x is not a function.\nmore' },
    ...fields,
  };
}

function node(fields: Partial<ListedNode> = {}): ListedNode {
  return {
    id: 'node_a',
    app: 'studio',
    release: null,
    declares: [],
    host: 'h',
    pid: 1,
    roles: ['worker'],
    tasks: [{ type: 'mail', version: 1 }],
    queues: null,
    concurrency: 2,
    running: 0,
    notReady: null,
    startedAt: 0,
    heartbeatAt: now - second,
    drainRequestedAt: null,
    ...fields,
  };
}

function why(fields: Partial<JobRecord>, facts: Partial<WhyFacts> = {}) {
  return explainJob({
    now,
    job: job(fields),
    pauses: [],
    nodes: [node()],
    nodeSilentMs: 40_000,
    blockers: [],
    ready: null,
    running: [],
    ...facts,
  });
}

test('every status has a sentence that names the job and its task', () => {
  for (const status of jobStatuses) {
    const { sentence } = why({ status });
    assert.match(sentence, /^Job "job_1" \(type "mail"\) /, status);
    assert.match(sentence, /\.$/, status);
    assert.doesNotMatch(sentence, /undefined|null|NaN/, status);
  }
});

test('a scheduled job says when it falls due', () => {
  const answer = why({ status: 'SCHEDULED', dueAt: now + 90 * minute });
  assert.match(answer.sentence, /falls due at 2027-01-15T11:30:00\.000Z, in 1 h 30 min\./);
  assert.deepEqual(answer.waitingFor, { kind: 'time', until: new Date(now + 90 * minute) });
  assert.equal(answer.expectedStartAt?.getTime(), now + 90 * minute);
  const snoozed = why({
    status: 'SCHEDULED',
    dueAt: now + 1,
    attempts: [attempt({ reason: 'snoozed', error: null })],
  });
  assert.match(snoozed.sentence, /put it off \(snooze\) in attempt 1, which spent nothing/);
});

test('a pending job says which worker is missing', () => {
  const problems: [Partial<WhyFacts>, string, RegExp][] = [
    [{ nodes: [] }, 'no-node', /No live node works on this store; start one\./],
    [{ nodes: [node({ heartbeatAt: now - 60_000 })] }, 'no-node', /1 silent for more than 40 s/],
    [{ nodes: [node({ roles: ['maintenance'] })] }, 'no-node', /No live node works/],
    [
      { nodes: [node({ tasks: [{ type: 'other', version: 1 }] })] },
      'unhandled-type',
      /No live node handles type "mail"; 1 live node handles "other"\./,
    ],
    [{ nodes: [node({ tasks: [] })] }, 'unhandled-type', /1 live node handles no task/],
    [{ nodes: [node({ queues: ['slow'] })] }, 'other-queues', /do not take from queue "default"/],
    [{ nodes: [node({ notReady: 'All places are held.' })] }, 'not-ready', /"node_a": All places are held/],
    [{ nodes: [node({ drainRequestedAt: now })] }, 'not-ready', /it is draining/],
    [
      { running: [{ node: 'node_a', type: 'other', count: 2 }], ready: { count: 12, capped: false } },
      'busy',
      /Every concurrency slot of the 1 node that could run it is taken; 12 of its type are ready\./,
    ],
    [
      {
        nodes: [node({ tasks: [{ type: 'mail', version: 1, concurrency: 1 }] })],
        running: [{ node: 'node_a', type: 'mail', count: 1 }],
      },
      'busy',
      /Task "mail" runs as often at a time as its concurrency allows on 1 live node\./,
    ],
    [{}, 'none', /1 live node can run it now/],
  ];
  for (const [facts, problem, sentence] of problems) {
    const answer = why({}, facts);
    assert.match(answer.sentence, sentence);
    assert.ok(answer.waitingFor?.kind === 'worker' && answer.waitingFor.problem === problem, answer.sentence);
    assert.equal(answer.expectedStartAt?.getTime(), problem === 'none' ? now : undefined);
  }
  const version = why({ version: 2 });
  assert.match(version.sentence, /created for version 2 of task "mail"; the live nodes have only older ones/);
  const alone = why({ losses: 2, begunLosses: 2 }, { running: [{ node: 'node_a', type: 'mail', count: 1 }] });
  assert.match(alone.sentence, /must run alone in its process, and no node is idle yet/);
  const deadline = why({ expireAt: now + minute });
  assert.match(deadline.sentence, /If it has not started by 2027-01-15T10:01:00\.000Z, it expires\./);
  const over = why({ expireAt: now - minute });
  assert.match(
    over.sentence,
    /Its start deadline was 2027-01-15T09:59:00\.000Z: the next node that looks ends it/,
  );
});

test('only a pause of the job itself, its queue, its type or everything counts, and only while it lasts', () => {
  const pause = { by: 'ada', note: null, since: new Date(now - minute), until: null };
  const facts = (scope: 'all' | 'queue' | 'type', name: string | null, until: Date | null = null) => ({
    pauses: [{ ...pause, scope, name, until }],
  });
  assert.match(
    why({}, facts('all', null)).sentence,
    /Everything is paused since .* by ada, until it is resumed\./,
  );
  assert.match(why({}, facts('type', 'mail')).sentence, /Type "mail" is paused/);
  assert.doesNotMatch(why({}, facts('type', 'other')).sentence, /paused/);
  assert.doesNotMatch(why({}, facts('queue', 'other')).sentence, /paused/);
  assert.doesNotMatch(why({}, facts('all', null, new Date(now))).sentence, /paused/);
  assert.equal(why({}, facts('all', null)).expectedStartAt, null);
  const ending = why({ status: 'SCHEDULED', dueAt: now + 1 }, facts('all', null, new Date(now + minute)));
  assert.equal(ending.expectedStartAt?.getTime(), now + minute);
  assert.deepEqual(
    ending.waitingForAll.map(({ kind }) => kind),
    ['time', 'pause'],
  );
});

test('a blocked job names each gate and who holds it', () => {
  const other = { id: 'job_0', type: 'mail', status: 'RUNNING' as const, startedAt: now };
  const cases: [JobRecord['gates'][number], RegExp][] = [
    [{ kind: 'serial', ref: 'x' }, /Jobs of the serial key "account" run one at a time, and job "job_0"/],
    [
      { kind: 'overlap', ref: 'job_0' },
      /The previous run of its schedule, job "job_0" \(type "mail", RUNNING\), is not finished/,
    ],
    [{ kind: 'parent', ref: 'job_0' }, /It waits for the end of job "job_0"/],
    [{ kind: 'dedupe', ref: 'job_0' }, /It follows job "job_0" .* holds its dedupe key/],
  ];
  for (const [gate, sentence] of cases) {
    const fields = { status: 'BLOCKED' as const, gates: [gate], serial: 'account' };
    assert.match(why(fields, { blockers: [{ gate, job: other }] }).sentence, sentence);
    const unknown = why(fields);
    assert.match(unknown.sentence, gate.kind === 'serial' ? /another one goes first/ : /"job_0"/);
    assert.ok(unknown.waitingFor?.kind === 'gate' && unknown.waitingFor.gate === gate.kind);
  }
});

test('a retrying job says which error it had, and when it runs again', () => {
  const answer = why({
    status: 'RETRYING',
    spent: 2,
    attempt: 2,
    dueAt: now + minute,
    attempts: [attempt()],
  });
  assert.match(
    answer.sentence,
    /failed in attempt 2 of 3: TypeError: x is not a function\. It runs again at 2027-01-15T10:01:00/,
  );
  assert.deepEqual(answer.waitingFor, { kind: 'retry', until: new Date(now + minute) });
  const timeout = why({
    status: 'RETRYING',
    spent: 1,
    dueAt: now + 1,
    attempts: [attempt({ reason: 'timeout' })],
  });
  assert.match(timeout.sentence, /it ran longer than its timeout of 1 h/);
  const asked = why({
    status: 'RETRYING',
    spent: 1,
    dueAt: now + 1,
    attempts: [attempt({ reason: 'retry-asked', error: { name: 'RetryAsked', message: 'not yet' } })],
  });
  assert.match(asked.sentence, /its handler asked to be run again \(RetryAsked: not yet\)/);
  const lost = why({ status: 'RETRYING', losses: 1, attempts: [attempt({ reason: 'lost', error: null })] });
  assert.match(lost.sentence, /lost its node "node_a" during attempt 1 \(loss 1; a loss spends no attempt\)/);
  assert.ok(lost.waitingFor?.kind === 'worker');
});

test('a running job says where, since when, under which lease and until when', () => {
  const fields: Partial<JobRecord> = {
    status: 'RUNNING',
    node: 'node_a',
    spent: 1,
    attempt: 2,
    attempts: [attempt({ n: 2, endedAt: null, reason: null, error: null })],
    leaseUntilAt: now + 20 * second,
    progress: { percent: 55, message: 'Transcoding 720p', step: 2, of: 4 },
  };
  const { sentence, attempts, waitingFor } = why(fields);
  assert.match(sentence, /runs on node "node_a" since 2027-01-15T09:59:30\.000Z \(30 s\), attempt 2 of 3\./);
  assert.match(sentence, /Last progress: 55 % \("Transcoding 720p"\), step 2 of 4\./);
  assert.match(sentence, /Its lease holds until 2027-01-15T10:00:20\.000Z\./);
  assert.match(sentence, /Its timeout of 1 h comes at 2027-01-15T10:59:30\.000Z\./);
  assert.equal(attempts, 2);
  assert.equal(waitingFor, null);
  assert.match(
    why({ ...fields, leaseUntilAt: now - second }).sentence,
    /Its lease ended at .* ago: it will be taken over/,
  );
  assert.match(
    why({ ...fields, cancelRequestedAt: now - second, cancelledBy: 'ada' }).sentence,
    /asked to cancel at 2027-01-15T09:59:59\.000Z by ada and has until its grace of 30 s is over/,
  );
  const endless = why({ ...fields, policy: { ...job().policy, timeoutMs: null } });
  assert.match(endless.sentence, /It has no timeout\./);
});

test('a finished job says what became of it', () => {
  const done = { finishedAt: now, attempt: 1, spent: 1 };
  const completed = why({
    ...done,
    status: 'COMPLETED',
    latenessMs: 10 * second,
    attempts: [attempt({ reason: 'returned', error: null })],
  });
  assert.match(
    completed.sentence,
    /completed at 2027-01-15T10:00:00\.000Z in 30 s on node "node_a"\. It first started 10 s after it was due\./,
  );
  const onTime = why({
    ...done,
    status: 'COMPLETED',
    latenessMs: 0,
    attempts: [attempt({ reason: 'returned' })],
  });
  assert.match(onTime.sentence, /It started on time\./);

  const failed = { ...done, status: 'FAILED' as const, spent: 3, dead: true };
  assert.match(
    why({ ...failed, attempts: [attempt()] }).sentence,
    /failed at .* in attempt 3 of 3, and none is left: TypeError: x is not a function\. It is stored as a dead letter/,
  );
  assert.match(
    why({ ...failed, attempts: [attempt({ reason: 'timeout' })] }).sentence,
    /it ran longer than its timeout/,
  );
  assert.match(
    why({ ...failed, begunLosses: 3, attempts: [attempt({ reason: 'lost', error: null })] }).sentence,
    /lost its node 3 times after its handler had begun/,
  );
  assert.match(
    why({
      ...failed,
      policy: { ...job().policy, delivery: 'at-most-once' },
      attempts: [attempt({ reason: 'lost', error: null })],
    }).sentence,
    /delivered at most once never starts again/,
  );
  assert.match(
    why({
      ...failed,
      error: { name: 'DulyError', message: 'no' },
      attempts: [attempt({ reason: 'input-refused' })],
    }).sentence,
    /without retries: its input no longer fits the schema of the task \(DulyError: no\)/,
  );
  assert.match(
    why({ ...failed, attempts: [attempt({ reason: 'result-refused' })] }).sentence,
    /cannot be stored as JSON/,
  );

  assert.match(
    why({ ...done, attempt: 0, status: 'CANCELLED', cancelledBy: 'ada', reason: 'cancelled' }).sentence,
    /was cancelled at 2027-01-15T10:00:00\.000Z by ada, before it started\./,
  );
  assert.match(
    why({ ...done, status: 'CANCELLED', reason: 'overlap' }).sentence,
    /in attempt 1 \(overlap\)\./,
  );
  assert.match(
    why({ finishedAt: now, status: 'EXPIRED', dueAt: now - 10 * minute, expireAt: now - 5 * minute })
      .sentence,
    /had to start within 5 min, by 2027-01-15T09:55:00\.000Z, and no worker started it in time/,
  );
});
