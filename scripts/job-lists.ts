// Lists of job fields, written from the table in packages/core/src/contract/job-fields.ts. A placeholder says
// which fields a list has and how each of them is written:
//
//   {{job.LIST CHANGES | TEMPLATE | SEPARATOR | FIELD=TEMPLATE | FIELD=TEMPLATE …}}
//
//   LIST              one of `lists` or of `named`, below
//   CHANGES  -field   without this field
//            field    this field before the others, whether or not the list has it
//            +flag    only fields that have this flag, one of `flags`
//            -flag    only fields that do not
//   TEMPLATE          what is written for a field, with %names (`valuesOf`); default: %column
//   SEPARATOR         what stands between two fields; default: a comma; empty: a space
//   FIELD=            the template of one field; empty: it is not written
//   FIELD*2=          the same for a field that takes two positions (%n)
//
//   {{job.kind}}                                     type, version, queue, …
//   {{job.caller | s.%column | , | id=p_id}}         p_id, s.type, s.version, …
//   {{job.claim +shared | a.%column <> b.%n | OR}}   a.type <> b.0 OR a.version <> b.1 OR …
//
// In SQL, scripts/embed-sql.ts replaces the placeholder. In TypeScript and Markdown it is in a comment, and
// `npm run generate` rewrites the lines up to `{{/job}}`, one per field (two where a template has \n).

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { type JobField, jobFields } from '../packages/core/src/contract/job-fields.ts';
import { listFiles, type Problem, root } from './source-text.ts';

/** The table, or another one in a test. */
export type JobTable = Readonly<Record<string, JobField>>;

const lists: Record<string, (field: JobField) => boolean> = {
  columns: () => true,
  none: () => false,
  caller: ({ setBy }) => setBy === 'caller',
  record: ({ inRecord }) => inRecord,
  claim: ({ inClaim }) => inClaim,
  json: ({ json }) => json !== null,
};

/** Lists that are written in several places. */
const named: Record<string, string> = {
  // In which jobs that PostgreSQL hands out together may differ, in the order of its answer. It answers in
  // another way if one of them has a parent or is to be cancelled.
  claimColumns: `claim -shared id fence input createdAt dueAt tenant metadata slot
    -begunAt -parentId -parentKey -cancelRequestedAt`,
  // What users see of a job, in the order in which they read it.
  shown: `json id type version status reason maxAttempts losses queue tenant priority dedupeKey serial
    createdAt dueAt startedAt latenessMs updatedAt finishedAt expireAt node cancelRequestedAt cancelledBy input result
    -metadata -error`,
  // What the caller sets and no engine acts on.
  passive: `caller -id -type -version -queue -tenant -priority -input -metadata -policy -origin
    -rankOffsetMs -serial`,
  // What the runs of one schedule share, and as a rule those of many.
  kind: 'caller -id -tenant -input -rankOffsetMs -serial',
  // What the end of a job leaves as it was. An engine may leave out more, and writes what that becomes.
  kept: `columns -status -reason -updatedAt -finishedAt -percent -message -step -stepOf -cancelledBy
    -error -result`,
  // What a job has of its first life when it is brought back.
  revived: 'caller createdAt node claimedAt attempt spent dedupeKey parentId parentKey scheduleId slot error',
  // What the transitions of SQLite look at.
  state: `none id type tenant status reason rankOffsetMs dueAt expireAt createdAt startedAt claimedAt begunAt
    fence node attempt spent maxAttempts losses begunLosses percent dedupeKey serial scheduleId parentId
    cancelRequestedAt policy`,
  // What they look at of a job that becomes ready.
  waiting: 'none id type tenant status reason rankOffsetMs dueAt serial percent',
};

/** Lists and two more properties narrow another list. */
const flags: typeof lists = {
  ...lists,
  shared: ({ shared }) => shared,
  nullable: ({ nullable }) => nullable,
};

const sqlTypes: Record<JobField['type'], string> = {
  text: 'text',
  integer: 'integer',
  long: 'bigint',
  number: 'double precision',
  instant: 'bigint',
  json: 'text',
};

const schemas: Record<JobField['type'], string> = {
  text: 'z.string()',
  integer: 'z.int()',
  long: 'z.number()',
  number: 'z.number()',
  instant: 'instant',
  json: 'z.unknown()',
};

