/** The OpenAPI document and the metrics, checked by the tools that others check them with. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installBeside } from '../../../test/install-beside.ts';
import { installPackages, mayInstall } from '../../../test/servers/debian.ts';
import { createFolder, startServer } from './fixture.ts';

const tools = new URL('../../../test/openapi/', import.meta.url);

test('the OpenAPI document passes redocly lint without errors or warnings', async (t) => {
  const missing = installBeside(tools);
  if (missing !== null) return t.skip(`@redocly/cli: ${missing}`);
  const { ask } = await startServer(t);
  const file = join(createFolder(t), 'openapi.json');
  writeFileSync(file, (await ask('/openapi.json')).text);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['node_modules/@redocly/cli/bin/cli.js', 'lint', file, '--config', 'redocly.yaml', '--format', 'stylish'],
    {
      cwd: fileURLToPath(tools),
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  assert.equal(status, 0, stdout + stderr);
  assert.doesNotMatch(stdout + stderr, /\b(?:error|warning)s?\b(?!s?: 0)/i);
});

test('the metrics pass promtool check metrics, and the rules promtool check rules', async (t) => {
  const has = (): boolean => spawnSync('promtool', ['--version']).status === 0;
  if (!has() && !(mayInstall() && installPackages(['prometheus']) && has())) {
    return t.skip('promtool is not installed (Debian: apt-get install prometheus)');
  }
  const { ask, duly } = await startServer(t, { tasks: [{ name: 'work', run: () => 1 }], start: true });
  const { id } = (await ask('/api/jobs', { body: { type: 'work' } })).json;
  await duly.job(id).wait();
  const { text } = await ask('/metrics');
  const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
  assert.deepEqual([checked.status, checked.stdout + checked.stderr], [0, '']);
  const rules = fileURLToPath(new URL('../../../docs/observability/duly-rules.yml', import.meta.url));
  const ruled = spawnSync('promtool', ['check', 'rules', rules], { encoding: 'utf8' });
  assert.equal(ruled.status, 0, ruled.stdout + ruled.stderr);
});
