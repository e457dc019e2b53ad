// Turns each engine's sql folder into its checked-in generated.ts, so that the published package needs no file
// reads and a bundler keeps the SQL. Lists of job fields (job-lists.ts) are filled in, but not in the schema.
//
//   sql/schema/NNNN_name.sql   steps of the schema: DDL, and the rows that a new store starts with
//   sql/functions/*.sql        the functions and views of PostgreSQL, which a store gets as a whole
//   sql/statements/*.sql       statements that the engine's code runs
//
// The files write `duly.claim(`. The number of the function set is added here (`duly.claim_f2(`), so that two releases
// run side by side on one store (released-sql.ts).
//
// A function with a line `-- call: someName` above it becomes the statement `call.someName`, which calls it.
// `--check` only compares.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { expandJobLists } from './job-lists.ts';
import { openSet, type ReleasedSql, readReleased, sha256 } from './released-sql.ts';
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
export function readCalls(functionFiles: SqlFile[]): Record<string, string> {
  const calls: Record<string, string> = {};
  const marked = /^-- call: (\w+)$(?:\nCREATE FUNCTION ([\w.]+)\(([^)]*)\))?/gm;
  for (const { name: file, sql } of functionFiles) {
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
  functionFiles: SqlFile[],
): Map<string, string | Record<string, string>> {
  const all = new Map<string, string | Record<string, string>>();
  const calls = readCalls(functionFiles);
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

/** The files of one engine's sql folder. */
export interface SqlFolder {
  schema: SqlFile[];
  functions: SqlFile[];
  statements: SqlFile[];
  released: ReleasedSql;
}

/** The text of `generated.ts` for one engine. */
export function renderGenerated(folder: SqlFolder): string {
  const lines = [
    '// Made by `npm run generate` from sql/. Do not edit.',
    '',
    '/** Every statement of this engine by file name, without comments. */',
    'export const statements = {',
  ];
  const text = readFunctions(folder.functions);
  const { number: set, isReleased } = openSet(folder.released, text);
  const numbered = createNumbering(folder.functions, set);
  const all = collectStatements(folder.statements, folder.functions);
  for (const [key, value] of [...all].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (typeof value === 'string') lines.push(`  ${key}: ${template(numbered(value))},`);
    else {
      lines.push(`  ${key}: {`);
      for (const [name, sql] of Object.entries(value)) lines.push(`    ${name}: ${template(numbered(sql))},`);
      lines.push('  },');
    }
  }
  lines.push('} as const;', '', '/** Every step of the schema in order; numbers are consecutive from 1. */');
  lines.push('export const schemaSteps: readonly { number: number; name: string; sql: string }[] = [');
  for (const [index, file] of byName(folder.schema).entries()) {
    const match = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file.name);
    if (match === null) throw new Error(`"${file.name}" is not named like 0001_initial.sql.`);
    const number = Number(match[1]);
    if (number !== index + 1) throw new Error(`"${file.name}" should have the number ${index + 1}.`);
    if (/^CREATE (?:OR REPLACE )?(?:FUNCTION|VIEW)/m.test(file.sql))
      throw new Error(`"${file.name}" creates a function or view. They belong to sql/functions.`);
    if (file.sql.includes('{{')) throw new Error(`"${file.name}" has a placeholder, so its text can change.`);
    lines.push(`  { number: ${number}, name: '${match[2]}', sql: ${template(file.sql.trim())} },`);
  }
  lines.push('];', '');
  if (folder.functions.length > 0) {
    lines.push(
      '/** All functions and views of this code. The hash says whether a store has this text. */',
      'export const functionSet = {',
      `  number: ${set},`,
      `  isReleased: ${isReleased},`,
      `  hash: ${shortHash(text)},`,
      `  sql: ${template(numbered(text))},`,
      '};',
      '',
    );
  }
  return lines.join('\n');
}

/** The text that creates all functions. Views come first, because functions return their rows. */
export function readFunctions(files: SqlFile[]): string {
  const texts: string[] = [];
  for (const { name, sql } of byName(files)) {
    const other = /^(?!CREATE (?:FUNCTION|VIEW) duly\.)(?:CREATE|ALTER|DROP|INSERT|DO)\b.*/m.exec(sql);
    if (other !== null) throw new Error(`"${name}" holds more than functions and views: ${other[0]}`);
    const isViews = /^CREATE VIEW /m.test(sql);
    if (isViews && /^CREATE FUNCTION /m.test(sql)) throw new Error(`"${name}" holds views and functions.`);
    texts[isViews ? 'unshift' : 'push'](sql.trim());
  }
  // In the order of file names a function may come before one that it calls.
  return `SET LOCAL check_function_bodies = off;\n${texts.join('\n\n')}`;
}

/**
 * Adds the number of the set to the names of functions and views. A function has its bracket directly behind its name, a
 * table has a space there: `duly.changes(` is a call, `INSERT INTO duly.changes (` writes to the table.
 */
function createNumbering(files: SqlFile[], set: number): (sql: string) => string {
  const text = files.map(({ sql }) => sql).join('\n');
  const named = (kind: string): Set<string> =>
    new Set(
      [...text.matchAll(new RegExp(`^CREATE ${kind} duly\\.(\\w+)`, 'gm'))].map(([, name = '']) => name),
    );
  const [functions, views] = [named('FUNCTION'), named('VIEW')];
  return (sql) =>
    sql.replace(/\bduly\.(\w+)(\(?)/g, (whole, name: string, bracket: string) => {
      if (bracket === '') return views.has(name) ? `duly.${name}_f${set}` : whole;
      if (files.length > 0 && !functions.has(name))
        throw new Error(`"${whole}" is no function of sql/functions.`);
      return files.length > 0 ? `duly.${name}_f${set}(` : whole;
    });
}

/** A number that stands for a text and that JavaScript and JSON hold exactly: 52 bits of its SHA-256. */
function shortHash(text: string): number {
  return Number.parseInt(sha256(text).slice(0, 13), 16);
}

/** The path and text of every `generated.ts` that should exist. */
export function generateAll(): { path: string; text: string }[] {
  if (!existsSync(enginesFolder)) return [];
  return readdirSync(enginesFolder)
    .filter((name) => existsSync(join(enginesFolder, name, 'sql')))
    .map((name) => ({
      path: join(enginesFolder, name, 'generated.ts'),
      text: renderGenerated(readSqlFolder(join(enginesFolder, name, 'sql'))),
    }));
}

/** Reads the sql folder of an engine. */
export function readSqlFolder(folder: string): SqlFolder {
  const expanded = (name: string): SqlFile[] =>
    readSqlFiles(join(folder, name)).map((file) => ({ ...file, sql: expandJobLists(file.sql) }));
  return {
    // A step that is released never changes, so a list of job fields must not be filled in.
    schema: readSqlFiles(join(folder, 'schema')),
    functions: expanded('functions'),
    statements: expanded('statements'),
    released: readReleased(folder),
  };
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
    .map((file) => ({ name: basename(file), sql: readFileSync(file, 'utf8') }));
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
