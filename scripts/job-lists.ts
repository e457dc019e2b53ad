// Lists of job fields, written from the table in packages/core/src/contract/job-fields.ts. A placeholder names a list and says how each field
// is written:
//
//   {{job.caller -id -input | %column = s."%field" | , | policy=policy = c.policy}}
//
// The list (`columns`, `caller`, `record`, `claim`, `json`, or one of those below) loses the fields after `-`
// and begins with those without a mark; `+shared` or `-caller` keeps the fields that are
// shared, or are not set by the caller. Then come the template (default `%column`), the separator (default `,`) and templates for single
// fields; an empty template leaves the field out, and `slot*2=` takes two positions of `%n`. In SQL, scripts/embed-sql.ts replaces the
// placeholder. In TypeScript and Markdown it is in a comment, and `npm run generate` rewrites the lines up to `{{/job}}`, one per field.

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
  caller: ({ setBy }) => setBy === 'caller',
  record: ({ inRecord }) => inRecord,
  claim: ({ inClaim }) => inClaim,
  json: ({ json }) => json !== null,
};

/** Lists that are written in several places. */
const named: Record<string, string> = {
  // PostgreSQL sends these by position, after the columns that every claim has; of one job they may differ from those of the next.
  claimRest:
    'claim -shared -id -tenant -input -metadata -fence -begunAt -createdAt -dueAt -slot -parentId -parentKey -cancelRequestedAt',
  // What the caller sets and no engine acts on.
  passive:
    'caller -id -type -version -queue -tenant -priority -input -metadata -policy -origin -rankOffsetMs -serial',
  // What the runs of one schedule share, and as a rule those of many.
  kind: 'caller -id -tenant -input -rankOffsetMs -serial',
};

/** Lists and `shared` narrow another list. */
const flags: typeof lists = { ...lists, shared: ({ shared }) => shared };

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

/** The pieces of a list, one per field. */
export function listPieces(placeholder: string, table: JobTable): { pieces: string[]; separator: string } {
  const [head = '', template = '%column', ...rest] = placeholder
    .split(/\s\|(?:\s|$)/)
    .map((part) => part.trim());
  const [list = '', ...changes] = head.replace(/^\w+/, (name) => named[name] ?? name).split(/\s+/);
  const has = lists[list];
  if (has === undefined) throw new Error(`"${list}" is no list of job fields, in {{job.${placeholder}}}.`);
  const own = new Map<string, { template: string; width: number }>();
  let separator = ',';
  for (const part of rest) {
    const match = /^(\w+)(?:\*(\d))?=(.*)$/s.exec(part);
    if (match === null || table[match[1] as string] === undefined) separator = part;
    else own.set(match[1] as string, { width: Number(match[2] ?? 1), template: match[3] as string });
  }
  const dropped = new Set<string>();
  const first: string[] = [];
  const filters: ((field: JobField) => boolean)[] = [has];
  for (const change of changes) {
    const name = change.slice(1);
    const flag = flags[name];
    if (flag !== undefined && /^[+-]/.test(change)) {
      filters.push((field) => flag(field) === change.startsWith('+'));
    } else if (change.startsWith('-') && table[name] !== undefined) dropped.add(name);
    else if (table[change] !== undefined) first.push(change);
    else throw new Error(`"${change}" is no job field to leave out, in {{job.${placeholder}}}.`);
  }
  const pieces: string[] = [];
  let n = 0;
  for (const name of new Set([...first, ...Object.keys(table)])) {
    const field = table[name] as JobField;
    if (dropped.has(name) || !filters.every((filter) => filter(field))) continue;
    const special = own.get(name);
    const piece = fill(special?.template ?? template, name, field, n);
    if (piece !== '') pieces.push(piece);
    n += special?.width ?? 1;
  }
  return { pieces, separator };
}

function fill(template: string, name: string, field: JobField, n: number): string {
  const { column, type, nullable, json, doc } = field;
  const orNull = nullable && type !== 'json' ? ' | null' : '';
  const values: Record<string, string> = {
    ...{
      field: name,
      column,
      json: json ?? name,
      sql: sqlTypes[type],
      doc,
      n: String(n),
      next: String(n + 1),
    },
    differs: nullable ? 'IS DISTINCT FROM' : '<>',
    label: (json ?? name).replace(/^./, (first) => first.toUpperCase()).replaceAll('_', ' '),
    fact: factOf(field),
    schema: `${schemas[type]}${nullable && type !== 'json' ? '.nullable()' : ''}`,
    type: userType(name, field) + orNull,
    jsonType: (type === 'instant' ? 'Instant' : userType(name, field)) + orNull,
  };
  // What a value becomes for users, and in JSON.
  const turned: Record<string, (value: string) => string> = {
    shown: (value) => {
      if (type === 'instant') return nullable ? `date(${value})` : `new Date(${value})`;
      if (type !== 'json') return value;
      return nullable ? `${value} === null ? null : JSON.parse(${value})` : `JSON.parse(${value})`;
    },
    iso: (value) => (type !== 'instant' ? value : nullable ? `text(${value})` : `${value}.toISOString()`),
  };
  const filled = template.replace(/%(\w+)\b(?!\()/g, (mark, variable: string) => values[variable] ?? mark);
  return filled.replace(/%(\w+)\(([^)]*)\)/g, (mark, name: string, value: string) =>
    turned[name] === undefined ? mark : turned[name](value),
  );
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
