import assert from 'node:assert/strict';
import type { Engine, LogLine, Progress } from '@duly/core/internal';
import { settlement, t0 } from './builders.ts';
import { cancel, claimOne, createRunning, finish, only, read, settle } from './steps.ts';
import type { DefineTest } from './suite.ts';

const progress = (percent: number, fields: Partial<Progress> = {}): Progress => ({
  percent,
  message: null,
  step: null,
  of: null,
  ...fields,
});

let lastLine = 0;
const lines = (...messages: string[]): LogLine[] =>
  messages.map((message, n) => {
    lastLine += 1;
    return { line: lastLine, at: t0 + n, level: 'info', message };
  });

async function report(
  engine: Engine,
  lease: { id: string; fence: number },
  body: { progress?: Progress; logs?: LogLine[] },
  logLimit = 100,
): Promise<'kept' | 'lost'> {
  const { id, fence } = lease;
  const reports = [{ id, fence, progress: body.progress ?? null, logs: body.logs ?? [] }];
  return only((await engine.report({ now: t0, logLimit, reports })).reports);
}

/** What `report` and `logs` promise. */
export function reportTests(test: DefineTest): void {
  test('progress of a running attempt is shown', async ({ engine }) => {
    const lease = await createRunning(engine);
    const shown = progress(55.5, { message: 'Transcoding 720p', step: 2, of: 4 });
    assert.equal(await report(engine, lease, { progress: shown }), 'kept');
    assert.deepEqual((await read(engine, lease.id)).progress, shown);
  });

  test('progress never goes back within an attempt', async ({ engine }) => {
    const lease = await createRunning(engine);
    await report(engine, lease, { progress: progress(50) });
    await report(engine, lease, { progress: progress(30) });
    assert.equal((await read(engine, lease.id)).progress.percent, 50);
    await report(engine, lease, { progress: progress(60) });
    assert.equal((await read(engine, lease.id)).progress.percent, 60);
    await finish(engine, lease, 'RETRYING', { due: { inMs: 0 } });
    const again = await claimOne(engine);
    await report(engine, again, { progress: progress(10) });
    assert.equal((await read(engine, lease.id)).progress.percent, 10, 'a new attempt starts anew');
  });

  test('a report that arrives twice keeps its lines once', async ({ engine }) => {
    const lease = await createRunning(engine);
    const logs = lines('one', 'two');
    await report(engine, lease, { logs });
    await report(engine, lease, { logs: [...logs, ...lines('three')] });
    const { lines: stored } = await engine.logs({ now: t0, id: lease.id, after: 0, limit: 10 });
    assert.deepEqual(
      stored.map(({ message }) => message),
      ['one', 'two', 'three'],
    );
  });

  test('log lines are kept in order, numbered on, with their attempt', async ({ engine }) => {
    const lease = await createRunning(engine);
    await report(engine, lease, { logs: lines('one', 'zwei – 二') });
    await finish(engine, lease, 'RETRYING', { due: { inMs: 0 } });
    const again = await claimOne(engine);
    await report(engine, again, { logs: [{ line: 1, at: t0 + 9, level: 'error', message: 'three' }] });
    const { lines: stored } = await engine.logs({ now: t0, id: lease.id, after: 0, limit: 10 });
    assert.deepEqual(
      stored.map(({ message, level, at, attempt }) => ({ message, level, at, attempt })),
      [
        { message: 'one', level: 'info', at: t0, attempt: 1 },
        { message: 'zwei – 二', level: 'info', at: t0 + 1, attempt: 1 },
        { message: 'three', level: 'error', at: t0 + 9, attempt: 2 },
      ],
    );
    const numbers = stored.map(({ n }) => n);
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
    );
  });

  test('log lines are read in pages, before and after the job has ended', async ({ engine }) => {
    const lease = await createRunning(engine);
    await report(engine, lease, { logs: lines('a', 'b', 'c', 'd', 'e') });
    const readAll = async (): Promise<string[]> => {
      const messages: string[] = [];
      for (let after = 0; ; ) {
        const page = (await engine.logs({ now: t0, id: lease.id, after, limit: 2 })).lines;
        assert.ok(page.length <= 2);
        const last = page.at(-1);
        if (last === undefined) return messages;
        messages.push(...page.map(({ message }) => message));
        after = last.n;
      }
    };
    assert.deepEqual(await readAll(), ['a', 'b', 'c', 'd', 'e']);
    await finish(engine, lease, 'COMPLETED');
    assert.deepEqual(await readAll(), ['a', 'b', 'c', 'd', 'e']);
    assert.deepEqual((await engine.logs({ now: t0, id: 'job_nowhere', after: 0, limit: 5 })).lines, []);
  });

  test('only so many log lines are kept: the oldest give way', async ({ engine }) => {
    const lease = await createRunning(engine);
    await report(engine, lease, { logs: lines('1', '2', '3', '4') }, 3);
    await report(engine, lease, { logs: lines('5', '6') }, 3);
    const stored = (await engine.logs({ now: t0, id: lease.id, after: 0, limit: 10 })).lines;
    assert.deepEqual(
      stored.map(({ message }) => message),
      ['4', '5', '6'],
    );
  });

  test('reports are answered one by one; what is lost writes nothing', async ({ engine }) => {
    const stored = await createRunning(engine);
    const ended = await createRunning(engine);
    await finish(engine, ended, 'COMPLETED');
    const terminated = await createRunning(engine);
    await cancel(engine, { id: terminated.id }, t0, 'terminate');
    const body = { progress: progress(40, { message: 'late' }), logs: lines('late') };
    const reports = [
      { id: ended.id, fence: ended.fence, ...body },
      { id: stored.id, fence: stored.fence, ...body },
      { id: stored.id, fence: stored.fence - 1, ...body, progress: progress(90) },
      { id: terminated.id, fence: terminated.fence, ...body },
      { id: 'job_nowhere', fence: 1, ...body },
    ];
    const reply = await engine.report({ now: t0, logLimit: 10, reports });
    assert.deepEqual(reply.reports, ['lost', 'kept', 'lost', 'lost', 'lost']);
    assert.equal((await read(engine, stored.id)).progress.percent, 40);
    assert.equal((await read(engine, ended.id)).progress.percent, 100);
    for (const { id } of [ended, terminated]) {
      assert.deepEqual((await engine.logs({ now: t0, id, after: 0, limit: 10 })).lines, []);
    }
  });

  test('a report does not renew the lease', async ({ engine }) => {
    const lease = await createRunning(engine);
    const before = (await read(engine, lease.id)).leaseUntilAt;
    await report(engine, lease, { progress: progress(1) });
    assert.equal((await read(engine, lease.id)).leaseUntilAt, before);
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED')), 'done');
  });
}