interface OwnTemplate {
  template: string;
  /** How many positions the field takes. */
  width: number;
}

/** The pieces of a list, one per field. */
export function listPieces(placeholder: string, table: JobTable): { pieces: string[]; separator: string } {
  const fail = (what: string): Error => new Error(`${what}, in {{job.${placeholder}}}.`);
  // A bar with spaces around it divides; `||` and `a|b` belong to a template.
  const [head = '', template = '%column', ...rest] = placeholder
    .split(/\s\|(?=\s|$)/)
    .map((part) => part.trim());
  const [list = '', ...changes] = head.replace(/^\w+/, (name) => named[name] ?? name).split(/\s+/);
  const own = new Map<string, OwnTemplate>();
  const separators: string[] = [];
  for (const part of rest) {
    const [, name, width = '1', of = ''] = /^(\w+)(?:\*(\d))?=(.*)$/s.exec(part) ?? [];
    if (name === undefined) separators.push(part);
    else if (table[name] === undefined) throw fail(`"${name}" is no job field`);
    else own.set(name, { template: of, width: Number(width) });
  }
  if (separators.length > 1) throw fail('There are two separators');
  const pieces: string[] = [];
  let n = 0;
  for (const name of fieldsOf(list, changes, table, fail)) {
    const { template: of, width } = own.get(name) ?? { template, width: 1 };
    const piece = fill(of, valuesOf(name, table[name] as JobField, n), fail);
    if (piece !== '') pieces.push(piece);
    n += width;
  }
  return { pieces, separator: separators[0] ?? ',' };
}

function fieldsOf(
  list: string,
  changes: string[],
  table: JobTable,
  fail: (what: string) => Error,
): Set<string> {
  const has = lists[list];
  if (has === undefined) throw fail(`"${list}" is no list of job fields`);
  const filters = [has];
  const first: string[] = [];
  const dropped = new Set<string>();
  for (const change of changes) {
    const [, sign, name = ''] = /^([+-]?)(.*)$/.exec(change) ?? [];
    const flag = sign === '' ? undefined : flags[name];
    if (flag !== undefined) filters.push((field) => flag(field) === (sign === '+'));
    else if (table[name] === undefined || sign === '+') throw fail(`"${change}" is no job field and no flag`);
    else if (sign === '-') dropped.add(name);
    else first.push(name);
  }
  const others = Object.entries(table).filter(([, field]) => filters.every((filter) => filter(field)));
  return new Set([...first, ...others.map(([name]) => name)].filter((name) => !dropped.has(name)));
}

type Value = string | ((given: string) => string);

/** What a template may say of a field at position `n` of its list: `%name`, or `%name(…)` for a function. */
function valuesOf(name: string, field: JobField, n: number): Record<string, Value> {
  const { column, type, nullable, json, doc } = field;
  const orNull = nullable && type !== 'json' ? ' | null' : '';
  return {
    field: name,
    column,
    json: json ?? name,
    sql: sqlTypes[type],
    doc,
    n: String(n),
    next: String(n + 1),
    differs: nullable ? 'IS DISTINCT FROM' : '<>',
    label: (json ?? name).replace(/^./, (letter) => letter.toUpperCase()).replaceAll('_', ' '),
    fact: factOf(field),
    schema: `${schemas[type]}${nullable && type !== 'json' ? '.nullable()' : ''}`,
    type: userType(name, field) + orNull,
    jsonType: (type === 'instant' ? 'Instant' : userType(name, field)) + orNull,
    // What a value becomes for users, and in JSON.
    shown: (value) => {
      if (type === 'instant') return nullable ? `date(${value})` : `new Date(${value})`;
      if (type !== 'json') return value;
      return nullable ? `${value} === null ? null : JSON.parse(${value})` : `JSON.parse(${value})`;
    },
    iso: (value) => (type !== 'instant' ? value : nullable ? `text(${value})` : `${value}.toISOString()`),
  };
}

function fill(template: string, values: Record<string, Value>, fail: (what: string) => Error): string {
  return template.replace(/%(\w+)(?:\(([^)]*)\))?/g, (_, name: string, given?: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw fail(`"%${name}" means nothing`);
    const inside = given === undefined ? undefined : fill(given, values, fail);
    if (typeof value === 'string') return inside === undefined ? value : `${value}(${inside})`;
    if (inside === undefined) throw fail(`"%${name}" needs a value in parentheses`);
    return value(inside);
  });
}

