import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

test('a world that never lets the event loop turn is ended, and its name and the command that plays it are printed', () => {
  const source = `
    import { watched } from ${JSON.stringify(new URL('../simulation/watchdog.ts', import.meta.url).href)};
    await watched('Seed 41', 'one', async () => {}, 1_000);
    await watched('a-longer-name.json', 'the command', async () => { for (;;) await null; });
  `;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', source];
  const { signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
  assert.equal(signal, 'SIGKILL', stderr);
  assert.match(stderr, /^a-longer-name\.json did not come to rest in 1 s /);
  assert.match(stderr, /\nPlay it again: the command\n$/);
});
