// What each entry point of the package loads.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** The modules that a process loads for an import, as URLs. */
function modulesOf(specifier: string): string[] {
  const program = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    await import('${specifier}');
    console.log(JSON.stringify(loaded));`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  const output = execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: 'utf8' });
  return (JSON.parse(output) as string[]).filter((url) => url.startsWith('file:'));
}

const isOf = (folder: string) => (url: string) => url.includes(`/packages/${folder}/src/`);
const isInstalled = (url: string): boolean => url.includes('/node_modules/');

test('"duly" and "duly/testing" load neither the server nor the command, and no dependency', () => {
  for (const specifier of ['duly', 'duly/testing']) {
    const modules = modulesOf(specifier);
    assert.ok(modules.some(isOf('core')), specifier);
    assert.deepEqual(modules.filter(isOf('server')), [], specifier);
    assert.deepEqual(modules.filter(isInstalled), [], specifier);
    assert.ok(modules.filter(isOf('duly')).length <= 2, modules.filter(isOf('duly')).join('\n'));
  }
});

test('"duly/server" loads the server', () => {
  assert.ok(modulesOf('duly/server').some((url) => url.endsWith('/packages/server/src/server.ts')));
});

test('"duly/client" loads the client alone, so that it can be bundled for browsers', () => {
  const modules = modulesOf('duly/client').map((url) => url.replace(/.*\/packages\//, ''));
  assert.deepEqual(modules.sort(), ['duly/src/client.ts', 'server/src/client/client.ts']);
});
