/** Every command and every option, mistyped by two letters that changed places. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command, CommanderError } from 'commander';
import { buildProgram } from '../src/cli/program.ts';
import { usageErrorOf } from '../src/cli/usage.ts';

const build = (): Command => buildProgram(() => async () => {});

interface Place {
  /** What is typed before it, arguments that it needs included. */
  before: string[];
  word: string;
}

/** All that can be mistyped below a command. */
function placesOf(command: Command, path: string[]): Place[] {
  const verbs = command.commands.filter((one) => one.name() !== 'help');
  const needed = command.registeredArguments.filter(({ required }) => required).map(() => 'x');
  // Options before the first word stand for any command, and the parser does not look for similar ones there.
  const options = path.length === 0 ? [] : command.options.flatMap(({ long }) => long ?? []);
  return [
    ...verbs.map((verb) => ({ before: path, word: verb.name() })),
    ...options.map((word) => ({ before: [...path, ...needed], word })),
    ...verbs.flatMap((verb) => placesOf(verb, [...path, verb.name()])),
  ];
}

function mistyped(word: string): string {
  const letters = [...word];
  const i = word.startsWith('--') ? 2 + Math.floor((word.length - 2) / 2) : Math.floor(word.length / 2);
  [letters[i - 1], letters[i]] = [letters[i] as string, letters[i - 1] as string];
  return letters.join('');
}

test('whatever is mistyped, what was meant is named', async () => {
  const places = placesOf(build(), []).filter(({ word }) => mistyped(word) !== word && !/^--.$/.test(word));
  assert.ok(places.length > 500, String(places.length));
  for (const { before, word } of places) {
    const argv = [...before, mistyped(word)];
    const error = await build()
      .parseAsync(argv, { from: 'user' })
      .then(
        () => null,
        (thrown: CommanderError) => usageErrorOf(thrown),
      );
    assert.equal(error?.code, 'usage', argv.join(' '));
    assert.ok(error?.hint?.includes(`"${word}"`), `${argv.join(' ')}: ${error?.message} ${error?.hint}`);
  }
});
