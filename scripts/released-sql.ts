// What of each engine's SQL is released, in sql/released.json. Steps of the schema that are released never change: stores have
// them. A released function set never changes either: `npm run generate` gives functions whose text differs the next number.
// `node scripts/release-sql.ts` records a release.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Problem, root } from './source-text.ts';

/** The released SQL of one engine, as SHA-256. */
export interface ReleasedSql {
  /** By the name of the file. */
  schema: Readonly<Record<string, string>>;
  /** Of the function sets 1, 2, …, before the number is written into their names. */
  functionSets: readonly string[];
}

const enginesFolder = join(root, 'packages/core/src/engines');
/** The file in an engine's sql folder. */
export const releasedFile = 'released.json';

/** The SHA-256 of a text, as hex digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What is released of the SQL in this folder. */
export function readReleased(folder: string): ReleasedSql {
  const path = join(folder, releasedFile);
  if (!existsSync(path)) return { schema: {}, functionSets: [] };
  return JSON.parse(readFileSync(path, 'utf8')) as ReleasedSql;
}

/** The function set with this text: the number of the last release, or the next one if the text differs. */
export function openSet(
  { functionSets }: ReleasedSql,
  functions: string,
): { number: number; isReleased: boolean } {
  const isReleased = functionSets.length > 0 && functionSets.at(-1) === sha256(functions);
  return { number: functionSets.length + (isReleased ? 0 : 1), isReleased };
}

/** Released steps of the schema that changed or are gone. `read` returns null for a file that does not exist. */
export function findReleasedChanges(
  { schema }: ReleasedSql,
  read: (file: string) => string | null,
): { file: string; message: string }[] {
  return Object.entries(schema).flatMap(([file, hash]) => {
    const text = read(file);
    if (text !== null && sha256(text) === hash) return [];
    const what = text === null ? 'is gone' : 'differs from the released one';
    return [{ file, message: `${what}, but stores have it. Restore it and write a new step.` }];
  });
}

/** Changes to released steps of the schema, of all engines. */
export function findReleaseProblems(): Problem[] {
  return sqlFolders().flatMap((folder) => {
    const schema = join(folder, 'schema');
    const read = (file: string): string | null => {
      const path = join(schema, file);
      return existsSync(path) ? readFileSync(path, 'utf8') : null;
    };
    return findReleasedChanges(readReleased(folder), read).map(({ file, message }) => ({
      path: relative(root, join(schema, file)),
      line: 1,
      message,
    }));
  });
}

/** The sql folder of each engine. */
export function sqlFolders(): string[] {
  return readdirSync(enginesFolder)
    .map((name) => join(enginesFolder, name, 'sql'))
    .filter((folder) => existsSync(folder));
}
