import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Duly } from '@duly/core';
import { createFolder, quickTasks } from './command.ts';

test('watch ends with the outcome of the job', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  // Nothing runs yet: jobs wait, and can be cancelled.
  const cancelled = (await folder.json('run', 'hello', 'nobody')).id;
  const cancel = await folder.duly('jobs', 'cancel', cancelled, '--note', 'not needed');
  assert.match(cancel.out, /^job_\w+ CANCELLED\n$/);
  await folder.duly('pause', 'queue', 'brief');
  const expired = (await folder.json('run', 'brief')).id;
  const up = folder.start('up');
  await up.line(/is up/);

  const completed = await folder.duly('run', 'hello', 'Ada', '--watch');
  assert.equal(completed.code, 0);
  assert.match(completed.out, /^job_\w+\n/);
  assert.match(completed.out, /COMPLETED.*\nresult: "Hello Ada"\n$/);
  const failed = await folder.duly('run', 'failing', '--watch');
  assert.equal(failed.code, 10);
  assert.match(failed.out, /FAILED.*\nerror: TypeError: It cannot work\.\n/);
  assert.equal((await folder.duly('watch', cancelled)).code, 11);
  const shown = await folder.duly('jobs', 'show', cancelled);
  assert.match(shown.out, /WHEN +WHO +DID +NOTE\n.* ago +\S+ +cancel +not needed\n/);
  assert.equal((await folder.duly('jobs', 'watch', expired)).code, 12);

  const stream = await folder.duly('run', 'hello', 'Eve', '--watch', '-o', 'json');
  const last = stream.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .at(-1);
  assert.equal(last.status, 'COMPLETED');
  assert.equal(last.result, 'Hello Eve');

  const logs = await folder.duly('jobs', 'logs', last.id, '--follow');
  assert.match(logs.out, /info {2}#1 Greeting Eve\n {2}\| on two lines\n$/);
  const missing = await folder.duly('watch', 'job_nothing');
  assert.equal(missing.code, 3);
  assert.match(missing.err, /^error\[job_not_found\]: No job has the id "job_nothing"\.\nhint: /);
});

test('run reads its input as JSON or else as a text, and keeps what the options say', async (t) => {
  const folder = createFolder(t);
  const text = await folder.json('run', 'mail', 'to whom it may concern');
  assert.equal(text.input, 'to whom it may concern');
  assert.equal((await folder.json('run', 'mail', '42')).input, 42);
  assert.deepEqual((await folder.json('run', 'mail', '{"user": {"id": 7}}')).input, { user: { id: 7 } });
  const slip = await folder.duly('run', 'mail', '{"user": 7');
  assert.match(slip.err, /warning: The input begins like JSON but is not JSON/);
  const piped = await folder.dulyWithInput('[1, 2]', 'run', 'mail', '-', '-o', 'json');
  assert.deepEqual(JSON.parse(piped.out).input, [1, 2]);
  const echoed = await folder.dulyWithInput('hi\n\n', 'run', 'mail', '-', '-o', 'json');
  assert.equal(JSON.parse(echoed.out).input, 'hi\n', 'one line end is not a part of the text');

  const job = await folder.json(
    ...['run', 'mail', '--queue', 'slow', '--priority', '-5', '--tenant', 'acme', '--serial', 'inbox'],
    ...['--metadata', '{"from": "test"}', '--metadata', 'n=1', '--key', 'k', '--in', '400 days'],
  );
  assert.equal(job.status, 'SCHEDULED');
  assert.equal(job.queue, 'slow');
  assert.equal(job.priority, -5);
  assert.equal(job.tenant, 'acme');
  assert.equal(job.serial, 'inbox');
  assert.equal(job.key, 'k');
  assert.equal(job.metadata.from, 'test');
  assert.equal(job.metadata.n, 1);
  assert.equal(job.waiting_for.kind, 'time');
  const again = await folder.duly('run', 'mail', '--key', 'k', '--tenant', 'acme');
  assert.equal(again.out.trim(), job.id);
  assert.match(again.err, /No new job: this one holds the key \(SCHEDULED\)/);

  const moved = await folder.duly('jobs', 'reschedule', job.id, '--at', '2030-01-01T00:00:00Z');
  assert.match(moved.out, /SCHEDULED for 2030-01-01T00:00:00\.000Z \(moved\)/);
  const byKey = await folder.json('jobs', 'cancel', '--type', 'mail', '--key', 'k', '--tenant', 'acme');
  assert.deepEqual(Object.keys(byKey).sort(), ['due_at', 'id', 'result', 'status']);
  assert.equal(byKey.result, 'changed');
  const unknown = await folder.duly('jobs', 'show', 'nope');
  assert.match(
    unknown.err,
    /^error\[job_not_found\]: No job has the id "nope"\.\nhint: .*begins with "job_"/,
  );
  const refused = await folder.duly('jobs', 'reschedule', job.id, '--in', '5m');
  assert.equal(refused.code, 4);
  assert.match(refused.err, /error\[job_not_changeable\]/);
  const back = await folder.duly('jobs', 'retry', job.id, 'job_nothing');
  assert.equal(back.code, 3, 'one that is not there does not keep the other from being done');
  assert.match(back.out, /PENDING \(brought back\)/);

  const found = await folder.json('jobs', 'ls', '--input', 'user.id=7');
  assert.deepEqual(
    found.data.map((one: { input: unknown }) => one.input),
    [{ user: { id: 7 } }],
  );
  assert.equal((await folder.json('jobs', 'ls', 'acme', 'pending')).data[0].id, job.id);
  assert.deepEqual((await folder.json('jobs', 'ls', 'acme', 'completed')).data, []);
  const page = await folder.json('jobs', 'ls', '--limit', '2', '--since', '1h');
  assert.equal(page.data.length, 2);
  assert.equal(page.has_more, true);
  const next = await folder.json('jobs', 'ls', '--limit', '1', '--cursor', page.next_cursor);
  assert.equal(next.data.length, 1);
  assert.ok(next.data[0].id < page.data[1].id, 'newest first');
});

