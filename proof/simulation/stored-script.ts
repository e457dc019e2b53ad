/** Failing scripts as JSON files, so that a failure stays playable after the generator of scripts has changed. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Script } from './script.ts';
import type { SimulatedEngine } from './seeds.ts';

/** The content of a stored script. */
export interface StoredScript {
  /** The invariant that the script broke when it was found. */
  invariant: string;
  seed: number;
  /** The engine that it failed on; left out: `sqlite`. */
  engine?: SimulatedEngine;
  /** ISO date. */
  foundAt: string;
  script: Script;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const regressions = join(root, 'proof/regressions');

/** Writes a failing script, by default to `proof/regressions/`, and returns its path, relative to the repository. */
export function storeScript(stored: StoredScript, folder = regressions): string {
  const path = join(folder, `${stored.invariant}-${stored.seed}.json`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, `${JSON.stringify(stored, null, 2)}\n`);
  return relative(root, path);
}

/** Reads a stored script. Throws an error with the path if the file is not one. */
export function readStoredScript(path: string): StoredScript {
  const { invariant, seed, engine, foundAt, script } = parseFile(path);
  if (invariant === undefined || seed === undefined || foundAt === undefined || script?.steps === undefined)
    throw new Error(`Expected "${path}" to hold invariant, seed, foundAt and script.`);
  return { invariant, seed, ...(engine && { engine }), foundAt, script };
}

function parseFile(path: string): Partial<StoredScript> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Partial<StoredScript>;
  } catch (error) {
    throw new Error(`Expected "${path}" to be a stored script: ${(error as Error).message}`);
  }
}

/** The paths of all stored scripts, relative to the repository, in order. */
export function listStoredScripts(): string[] {
  try {
    const names = readdirSync(regressions).filter((name) => name.endsWith('.json'));
    return names.sort().map((name) => relative(root, join(regressions, name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The command that plays a stored script. */
export function scriptCommand(path: string, engine: SimulatedEngine = 'sqlite'): string {
  const chosen = engine === 'sqlite' ? '' : `--engine ${engine} `;
  return `npm run simulate -- ${chosen}--script ${path} --trace`;
}
