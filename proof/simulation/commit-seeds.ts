/** Derives the first seed of a test run from the commit, so that every commit plays new seeds and repeats them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the seeds are for. Each purpose has its own range. */
export type SeedPurpose = 'test' | 'prove' | 'postgres';

/** Where a range of seeds starts. */
export interface SeedStart {
  start: number;
  /** What the start is derived from. */
  source: string;
}

/** The environment variable that sets the start of every range. */
export const seedStartVariable = 'DULY_SEED_START';

/** The highest seed: a thousand times it, from which the random numbers of each node are derived, is still exact. */
export const seedMax = 2 ** 42;

const root = fileURLToPath(new URL('../..', import.meta.url));
// Ranges start at a million or above. Documents and tests name seeds below that.
const rangeSize = 10_000;
const firstRange = 100;
const rangeCount = 200_000;
const startMax = seedMax - rangeSize;

/** The start of a purpose's range at this commit. Outside of a clone, the start is derived from the package files. */
export function seedStart(purpose: SeedPurpose, env: NodeJS.ProcessEnv = process.env): SeedStart {
  const given = env[seedStartVariable];
  if (given !== undefined && given !== '') {
    const start = given.trim() === '' ? Number.NaN : Number(given);
    if (!Number.isSafeInteger(start) || start < 0 || start > startMax)
      throw new Error(
        `Expected ${seedStartVariable} to be a whole number from 0 to ${startMax}, got "${given}".`,
      );
    return { start, source: seedStartVariable };
  }
  const commit = readCommit();
  return commit === null
    ? { start: startOf(packageText(), purpose), source: 'the package files' }
    : { start: startOf(commit, purpose), source: `commit ${commit.slice(0, 12)}` };
}

/** The start that a text gives for a purpose. */
export function startOf(text: string, purpose: SeedPurpose): number {
  const digest = createHash('sha256').update(`${purpose} ${text}`).digest();
  return (firstRange + (digest.readUInt32BE() % rangeCount)) * rangeSize;
}

/** The commit that is checked out in this folder; null without git, or if the folder only lies inside another repository. */
export function readCommit(folder: string = root): string | null {
  try {
    const args = ['rev-parse', '--show-toplevel', 'HEAD'];
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const [top = '', commit = ''] = execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio })
      .trim()
      .split('\n');
    return realpathSync(top) === realpathSync(folder) ? commit : null;
  } catch {
    return null;
  }
}

function packageText(): string {
  return ['package.json', 'package-lock.json', 'CHANGELOG.md']
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');
}
