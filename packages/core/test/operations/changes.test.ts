import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ChangesPage, Duly } from '../../src/index.ts';

function setup(t: { after(fn: () => Promise<void>): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-changes-'));
  const store = `sqlite:${join(folder, 'duly.db')}`;
  const opened: Duly[] = [];
  t.after(async () => {
    for (const duly of opened) await duly.stop();
    rmSync(folder, { recursive: true });
  });
  return () => {
    const duly = new Duly({ store });
    opened.push(duly);
    return duly;
  };
}

async function pageOf(pages: AsyncIterator<ChangesPage>): Promise<ChangesPage> {
  const { done, value } = await pages.next();
  assert.ok(done !== true);
  return value;
}

test('changes() tells what happens to jobs of other processes, and goes on where a program left off', async (t) => {
  const open = setup(t);
  const [reader, writer] = [open(), open()];
  const pages = reader.changes();
  const { position } = await pageOf(pages);
  const task = writer.task({
    name: 'work',
    run: ({ progress, log }) => progress(50).then(() => log('half')),
  });
  const handle = await task.in('1h', 1);
  const page = await pageOf(pages);
  assert.deepEqual(
    page.changes.map(({ id, type, status, event }) => [id, type, status, event]),
    [[handle.id, 'work', 'SCHEDULED', 'created']],
  );
  assert.ok(page.changes[0]?.at instanceof Date);
  await pages.return?.();
  assert.deepEqual(await pages.next(), { done: true, value: undefined });

  await handle.reschedule({ in: '1ms' });
  await writer.start();
  await handle.wait();
  const events: string[] = [];
  for await (const { changes, gap } of open().changes({ after: position })) {
    assert.equal(gap, false);
    events.push(...changes.map(({ event }) => event));
    if (changes.some(({ status }) => status === 'COMPLETED')) break;
  }
  const [created, ...rest] = events;
  assert.equal(created, 'created');
  assert.ok(rest.includes('progress') && rest.includes('claimed'), rest.join());
});

test('changes() ends with its signal and with its Duly, and refuses what it does not know', async (t) => {
  const open = setup(t);
  const duly = open();
  const signal = AbortSignal.abort();
  assert.equal((await duly.changes({ signal }).next()).done, true);
  const aborter = new AbortController();
  const pages = duly.changes({ signal: aborter.signal });
  await pages.next();
  const waiting = pages.next();
  aborter.abort();
  assert.equal((await waiting).done, true);

  const others = duly.changes();
  await others.next();
  const last = others.next();
  await duly.stop();
  assert.equal((await last).done, true);

  const refused = (options: unknown) => () => duly.changes(options as never);
  assert.throws(refused({ after: -1 }), { code: 'invalid_option' });
  assert.throws(refused({ afte: 1 }), { code: 'invalid_option' });
  assert.throws(refused({ signal: 1 }), { code: 'invalid_option' });
});

test('logs({ after }) gives the lines after one that is known', async (t) => {
  const duly = setup(t)();
  const task = duly.task({
    name: 'talk',
    run: ({ log }) => {
      for (const word of ['one', 'two', 'three']) log(word);
    },
  });
  await duly.start();
  const handle = await task.now(null);
  await handle.wait();
  const lines = await handle.logs();
  assert.deepEqual(
    (await handle.logs({ after: lines[0]?.n })).map(({ message }) => message),
    ['two', 'three'],
  );
  assert.deepEqual(await handle.logs({ after: lines.at(-1)?.n }), []);
});
