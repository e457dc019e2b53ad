/**
 * A writer is killed and the end of its WAL is damaged, as by a disk that wrote the last sectors badly. SQLite promises this: a
 * commit is read back if all frames up to and including its last one are whole; at the first damaged frame reading ends. So what was
 * committed before the damaged frame is there, and the damaged commit itself, and what came after it, are gone: by the damage.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { Duly } from '../../packages/core/src/index.ts';

const frameHeaderBytes = 24;
const walHeaderBytes = 32;

/** The file of a killed writer, and what it had been told. */
interface Killed {
  folder: string;
  db: Buffer;
  wal: Buffer;
  /** Jobs that were acknowledged, in order. */
  acknowledged: string[];
  /** Where each commit of the WAL ends, in bytes, oldest first. */
  commitEnds: number[];
}

let killed: Killed;

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-wal-'));
  const path = join(folder, 'duly.db');
  const writer = fork(new URL('./wal-writer.ts', import.meta.url), [`sqlite:${path}`]);
  const acknowledged: string[] = [];
  writer.on('message', (id: string) => {
    acknowledged.push(id);
    if (acknowledged.length === 60) writer.kill('SIGKILL');
  });
  await once(writer, 'exit');
  assert.equal(writer.signalCode, 'SIGKILL');
  const wal = readFileSync(`${path}-wal`);
  killed = { folder, db: readFileSync(path), wal, acknowledged, commitEnds: readCommitEnds(wal) };
  rmSync(folder, { recursive: true });
});

/** Walks the frames of a WAL. A frame belongs to it while its salt is the header's; one with a size in it ends a commit. */
function readCommitEnds(wal: Buffer): number[] {
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8);
  const salt = wal.subarray(16, 24);
  const ends: number[] = [];
  for (let at = walHeaderBytes; at + frameBytes <= wal.length; at += frameBytes) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break;
    if (wal.readUInt32BE(at + 4) > 0) ends.push(at + frameBytes);
  }
  return ends;
}

/** Opens a copy of the killed writer's file with this WAL; answers the jobs in it, after it has made one more and run them all. */
async function openWith(t: TestContext, wal: Buffer): Promise<Set<string>> {
  const folder = mkdtempSync(join(tmpdir(), 'duly-wal-'));
  const path = join(folder, 'duly.db');
  writeFileSync(path, killed.db);
  writeFileSync(`${path}-wal`, wal);
  const duly = new Duly({ store: `sqlite:${path}`, app: 'reader' });
  t.after(async () => {
    await duly.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const task = duly.task({ name: 'work', run: () => null });
  const found = new Set<string>();
  for await (const { id } of duly.jobs()) found.add(id);
  // It goes on: takes a promise, and keeps the old ones and the new one.
  const one = await task.now({});
  await duly.start();
  for (const id of [...found, one.id]) assert.equal((await duly.job(id).wait()).status, 'COMPLETED');
  return found;
}

/** The jobs up to and including the nth-last commit, as a WAL that was cut off cleanly there gives them. */
const upTo = (t: TestContext, back: number) =>
  openWith(t, killed.wal.subarray(0, killed.commitEnds.at(-1 - back)));

test('the WAL of a killed writer holds everything that was acknowledged', async (t) => {
  const found = await openWith(t, killed.wal);
  for (const id of killed.acknowledged) assert.ok(found.has(id), id);
  // The last call may have been committed without its answer.
  assert.ok(found.size - killed.acknowledged.length <= 1, `${found.size}`);
});

test('a last frame that was cut off loses its own commit and nothing else', async (t) => {
  const whole = await upTo(t, 0);
  const expected = await upTo(t, 1);
  assert.equal(whole.size - expected.size, 1);
  const end = killed.commitEnds.at(-1) as number;
  for (const cut of [1, 100, 4_096]) {
    assert.deepEqual(await openWith(t, killed.wal.subarray(0, end - cut)), expected, `${cut} bytes cut`);
  }
});

test('frames that were scribbled over lose their commit and what came after it, and nothing before', async (t) => {
  for (const back of [0, 1, 5]) {
    const expected = await upTo(t, back + 1);
    const wal = Buffer.from(killed.wal);
    const end = killed.commitEnds.at(-1 - back) as number;
    wal.fill(0xa5, end - 2_000, end - 1_900);
    assert.deepEqual(await openWith(t, wal), expected, `${back} commits before the last`);
    const acknowledgedBefore = killed.acknowledged.slice(0, killed.acknowledged.length - back - 2);
    for (const id of acknowledgedBefore) assert.ok(expected.has(id), id);
  }
});

test('a header of a frame that was scribbled over, and garbage behind the last frame, are passed over', async (t) => {
  const expected = await upTo(t, 1);
  const wal = Buffer.from(killed.wal);
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8);
  const end = killed.commitEnds.at(-1) as number;
  wal.fill(0xff, end - frameBytes, end - frameBytes + frameHeaderBytes);
  assert.deepEqual(await openWith(t, wal), expected);
  const garbage = Buffer.alloc(10_000, 0x5a);
  const whole = await upTo(t, 0);
  assert.deepEqual(await openWith(t, Buffer.concat([killed.wal.subarray(0, end), garbage])), whole);
});
