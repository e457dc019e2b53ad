// Lists of job fields, written from the table in packages/core/src/contract/job-fields.ts. A placeholder names a list and says how each field
// is written:
//
//   {{job.caller -id -input | %column = s."%field" | , | policy=policy = c.policy}}
//
// The list (`columns`, `caller`, `record`, `claim` or `json`) loses the fields after `-`; `+shared` and `-shared` keep the shared fields or
// the others. Then come the template (default `%column`), the separator (default `,`) and templates for single fields. In SQL, scripts/
// embed-sql.ts replaces the placeholder. In TypeScript and Markdown it stands in a comment, and `npm run generate` rewrites the lines up to
// `{{/job}}`, one per field. `--check` only compares.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
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

const sqlTypes: Record<JobField['type'], string> = {
  text: 'text',
  integer: 'integer',
  long: 'bigint',
  number: 'double precision',
  boolean: 'boolean',
  instant: 'bigint',
  json: 'text',
};

const schemas: Record<JobField['type'], string> = {
  text: 'z.string()',
  integer: 'z.int()',
  long: 'z.number()',
  number: 'z.number()',
  boolean: 'z.boolean()',
  instant: 'instant',
  json: 'z.unknown()',
};

/** The pieces of a list, one per field. */
export function listPieces(placeholder: string, table: JobTable): { pieces: string[]; separator: string } {
  const [head = '', template = '%column', ...rest] = placeholder
    .split(/\s\|(?:\s|$)/)
    .map((part) => part.trim());
  const [list = '', ...changes] = head.split(/\s+/);
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
  let shared: boolean | null = null;
  for (const change of changes) {
    const name = change.slice(1);
    if (name === 'shared' && /^[+-]/.test(change)) shared = change.startsWith('+');
    else if (change.startsWith('-') && table[name] !== undefined) dropped.add(name);
    else throw new Error(`"${change}" is no job field to leave out, in {{job.${placeholder}}}.`);
  }
  const pieces: string[] = [];
  let n = 0;
  for (const [name, field] of Object.entries(table)) {
    if (!has(field) || dropped.has(name) || (shared !== null && field.shared !== shared)) continue;
    const special = own.get(name);
    pieces.push(fill(special?.template ?? template, name, field, n));
    n += special?.width ?? 1;
  }
  return { pieces, separator };
}

function fill(template: string, name: string, field: JobField, n: number): string {
  const { column, type, nullable, json, doc } = field;
  const orNull = nullable ? ' | null' : '';
  const values: Record<string, string> = {
    ...{ field: name, column, json: json ?? name, sql: sqlTypes[type], doc, n: String(n) },
    schema: `${schemas[type]}${nullable ? '.nullable()' : ''}`,
    type: userType(name, field) + orNull,
    jsonType: (type === 'instant' ? 'Instant' : userType(name, field)) + orNull,
  };
  // What a value becomes: for SQLite, which knows no booleans; back from there; for users; for JSON.
  const turned: Record<string, (value: string) => string> = {
    bind: (value) => (type === 'boolean' ? `toBit(${value})` : value),
    read: (value) => (type === 'boolean' ? `isSet(${value})${nullable ? '' : ' as boolean'}` : value),
    date: (value) => (type !== 'instant' ? value : nullable ? `date(${value})` : `new Date(${value})`),
    iso: (value) => (type !== 'instant' ? value : nullable ? `text(${value})` : `${value}.toISOString()`),
  };
  const filled = template.replace(/%(\w+)\b(?!\()/g, (mark, variable: string) => values[variable] ?? mark);
  return filled.replace(/%(\w+)\(([^)]*)\)/g, (mark, name: string, value: string) =>
    turned[name] === undefined ? mark : turned[name](value),
  );
}

function userType(name: string, { type }: JobField): string {
  if (name === 'status') return 'JobStatus';
  if (name === 'origin') return 'Origin';
  if (type === 'text' || type === 'boolean') return type === 'text' ? 'string' : 'boolean';
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
  /^([ \t]*)(\/\/|<!--) \{\{job\.(.*)\}\}( -->)?[ \t]*\n((?:(?!.*\{\{job\.).*\n)*?)(?=[ \t]*(?:\/\/|<!--) \{\{\/job\}\})/gm;

/** A TypeScript or Markdown file with its lists rewritten. */
export function rewriteJobLists(text: string, table: JobTable = jobFields): string {
  return text.replace(region, (_, indent: string, open: string, placeholder: string, close = '') => {
    const { pieces, separator } = listPieces(placeholder, table);
    const joined =
      separator === ',' ? pieces : pieces.map((piece, i) => (i === 0 ? piece : `${separator} ${piece}`));
    const lines = joined.flatMap((piece) => piece.split('\\n')).map((line) => `${indent}${line}\n`);
    return `${indent}${open} {{job.${placeholder}}}${close}\n${lines.join('')}`;
  });
}

/** Every file with lists, as it should be. */
export function generateJobLists(): { path: string; text: string }[] {
  return ['packages', 'docs', 'test', 'proof']
    .flatMap((folder) => listFiles(join(root, folder)))
    .filter((file) => /\.(?:tsx?|md)$/.test(file) && !/[\\/](?:node_modules|dist)[\\/]/.test(file))
    .flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      return text.includes('{{job.') ? [{ path, text: rewriteJobLists(text) }] : [];
    });
}

/** The files whose lists differ from the table. */
export function findStaleJobLists(): Problem[] {
  return generateJobLists()
    .filter(({ path, text }) => readFileSync(path, 'utf8') !== text)
    .map(({ path }) => ({
      path: relative(root, path),
      line: 1,
      message: 'lists other job fields than contract/job-fields.ts. Run: npm run generate',
    }));
}

if (import.meta.main) {
  for (const { path, text } of generateJobLists()) {
    if (readFileSync(path, 'utf8') === text) continue;
    writeFileSync(path, text);
    console.log(`wrote ${relative(root, path)}`);
  }
}
