// `npm run build`: emits packages/<name>/dist, each the folder that `npm publish` would be given.
// The JavaScript lies in dist/lib, one level below package.json like src, so that a relative path to
// package.json is the same in the source and in what is published.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { buildDashboard } from './build-dashboard.ts';
import { listFiles, maskSource, root } from './source-text.ts';

// In this order: a package is compiled against the emitted types of those before it.
const packages = ['core', 'conformance', 'server', 'duly'];

/** A package.json, as far as the build reads it. */
export interface Manifest {
  exports?: Record<string, string>;
  bin?: Record<string, string>;
  [field: string]: unknown;
}

/** The package.json to publish: source paths become emitted ones, and what only the repository needs goes. */
export function publishedManifest(manifest: Manifest): Manifest {
  const { scripts: _scripts, devDependencies: _devDependencies, private: _private, ...kept } = manifest;
  const published: Manifest = { ...kept };
  if (manifest.exports !== undefined) {
    published.exports = Object.fromEntries(
      Object.entries(manifest.exports).map(([subpath, target]) => [subpath, publishedTarget(target)]),
    ) as Record<string, string>;
  }
  if (manifest.bin !== undefined) {
    published.bin = Object.fromEntries(
      Object.entries(manifest.bin).map(([name, target]) => [name, emitted(target, '.js')]),
    );
  }
  // Only the server has a dashboard; a folder that is not there is left out.
  published.files = ['lib', 'dashboard', 'CHANGELOG.md'];
  return published;
}

function publishedTarget(target: string): string | { types: string; default: string } {
  if (!target.endsWith('.ts')) return target;
  return { types: emitted(target, '.d.ts'), default: emitted(target, '.js') };
}

function emitted(target: string, extension: string): string {
  return target.replace(/^\.\/src\//, './lib/').replace(/\.ts$/, extension);
}

/**
 * Renames the `.ts` in `new URL('./thread.ts', import.meta.url)` to `.js`.
 * TypeScript rewrites imports only, and a thread's entry is named by a URL.
 */
export function rewriteUrlExtensions(code: string): string {
  const masked = maskSource(code);
  let result = '';
  let done = 0;
  for (const match of masked.matchAll(/\bnew\s+URL\s*\(\s*(['"`])/g)) {
    const start = match.index + match[0].length;
    const end = masked.indexOf(match[1] as string, start);
    const target = code.slice(start, end);
    if (!/^\.\.?\/.*\.ts$/.test(target)) continue;
    result += code.slice(done, start) + target.replace(/\.ts$/, '.js');
    done = end;
  }
  return result + code.slice(done);
}

/**
 * Puts the sources into a source map: they are not published, so their paths lead nowhere for whoever installed the package.
 * By hand, because the compiler takes `inlineSources` and does nothing about it.
 */
export function withSources(map: string, read: (source: string) => string): string {
  const parsed = JSON.parse(map) as { sources: string[]; sourcesContent?: (string | null)[] };
  if (parsed.sourcesContent?.every((content) => content !== null)) return map;
  return JSON.stringify({
    ...parsed,
    sources: parsed.sources.map((source) => source.replace(/^(\.\.\/)*/, '')),
    sourcesContent: parsed.sources.map(read),
  });
}

function buildPackage(name: string): void {
  const folder = join(root, 'packages', name);
  const dist = join(folder, 'dist');
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);

  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [tsc, '--project', join(folder, 'tsconfig.build.json')], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`packages/${name} does not compile.`);

  for (const file of listFiles(join(dist, 'lib'))) {
    const text = readFileSync(file, 'utf8');
    let emitted = text;
    if (file.endsWith('.js')) emitted = rewriteUrlExtensions(text);
    if (file.endsWith('.js.map')) {
      emitted = withSources(text, (source) => readFileSync(resolve(dirname(file), source), 'utf8'));
    }
    if (emitted !== text) writeFileSync(file, emitted);
  }

  const manifest = publishedManifest(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const document of ['README.md', 'LICENSE', 'CHANGELOG.md']) {
    const own = join(folder, document);
    cpSync(existsSync(own) ? own : join(root, document), join(dist, document));
  }
  const dashboard = join(folder, 'dashboard');
  if (existsSync(dashboard)) cpSync(dashboard, join(dist, 'dashboard'), { recursive: true });
  for (const target of targetsOf(manifest)) {
    if (!existsSync(join(dist, target))) throw new Error(`packages/${name}/dist has no "${target}".`);
  }
  console.log(`built packages/${name}/dist`);
}

function targetsOf({ exports = {}, bin = {} }: Manifest): string[] {
  return [...Object.values(exports), ...Object.values(bin)].flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  );
}

if (import.meta.main) {
  buildDashboard();
  for (const name of packages) buildPackage(name);
}
