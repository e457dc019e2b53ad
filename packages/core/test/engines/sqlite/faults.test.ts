// Not part of the shared suite: a disk that is full, a file that cannot be written. Both need a file system of the test's own, made
// in a mount namespace, so that no other process ever sees it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { testFolder } from './folder.ts';

const script = new URL('./faults-child.ts', import.meta.url).pathname;

/** Runs the child in a namespace with its own mounts; null: this machine does not allow that. */
function runWithMounts(mounts: string, folder: string, scenario: string): Record<string, unknown> | null {
  const root = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  if (spawnSync('unshare', [...root, '--mount', 'true']).status !== 0) return null;
  const command = `${mounts} && exec "$0" "$1" "$2" "$3"`;
  const child = spawnSync(
    'unshare',
    [...root, '--mount', 'sh', '-c', command, process.execPath, script, scenario, folder],
    { encoding: 'utf8', timeout: 60_000 },
  );
  assert.equal(child.status, 0, child.stderr);
  return JSON.parse(child.stdout.trim().split('\n').at(-1) as string) as Record<string, unknown>;
}

const noMounts = 'this machine does not allow a process to have its own mounts (unshare --mount)';

test('a full disk refuses what does not fit, loses nothing it had accepted, and goes on once there is space', (t) => {
  const folder = testFolder(t);
  const result = runWithMounts(`mount -t tmpfs -o size=4m tmpfs '${folder}'`, folder, 'full');
  if (result === null) return t.skip(noMounts);
  assert.equal(result.code, 'store_full');
  assert.ok((result.accepted as number) > 0);
  assert.equal(result.present, result.accepted);
  assert.equal(result.acceptedAfterwards, true);
  assert.equal(result.integrity, 'ok');
});

test('a file that can only be read is refused with a code that says so', (t) => {
  const folder = testFolder(t);
  const result = runWithMounts(
    `mount -t tmpfs tmpfs '${folder}' && "$0" "$1" create '${folder}' >&2 && mount -o remount,ro '${folder}'`,
    folder,
    'read-only',
  );
  if (result === null) return t.skip(noMounts);
  assert.equal(result.code, 'store_read_only');
});
