// Turns each engine's statements/*.sql and migrations/*.sql into its checked-in generated.ts, so that the
// published package needs no file reads and a bundler keeps the SQL. Lists of job fields are filled in (job-lists.ts).
// A function with a line `-- call: someName` above it becomes the statement `call.someName`, which calls it.
// `--check` only compares.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { expandJobLists } from './job-lists.ts';
import { listFiles, type Problem, root } from './source-text.ts';

const enginesFolder = join(root, 'packages/core/src/engines');

/** A `.sql` file by its base name. */
export interface SqlFile {
  name: string;
  sql: string;
}

/** Removes comments outside of quotes, trailing spaces and blank lines. */
export function stripSqlComments(sql: string): string {
  // One alternative per thing that may hold the other's marks: quoted text is kept, comments go.
  const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\[[^\]\n]*\]|`[^`]*`|--[^\n]*|\/\*[\s\S]*?\*\//g;
  return sql
    .replace(tokens, (token) => (token.startsWith('--') || token.startsWith('/*') ? '' : token))
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '')
    .join('\n');
}

/**
 * The statements of one file: a text, or an object when `-- name: someName` lines divide it.
 * Only comments may stand before the first name.
 */
export function readStatements({ name, sql }: SqlFile): string | Record<string, string> {
  const parts = sql.split(/^--[ \t]*name:[ \t]*(\S+)[ \t]*\r?$/m);
  if (parts.length === 1) {
    const only = stripSqlComments(sql);
    if (only === '') throw new Error(`${name} holds no statement.`);
    return only;
  }
  const head = stripSqlComments(parts[0] as string);
  if (head !== '') throw new Error(`${name} has SQL before its first "-- name:" line.`);
  const statements: Record<string, string> = {};
  for (let i = 1; i < parts.length; i += 2) {
    const key = parts[i] as string;
    const statement = stripSqlComments(parts[i + 1] as string);
    if (!/^[a-z][A-Za-z0-9]*$/.test(key)) throw new Error(`${name}: "${key}" is not a camelCase name.`);
    if (key in statements) throw new Error(`${name} names "${key}" twice.`);
    if (statement === '') throw new Error(`${name}: "${key}" holds no statement.`);
    statements[key] = statement;
  }
  return statements;
}

/** A statement for each function that `-- call: someName` names. It passes all parameters of the function, in order. */
export function readCalls(migrationFiles: SqlFile[]): Record<string, string> {
  const calls: Record<string, string> = {};
  const marked = /^-- call: (\w+)$(?:\nCREATE (?:OR REPLACE )?FUNCTION ([\w.]+)\(([^)]*)\))?/gm;
  for (const { name: file, sql } of migrationFiles) {
    for (const [, name = '', called, parameters = ''] of sql.matchAll(marked)) {
      if (called === undefined) throw new Error(`${file}: "-- call: ${name}" is not above a function.`);
      if (name in calls) throw new Error(`${file} names the call "${name}" twice.`);
      const values = parameters
        .split(',')
        .map((parameter, i) => `$${i + 1}::${parameter.trim().replace(/^\w+\s+/, '')}`);
      calls[name] = `SELECT ${called}(${values.join(', ')}) AS reply`;
    }
  }
  return calls;
}

/** The statements of all files by the key of the file, with the calls of marked functions in `call`. */
function collectStatements(
  statementFiles: SqlFile[],
  migrationFiles: SqlFile[],
): Map<string, string | Record<string, string>> {
  const all = new Map<string, string | Record<string, string>>();
  const calls = readCalls(migrationFiles);
  if (Object.keys(calls).length > 0) all.set('call', calls);
  for (const file of byName(statementFiles)) {
    const key = camelCase(basename(file.name, '.sql'));
    const read = readStatements(file);
    const marked = all.get(key);
    if (typeof read === 'string' || typeof marked !== 'object') {
      if (marked !== undefined) throw new Error(`${file.name} has to name its statements.`);
      all.set(key, read);
      continue;
    }
    const twice = Object.keys(read).find((name) => name in marked);
    if (twice !== undefined) throw new Error(`${file.name} names "${twice}", as a function does.`);
    all.set(key, { ...marked, ...read });
  }
  return all;
}

/** The text of `generated.ts` for one engine. */
export function renderGenerated(statementFiles: SqlFile[], migrationFiles: SqlFile[]): string {
  const lines = [
    '// Made by `npm run generate` from statements/*.sql and migrations/*.sql. Do not edit.',
    '',
    '/** Every statement of this engine by file name, without comments. */',
    'export const statements = {',
  ];
  const all = collectStatements(statementFiles, migrationFiles);
  for (const [key, value] of [...all].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (typeof value === 'string') lines.push(`  ${key}: ${template(value)},`);
    else {
      lines.push(`  ${key}: {`);
      for (const [name, sql] of Object.entries(value)) lines.push(`    ${name}: ${template(sql)},`);
      lines.push('  },');
    }
  }
  lines.push('} as const;', '', '/** Every migration in order; numbers are consecutive from 1. */');
  lines.push('export const migrations: readonly { number: number; name: string; sql: string }[] = [');
  for (const [index, file] of byName(migrationFiles).entries()) {
    const match = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file.name);
    if (match === null) throw new Error(`"${file.name}" is not named like 0001_initial.sql.`);
    const number = Number(match[1]);
    if (number !== index + 1) throw new Error(`"${file.name}" should have the number ${index + 1}.`);
    // When a store is migrated, all functions are created anew, but only missing steps change tables.
    if (
      /^(?:CREATE|ALTER|DROP) (?:TABLE|INDEX|SEQUENCE)/m.test(file.sql) &&
      /^CREATE (?:FUNCTION|VIEW)/m.test(file.sql)
    )
      throw new Error(`"${file.name}" has tables and functions. Write two migrations.`);
    lines.push(`  { number: ${number}, name: '${match[2]}', sql: ${template(file.sql.trim())} },`);
  }
  lines.push('];', '');
  return lines.join('\n');
}

/** The path and text of every `generated.ts` that should exist. */
export function generateAll(): { path: string; text: string }[] {
  if (!existsSync(enginesFolder)) return [];
  return readdirSync(enginesFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => {
      const folder = join(enginesFolder, entry.name);
      const statementFiles = readSqlFiles(join(folder, 'statements'));
      const migrationFiles = readSqlFiles(join(folder, 'migrations'));
      if (statementFiles.length + migrationFiles.length === 0) return [];
      return [{ path: join(folder, 'generated.ts'), text: renderGenerated(statementFiles, migrationFiles) }];
    });
}

/** Compares what should be generated with what is checked in. */
export function findStaleGenerated(
  wanted: { path: string; text: string }[],
  read: (path: string) => string | null,
): Problem[] {
  return wanted
    .filter(({ path, text }) => read(path) !== text)
    .map(({ path }) => ({
      path: relative(root, path),
      line: 1,
      message: 'differs from the .sql files. Run: npm run generate',
    }));
}

/** Reads a file, or null when it does not exist. */
export function readIfExists(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function readSqlFiles(folder: string): SqlFile[] {
  return listFiles(folder)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => ({ name: basename(file), sql: expandJobLists(readFileSync(file, 'utf8')) }));
}

function byName(files: SqlFile[]): SqlFile[] {
  return [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function camelCase(name: string): string {
  return name.replace(/[-_]+(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function template(sql: string): string {
  return `\`${sql.replace(/[\\`]|\$\{/g, (mark) => `\\${mark}`)}\``;
}

if (import.meta.main) {
  const files = generateAll();
  for (const { path, text } of files) {
    if (readIfExists(path) === text) continue;
    writeFileSync(path, text);
    console.log(`wrote ${relative(root, path)}`);
  }
}