test('dead letters are listed, brought back and discarded', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const up = folder.start('up');
  await up.line(/is up/);
  for (const input of ['1', '2', '3']) await folder.duly('run', 'failing', input, '--watch');
  const { data } = await folder.json('dead', 'ls');
  assert.equal(data.length, 3);
  assert.ok(
    data.every(
      (job: { dead: boolean; error: { name: string } }) => job.dead && job.error.name === 'TypeError',
    ),
  );
  const [first, second] = data.map((job: { id: string }) => job.id);

  const table = await folder.duly('dead', 'ls', '--error', 'cannot work');
  assert.match(table.out, /^ID .*TYPE .*STATUS .*DETAIL\n/);
  assert.match(table.out, new RegExp(`${first} +failing +FAILED .*TypeError: It cannot work\\.`));

  assert.deepEqual(await folder.json('dead', 'discard', first), { changed: 1, refused: 0, dry_run: false });
  const twice = await folder.duly('dead', 'discard', first);
  assert.equal(twice.code, 4);
  assert.match(twice.err, /is FAILED and was discarded; it is not a dead letter/);
  const none = await folder.duly('dead', 'retry', 'job_nothing');
  assert.equal(none.code, 3);
  assert.equal(none.out, '');
  assert.deepEqual(await folder.json('dead', 'retry', 'job_nothing'), {
    changed: 0,
    refused: 1,
    dry_run: false,
  });
  assert.equal((await folder.json('dead', 'retry', '--all', '--dry-run')).changed, 2);
  await folder.duly('pause', 'type', 'failing');
  assert.match((await folder.duly('dead', 'retry', second)).out, /^1 dead letter brought back\.\n$/);
  assert.equal((await folder.json('jobs', 'show', second)).status, 'PENDING');
  assert.match(
    (await folder.duly('dead', 'retry', '--type', 'failing', '--yes')).out,
    /^1 dead letter brought back/,
  );
  assert.deepEqual((await folder.json('dead', 'ls')).data, []);
  const nothing = await folder.duly('dead', 'retry');
  assert.equal(nothing.code, 2);
  assert.match(nothing.err, /^error\[usage\]: Name the dead letters by their ids, or say --all/);
});

