import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { errorCodes } from '@duly/core';
import type { Command } from 'commander';
import { exitCodeOf, exitCodes } from '../src/exit-codes.ts';
import { buildProgram } from '../src/program.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Every command that does something, with its name in full. */
function leavesOf(command: Command, name = 'duly'): [string, Command][] {
  return command.commands
    .filter((one) => one.name() !== 'help')
    .flatMap((one) =>
      one.commands.length > 0
        ? leavesOf(one, `${name} ${one.name()}`)
        : [[`${name} ${one.name()}`, one] as [string, Command]],
    );
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
