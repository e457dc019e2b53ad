import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { DulyError } from '@duly/core';
import type { CommandContext } from '../cli/context.ts';
import { invocation } from '../cli/invocation.ts';
import { readVersion } from '../cli/version.ts';
import { shellWord } from '../client/store.ts';
import { templates } from '../init/templates.ts';
import { printJson } from '../output/json.ts';

/** `duly init`: a config, a first task and its test. Writes all of it or nothing, and never over something. */
export async function init({ out, json }: CommandContext, _options: object, folder = '.'): Promise<number> {
  const root = resolve(folder);
  const files = Object.entries(templates({ app: appName(root), version: readVersion() }))
    // Where package.json says that .ts is CommonJS, as npm init has it, a module has to say that it is one.
    .map(([name, text]): [string, string] =>
      isCommonJs(root) && name.endsWith('.ts')
        ? [name.replace(/\.ts$/, '.mts'), text.replaceAll("'./hello.ts'", "'./hello.mts'")]
        : [name, text],
    )
    // A project that has one keeps it.
    .filter(([name]) => name !== 'package.json' || !existsSync(join(root, name)));
  const found = files.map(([name]) => name).filter((name) => existsSync(join(root, name)));
  if (found.length > 0) {
    throw new DulyError('file_exists', {
      message: `Nothing was written: ${found.map((name) => `"${name}"`).join(' and ')} ${found.length === 1 ? 'is' : 'are'} there already.`,
      hint: `Name another folder: ${invocation()} init <folder>`,
      details: { folder: root, files: found },
    });
  }
  for (const [name, text] of files) {
    write(join(root, name), text);
  }
  const names = files.map(([name]) => name);
  const next = [
    ...(folder === '.' ? [] : [`cd ${shellWord(folder)}`]),
    ...(hasDuly(root) ? [] : ['npm install']),
    `${invocation()} up`,
    `${invocation()} run hello Ada --watch`,
    'node --test',
  ];
  if (json) printJson(out, { folder: root, files: names, next });
  else {
    for (const name of names) out.line(`${out.paint('green', '+')} ${name}`);
    out.line();
    out.line('Next:');
    for (const words of next) out.line(`  ${out.paint('cyan', words)}`);
  }
  return 0;
}

function write(path: string, text: string): void {
  try {
    createFolder(dirname(path));
    // Somebody may have written it since.
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new DulyError('file_unwritable', {
      message: `"${path}" cannot be written${code === undefined ? '' : ` (${code})`}.`,
      hint: `Name a folder in which you may write: ${invocation()} init <folder>`,
      details: { path },
      cause: error,
    });
  }
}

/** One by one: Node's own way of making all of them never ends in a folder like /proc, which is there and takes none. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder));
  mkdirSync(folder);
}

/** Whether the nearest package.json says so; one that says nothing leaves it to what is in a file. */
function isCommonJs(folder: string): boolean {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return dirname(folder) !== folder && isCommonJs(dirname(folder));
  try {
    return JSON.parse(readFileSync(path, 'utf8')).type === 'commonjs';
  } catch {
    return false;
  }
}

/** A name for the app that the folder suggests. */
function appName(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'app' : name;
}

/** Whether the test would find Duly. */
function hasDuly(root: string): boolean {
  try {
    createRequire(join(root, 'package.json')).resolve('duly/package.json');
    return true;
  } catch {
    return false;
  }
}