test('a pause keeps jobs waiting, why names it, and resume ends it', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const up = folder.start('up');
  await up.line(/is up/);
  const pause = await folder.duly('pause', 'type', 'hello', '--note', 'mail server is down', '--for', '2h');
  assert.match(pause.out, /^Type "hello" is paused until 20/);
  const id = (await folder.duly('run', 'hello', 'Ada')).out.trim();
  const why = await folder.duly('why', id);
  assert.match(why.out, /Type "hello" is paused since .*, who noted "mail server is down", until /);
  assert.equal((await folder.json('why', id)).waiting_for.kind, 'pause');
  const pauses = await folder.json('pause', 'ls');
  assert.equal(pauses.has_more, false);
  assert.equal(pauses.next_cursor, null);
  const [listed] = pauses.data;
  assert.ok(Date.parse(listed.since_at) < Date.parse(listed.until_at));
  assert.match((await folder.duly('jobs', 'ls')).out, /PENDING .* its type is paused\n/);
  await folder.duly('pause', 'queue', 'a,b');
  const known = await folder.json('queues');
  assert.deepEqual(
    known.data.map(({ queue, paused }: { queue: string; paused: boolean }) => [queue, paused]),
    [
      ['a,b', true],
      ['default', false],
    ],
  );
  assert.equal((await folder.json('jobs', 'ls', '--queue', 'a\\,b', '--queue', 'default')).data.length, 1);
  assert.equal(listed.scope, 'type');
  assert.equal(listed.name, 'hello');
  assert.match((await folder.duly('queues')).out, /default +hello +1 .*paused/);

  const queueSlip = await folder.duly('pause', 'queue', 'defualt');
  assert.match(
    queueSlip.err,
    /^warning: No job, schedule or live node names a queue "defualt"\. Did you mean "default"\?\n/,
  );
  const { err: unlike } = await folder.duly('pause', 'queue', 'briefs', '--for', '1s');
  assert.doesNotMatch(unlike, /warning/, 'nothing is similar yet');
  await folder.duly('run', 'later', '--queue', 'brief', '--in', '1h');
  assert.match((await folder.duly('pause', 'queue', 'briefs', '--for', '1s')).err, /Did you mean "brief"\?/);
  assert.doesNotMatch((await folder.duly('pause', 'queue', 'brief', '--for', '1s')).err, /warning/);
  for (const queue of ['defualt', 'brief', 'briefs']) await folder.duly('resume', 'queue', queue);

  const slip = await folder.duly('resume', 'type', 'helo');
  assert.match(slip.out, /^Type "helo" was not paused/);
  assert.match(slip.err, /Did you mean "hello"\?/);
  assert.match((await folder.duly('resume', 'type', 'hello')).out, /^Type "hello" is resumed/);
  assert.equal((await folder.duly('watch', id)).code, 0);

  await folder.duly('pause', 'all');
  const still = await folder.duly('pause', 'queue', 'default');
  assert.match(still.out, /^Queue "default" is paused until it is resumed/);
  assert.match((await folder.duly('resume', 'queue', 'default')).err, /Everything is still paused/);
  const all = await folder.duly('resume', 'all');
  assert.match(all.out, /^The pause of everything is over\./);
  assert.match(all.err, /^warning: Queue "a,b" is still paused; see: .* pause ls\n/);
  await folder.duly('resume', 'queue', 'a,b');
  assert.match((await folder.duly('resume', 'all')).out, /^There was no pause of everything\./);
  assert.match((await folder.duly('pause', 'ls')).err, /^Nothing is paused/);
});

test('locks ls tells who holds which locks', async (t) => {
  const folder = createFolder(t);
  assert.equal((await folder.duly('migrate')).code, 0);
  assert.match((await folder.duly('locks', 'ls')).err, /No lock is held\.\n$/);
  const duly = new Duly({ store: `sqlite:${join(folder.path, 'duly.db')}` });
  t.after(() => duly.stop());
  for (const name of ['b', 'a']) await duly.locks.acquire(name, { ttl: '10m' });
  const { data, has_more: hasMore } = await folder.json('locks', 'ls', '--limit', '1');
  assert.deepEqual(
    [data[0].kind, data[0].name, data[0].holder.pid, hasMore],
    ['lock', 'a', process.pid, true],
  );
  assert.ok(data[0].fence > 0 && data[0].ttl_ms <= 600_000 && Date.parse(data[0].until_at) > 0);
  const shown = await folder.duly('locks', 'ls', '--prefix', 'b');
  assert.match(shown.out, new RegExp(`lock +b +\\S+ on .*:${process.pid} +in (10|9) min`));
  assert.equal((await folder.duly('locks', 'ls', '--kind', 'look')).code, 2);
});

test('a task that nobody handles is accepted, and why says that nobody does', async (t) => {
  const folder = createFolder(t);
  const alone = await folder.duly('run', 'hello', 'Ada');
  assert.equal(alone.code, 0);
  assert.match(alone.err, /warning: There was no store at "sqlite:\.\/duly\.db" yet; it was created\./);
  assert.match(alone.err, /warning: No worker runs on this store/);
  folder.write(quickTasks);
  const up = folder.start('up');
  await up.line(/hello completed/);
  const slip = await folder.duly('run', 'helo', 'Ada');
  assert.equal(slip.code, 0);
  assert.match(
    slip.err,
    /warning: No live node handles "helo"; the job waits for one\. Did you mean "hello"\?/,
  );
  const watch = folder.start('watch', slip.out.trim());
  await watch.line(/No live node handles type "helo"/);
  watch.signal('SIGINT');
  const interrupted = await watch.ended;
  assert.equal(interrupted.code, 130);
  assert.match(interrupted.err, /^The job goes on\. To stop it: .* jobs cancel job_/);
  const ended = folder.start('watch', slip.out.trim(), '--store', 'sqlite:./duly.db?busy=1s');
  await ended.line(/PENDING/);
  ended.signal('SIGTERM');
  const { code, err } = await ended.ended;
  assert.equal(code, 143);
  assert.match(err, /^The job goes on\./);
  assert.match((await folder.duly('jobs', 'ls')).out, /helo +PENDING .*no node handles it\n/);
  const why = await folder.duly('why', slip.out.trim());
  assert.match(
    why.out,
    /No live node handles type "helo"; 1 live node handles "brief", "failing", "hello"\./,
  );
  const second = folder.start('worker', '--roles', 'worker', '--queues', 'other');
  await second.line(/roles {2}worker$/);
  await second.line(/queues other$/);
  await second.line(/runs {3}20 at a time$/);
  await second.line(/^ {2}1 job of "helo" waits: no live node handles it$/);
});
