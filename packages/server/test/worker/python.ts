import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

const example = join(import.meta.dirname, '../../../../examples/python-worker');

/** Why the tests that need Python cannot run; false: they can. */
export function withoutPython(): string | false {
  const { status, stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.version_info >= (3, 8))'], {
    encoding: 'utf8',
  });
  return status === 0 && stdout.trim() === 'True'
    ? false
    : 'there is no python3 (3.8 or newer) on this machine';
}

/** Starts the worker of the example, with the tasks of the tests beside its own; it ends with the test. */
export async function startPython(
  t: TestContext,
  { url, key, name }: { url: string; key: string; name: string },
): Promise<ChildProcess> {
  const child = spawn('python3', [join(import.meta.dirname, 'tasks_for_tests.py')], {
    env: {
      ...process.env,
      PYTHONPATH: example,
      PYTHONDONTWRITEBYTECODE: '1',
      DULY_URL: url,
      DULY_KEY: key,
      DULY_WORKER: name,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
  await once(child.stdout, 'data');
  return child;
}
