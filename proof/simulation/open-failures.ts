/** Known failures that are not fixed yet: `proof/open-failures.json`. Tests print them and do not fail because of them. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Violation } from '../checker/index.ts';
import type { Script } from './script.ts';
import type { ShrunkenFailure, SimulatedEngine } from './seeds.ts';
import {
  assertRead,
  type Check,
  type ChecksOf,
  engineName,
  fields,
  invariantName,
  isoDate,
  oneOf,
  optional,
  readStoredScript,
  type StoredScript,
  scriptCheck,
  scriptCommand,
} from './stored-script.ts';

/** An entry of the list. */
export interface OpenFailure {
  /** The path of a stored script, relative to the repository, or the script itself. */
  script: string | Script;
  invariant: string;
  /** The engine that it fails on; left out: that of the stored script, or `sqlite`. */
  engine?: SimulatedEngine;
  /** ISO date of the entry. */
  date: string;
  note?: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

const listPath = 'proof/open-failures.json';
const text: Check = (value, path) =>
  typeof value === 'string' ? null : { path, expected: 'a text', got: value };
const scriptOrPath: Check = (value, path) => {
  if (typeof value === 'object' && value !== null) return scriptCheck(value, path);
  const expected = 'a script, or the path of a stored script';
  return typeof value === 'string' && value !== '' ? null : { path, expected, got: value };
};
const entryCheck = fields({
  ...{ script: scriptOrPath, invariant: invariantName, engine: optional(engineName) },
  ...{ date: isoDate, note: optional(text) },
} satisfies ChecksOf<OpenFailure>);

/** Reads the list. Throws an error that names the file and the entry if one could not be played. */
export function readOpenFailures(path = join(root, listPath)): OpenFailure[] {
  const list = parseList(path);
  const file = relative(root, path);
  if (!Array.isArray(list))
    assertRead(() => ({ path: '', expected: 'a list', got: list }), list, `"${file}"`);
  return (list as unknown[]).map((entry, i) => readEntry(entry, `entry ${i + 1} of "${file}"`));
}

function parseList(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`Expected "${relative(root, path)}" to be JSON: ${(error as Error).message}`);
  }
}

function readEntry(value: unknown, place: string): OpenFailure {
  assertRead(entryCheck, value, place);
  const entry = value as OpenFailure;
  if (typeof entry.script !== 'string') return entry;
  const stored = storedOf(entry.script, place);
  if (stored.engine === undefined) return entry;
  assertRead(
    optional(oneOf([stored.engine])),
    entry.engine,
    `the engine of ${place}, as in "${entry.script}",`,
  );
  return { ...entry, engine: stored.engine };
}

function storedOf(script: string, place: string): StoredScript {
  try {
    return readStoredScript(join(root, script));
  } catch (error) {
    throw new Error(`Expected script in ${place} to be a stored script. ${(error as Error).message}`);
  }
}

/** What a failure is told with: how to shrink it to one invariant, to play a script, and to store one. */
export interface FailureTools {
  shrink(invariant: string): Promise<ShrunkenFailure>;
  /** The invariants that a script breaks. */
  play(script: Script): Promise<readonly string[]>;
  /** Returns the path. */
  store(invariant: string, shrunken: ShrunkenFailure): string;
}

/**
 * Stores scripts of a failure until each invariant that it broke is broken by one of them. Returns what the list needs for
 * the tests to accept it: an entry for each invariant that the world or a stored script of it breaks.
 */
export async function storeFailure(
  broken: readonly string[],
  { engine, date }: { engine: SimulatedEngine; date: string },
  { shrink, play, store }: FailureTools,
): Promise<OpenFailure[]> {
  const paths = new Map<string, string>();
  for (const invariant of broken) {
    if (paths.has(invariant)) continue;
    const shrunken = await shrink(invariant);
    const path = store(invariant, shrunken);
    for (const name of [invariant, ...(await play(shrunken.script))]) {
      if (!paths.has(name)) paths.set(name, path);
    }
  }
  return [...paths].map(
    ([invariant, script]): OpenFailure => ({
      ...{ script, invariant },
      ...(engine === 'sqlite' ? {} : { engine }),
      date,
    }),
  );
}

/** The script of an entry. */
export function scriptOf({ script }: OpenFailure): Script {
  return typeof script === 'string' ? readStoredScript(join(root, script)).script : script;
}

/** Whether the list has an entry with this seed for every invariant that is broken. */
export function isKnown(
  open: readonly OpenFailure[],
  seed: number,
  violations: readonly Violation[],
): boolean {
  return violations.every(({ invariant }) =>
    open.some((entry) => entry.invariant === invariant && scriptOf(entry).seed === seed),
  );
}

/** The path of an entry's script; null: the script is in the list itself. */
export function pathOf({ script }: OpenFailure): string | null {
  return typeof script === 'string' ? script : null;
}

/** An entry, and how to play it again. */
export function describeOpen(entry: OpenFailure): string {
  const { date, invariant, note = '', engine } = entry;
  const path = pathOf(entry);
  const told = `Open failure of ${date}: ${invariant}, seed ${scriptOf(entry).seed}. ${note}`.trimEnd();
  return path === null ? told : `${told}\nPlay it again: ${scriptCommand(path, engine)}`;
}
