import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { oldestNode, refuseOldNode } from '../../src/cli/node-version.ts';

test('a Node is refused below the one that the package asks for, and only there', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  assert.equal(engines.node, `>=${oldestNode}`);
  for (const version of ['22.18.0', '22.23.3', '24.0.0', '26.10.0', '100.0.0-nightly'])
    assert.equal(refuseOldNode(version, 'node'), null, version);
  for (const version of ['22.17.1', '22.9.0', '20.20.2', '8.0.0'])
    assert.match(refuseOldNode(version, 'node') ?? '', /needs Node 22\.18 or newer/, version);
});

test('the command on an old Node says which one it needs, and loads nothing else', () => {
  // There is no old Node to be had here; this one says that it is.
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  const bin = fileURLToPath(new URL('../../src/bin.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, bin, 'up'],
    { encoding: 'utf8' },
  );
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.equal(
    stderr,
    `error[node_unsupported]: Duly needs Node 22.18 or newer, and "${process.execPath}" is Node 20.20.2.\n` +
      'hint: Install a newer Node, from https://nodejs.org or with a version manager, and call the command again.\n',
  );
});
