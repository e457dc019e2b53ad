import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createFolder } from '../fixture.ts';
import { startReceiver } from '../receiver.ts';

function startChild(t: TestContext, args: string[]): ChildProcess {
  const file = join(import.meta.dirname, 'crash-child.ts');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  return child;
}

test('a server killed between the outcome of a job and its webhook loses nothing', {
  timeout: 60_000,
}, async (t) => {
  const store = `sqlite:${join(createFolder(t), 'duly.db')}`;
  const hook = await startReceiver(t);
  const first = startChild(t, [store, `${hook.url}/done`]);
  const [, signal] = await once(first, 'exit');
  assert.equal(signal, 'SIGKILL');
  assert.equal(hook.received.length, 0);
  startChild(t, [store]);
  const reported = await hook.nth(1);
  assert.equal(reported.path, '/done');
  assert.equal(reported.json.status, 'COMPLETED');
  assert.equal(reported.json.result, 'created');
});
