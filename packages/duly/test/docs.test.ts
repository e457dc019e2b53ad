import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { errorCodes } from '@duly/core';
import { type Command, CommanderError } from 'commander';
import { exitCodeOf, exitCodes } from '../src/cli/exit-codes.ts';
import { buildProgram } from '../src/cli/program.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Every command that does something, with its name in full. */
function leavesOf(command: Command, name = 'duly'): [string, Command][] {
  return command.commands
    .filter((one) => one.name() !== 'help')
    .flatMap((one) => {
      const full = `${name} ${one.name()}`;
      const itself: [string, Command][] = doesSomething(one) ? [[full, one]] : [];
      return [...itself, ...leavesOf(one, full)];
    });
}

/** Whether a command does something by itself, as `migrate` does and `jobs` does not. Commander shows it nowhere else. */
function doesSomething(command: Command): boolean {
  return (command as unknown as { _actionHandler: unknown })._actionHandler !== null;
}

test('every command and every option is in the reference, and nothing else', () => {
  const text = read('docs/reference/command.md');
  const leaves = leavesOf(buildProgram(() => async () => {}));
  const headings = [...text.matchAll(/^### `([^`]+)`/gm)].map(([, heading]) =>
    (heading as string).replace(/ [<[].*/, ''),
  );
  assert.deepEqual([...new Set(headings)].sort(), leaves.map(([name]) => name).sort());
  const written = new Set([...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option));
  const known = new Set(
    leaves.flatMap(([, command]) => command.options.map((option) => option.long as string)),
  );
  assert.deepEqual(
    [...known].filter((option) => !written.has(option)),
    [],
  );
  assert.deepEqual(
    [...written].filter((option) => !known.has(option) && option !== '--help'),
    [],
  );
});

test('every exit code is in its table, with the errors that lead to it', () => {
  const text = read('docs/reference/exit-codes.md');
  const rows = [...text.matchAll(/^\| `(\d+)` \|.*\|(.*)\|$/gm)].map(([, code, errors]) => ({
    code: Number(code),
    names: [...(errors as string).matchAll(/`([a-z_*]+)`/g)].map(([, name]) => name as string),
  }));
  for (const code of Object.values(exitCodes)) {
    assert.ok(
      rows.some((row) => row.code === code),
      `${code} is not listed`,
    );
  }
  const isFamily = (name: string, error: string): boolean =>
    name.endsWith('*') && error.startsWith(name.slice(0, -1));
  for (const error of Object.keys(errorCodes)) {
    // A name in full goes before the family that it would belong to.
    const row =
      rows.find(({ names }) => names.includes(error)) ??
      rows.find(({ names }) => names.some((name) => isFamily(name, error)));
    assert.equal(exitCodeOf(error), row?.code ?? exitCodes.failure, error);
  }
});

/** The words of a command line up to a comment, a pipe or another command. */
function wordsOf(line: string): string[] {
  const end = /(?:^|\s)(?:#|\||>|<|&&|;)(?:\s|$)/.exec(line)?.index ?? line.length;
  return [...line.slice(0, end).matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? (plain as string),
  );
}

/** What a page tells to type: in its blocks for a shell or a crontab, and within its sentences. */
function linesOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```(?:sh)?\n(.*?)^```$/gms)].flatMap(([, block]) =>
    (block as string)
      .split('\n')
      .flatMap((line) => /^(?:.*(?:\*|&&|\||npx|server) +)?duly (.*)$/.exec(line)?.[1] ?? []),
  );
  const sentences = text.replace(/^```.*?^```$/gms, '').matchAll(/`(?:npx )?duly ([a-z][^`]*)`/g);
  return [...blocks, ...[...sentences].map(([, line]) => line as string)];
}

test('every command line in the README, the guides and the examples is one that the command takes', async () => {
  const folders = ['docs/guides', 'docs/examples', 'docs/start', 'docs/reference'];
  const pages = folders.flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  let count = 0;
  for (const page of ['README.md', ...pages]) {
    for (const line of linesOf(read(page))) {
      const words = wordsOf(line);
      // A way to say several at once, or any.
      if (words.some((word) => word === '…' || word.includes('|'))) continue;
      count++;
      const program = buildProgram(() => async () => {}).configureOutput({ writeOut() {}, writeErr() {} });
      await program.parseAsync(words, { from: 'user' }).catch((error: unknown) => {
        const { code } = error as CommanderError;
        // In a sentence it may be named without all that it needs; a noun alone prints its help.
        const isNamed = /^commander\.(?:help|missing|optionMissing)/.test(code);
        assert.ok(error instanceof CommanderError && isNamed, `${page}: duly ${line}: ${error}`);
      });
    }
  }
  assert.ok(count > 150, `only ${count} were found`);
});

test('the programs of the reference and of the start compile', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-docs-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const files: string[] = [];
  for (const page of ['docs/reference/command.md', 'docs/start/README.md']) {
    for (const [, code] of read(page).matchAll(/^```ts\n(.*?)^```$/gms)) {
      const name = `block-${files.length}.ts`;
      writeFileSync(join(folder, name), code as string);
      files.push(name);
    }
  }
  assert.ok(files.length >= 4);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const compilerOptions = { noEmit: true, typeRoots: [join(root, 'node_modules/@types')] };
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, files };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  // Throws with what the compiler printed.
  execFileSync(process.execPath, [tsc, '--project', folder], { encoding: 'utf8', stdio: 'pipe' });
});
