/** Known failures that are not fixed yet: `proof/open-failures.json`. Tests print them and do not fail because of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Violation } from '../checker/index.ts';
import type { Script } from './script.ts';
import type { SimulatedEngine } from './seeds.ts';
import { readStoredScript } from './stored-script.ts';

/** An entry of the list. */
export interface OpenFailure {
  /** The path of a stored script, relative to the repository, or the script itself. */
  script: string | Script;
  invariant: string;
  /** The engine that it fails on; left out: `sqlite`. */
  engine?: SimulatedEngine;
  /** ISO date of the entry. */
  date: string;
  note?: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Reads the list. */
export function readOpenFailures(): OpenFailure[] {
  return JSON.parse(readFileSync(join(root, 'proof/open-failures.json'), 'utf8')) as OpenFailure[];
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

/** An entry in one line. */
export function describeOpen(entry: OpenFailure): string {
  return `Open failure of ${entry.date}: ${entry.invariant}, seed ${scriptOf(entry).seed}. ${entry.note ?? ''}`.trimEnd();
}