/** A field in the list of facts on the dashboard's page of a job; null is not shown. */
function factOf({ type, json }: JobField): string {
  const value = `job.${json}`;
  if (type === 'instant') return `(${value} === null ? null : <Instant at={${value}} />)`;
  return type === 'json' ? `(${value} === null ? null : JSON.stringify(${value}))` : value;
}

function userType(name: string, { type }: JobField): string {
  if (name === 'status') return 'JobStatus';
  if (name === 'origin') return 'Origin';
  if (type === 'text') return 'string';
  if (type === 'instant') return 'Date';
  return type === 'json' ? 'unknown' : 'number';
}

/** SQL with its placeholders replaced. */
export function expandJobLists(sql: string, table: JobTable = jobFields): string {
  return sql.replace(/\{\{job\.([\s\S]*?)\}\}/g, (_, placeholder: string) => {
    const { pieces, separator } = listPieces(placeholder, table);
    return pieces.join(
      separator === '' ? ' ' : /^[,;]$/.test(separator) ? `${separator} ` : ` ${separator} `,
    );
  });
}

// A comment with a placeholder, and the lines up to the comment that closes it. Groups: its indentation, how
// it opens, the placeholder (which may go on in further comments), how it closes, and the old lines.
const region =
  /^([ \t]*)(\/\/|<!--) \{\{job\.((?:.*\n[ \t]*\/\/ +)*?.*)\}\}( -->)?[ \t]*\n((?:(?!.*\{\{).*\n)*?)(?=[ \t]*(?:\/\/|<!--) \{\{\/job\}\})/gm;

/** A TypeScript or Markdown file with its lists rewritten. */
export function rewriteJobLists(text: string, table: JobTable = jobFields): string {
  return text.replace(region, (whole, indent: string, _open, written: string, _close, old: string) => {
    const { pieces, separator } = listPieces(written.replace(/\n[ \t]*\/\/ +/g, ' '), table);
    const joined =
      separator === ',' ? pieces : pieces.map((piece, i) => (i === 0 ? piece : `${separator} ${piece}`));
    const lines = joined.flatMap((piece) => piece.split('\\n')).map((line) => `${indent}${line}\n`);
    return whole.slice(0, whole.length - old.length) + lines.join('');
  });
}

interface WrittenFile {
  path: string;
  text: string;
}

/** The files whose lists differ from the table, as they should be. */
export function generateJobLists(): WrittenFile[] {
  const rewritten = ['packages', 'docs', 'test', 'proof']
    .flatMap((folder) => listFiles(join(root, folder)))
    .filter((file) => /\.(?:tsx?|md)$/.test(file) && !/[\\/](?:node_modules|dist)[\\/]/.test(file))
    .flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      return text.includes('{{job.') ? [{ path, text: rewriteJobLists(text) }] : [];
    });
  return formatSources(rewritten.filter(isOther)).filter(isOther);
}

function isOther({ path, text }: WrittenFile): boolean {
  return readFileSync(path, 'utf8') !== text;
}

/** The files as `npm run format` leaves them. Biome wraps the long lines of a list. */
function formatSources(files: WrittenFile[]): WrittenFile[] {
  if (files.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), 'duly-lists-'));
  const copyOf = (path: string): string => join(folder, relative(root, path));
  try {
    for (const { path, text } of files) {
      mkdirSync(dirname(copyOf(path)), { recursive: true });
      writeFileSync(copyOf(path), text);
    }
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
    const { error } = spawnSync(process.execPath, [
      biome,
      'format',
      '--write',
      '--config-path',
      root,
      folder,
    ]);
    if (error !== undefined) throw error;
    // Biome leaves a file with a syntax error as it is; the check of types reports it.
    return files.map(({ path }) => ({ path, text: readFileSync(copyOf(path), 'utf8') }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The files whose lists differ from the table, as problems. */
export function findStaleJobLists(): Problem[] {
  return generateJobLists().map(({ path }) => ({
    path: relative(root, path),
    line: 1,
    message: 'lists other job fields than contract/job-fields.ts. Run: npm run generate',
  }));
}

if (import.meta.main) {
  for (const { path, text } of generateJobLists()) {
    writeFileSync(path, text);
    console.log(`wrote ${relative(root, path)}`);
  }
}
