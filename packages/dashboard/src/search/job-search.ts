import { jobStatuses, nearest } from '@duly/core/internal/browser';

type Scalar = string | number | boolean | null;

/** Which jobs, as the body of a bulk action takes it. */
export interface JobFilter {
  status?: string[];
  type?: string[];
  queue?: string[];
  ids?: string[];
  tenant?: string;
  key?: string;
  schedule?: string;
  parent?: string;
  serial?: string;
  since?: string;
  before?: string;
  error?: string;
  text?: string[];
  dead?: boolean;
  input?: Record<string, Scalar>;
}

/** What a search means. With problems nothing may be searched or acted on: a part of a filter matches more than all of it. */
export interface JobSearch {
  filter: JobFilter;
  /** The same filter as the query of a list takes it. */
  query: Record<string, string | string[]>;
  /** What could not be understood, each in a sentence. */
  problems: string[];
  /** The terms that there are, if one was written that is none of them. */
  hint: string | null;
}

interface Term {
  /** What it selects by: `type`, also where `task` was written. */
  name: string | null;
  /** The name as it was written. */
  written: string | null;
  /** undefined: `type:` without a value. */
  value: string | undefined;
  isQuoted: boolean;
}

/** Terms that take several values, each of which may match. */
const severalNames = ['status', 'type', 'queue', 'ids'] as const;
/** Terms that take one value. */
const oneNames = ['tenant', 'key', 'schedule', 'parent', 'serial', 'since', 'before', 'error'] as const;
/** Other names of terms. `task` is accepted and not listed: a type is the name of a task. */
const aliases: Readonly<Record<string, string>> = { task: 'type', id: 'ids' };

/** Names that are listed and suggested; `input.<path>` besides. */
const termNames: readonly string[] = [
  ...['status', 'type', 'queue', 'tenant', 'schedule', 'error', 'since', 'before', 'id', 'key'],
  ...['parent', 'serial', 'dead'],
];

const termList = `Terms: ${termNames.map((name) => `${name}:`).join(' ')} input.<path>: – a word alone is looked for in type, tenant, status and error.`;

const statusList = jobStatuses.map((status) => status.toLowerCase()).join(', ');

/** Words, and `name:value`; quotes hold words together. */
function readTerms(text: string): Term[] {
  const terms: Term[] = [];
  for (const [, named, quoted, bare] of text.matchAll(/(?:([a-z_][\w.[\]-]*):)?(?:"([^"]*)"?|(\S+))/gi)) {
    // A name, even a misspelt one, before a lone colon has lost its value; anything else is a word that ends in a colon.
    const alone = named === undefined && bare?.endsWith(':') ? bare.slice(0, -1) : null;
    const isAlone = alone !== null && (isTermName(alone) || nearestTerm(alone) !== undefined);
    const word = isAlone ? alone : (named ?? null);
    const written = word === null || word.startsWith('input.') ? word : word.toLowerCase();
    const value = isAlone ? undefined : (quoted ?? bare);
    terms.push({
      name: written === null ? null : nameOf(written),
      written,
      value,
      isQuoted: quoted !== undefined,
    });
  }
  return terms;
}

/** The term that a name, in small letters, stands for. */
function nameOf(name: string): string {
  return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? name;
}

/** The listed term that a misspelt name is nearest to: `type` for `taks`, which is nearly `task`. */
function nearestTerm(name: string): string | undefined {
  const near = nearest(name.toLowerCase(), [...termNames, ...Object.keys(aliases)]);
  return near === undefined || termNames.includes(near) ? near : nameOf(near);
}

function isTermName(name: string): boolean {
  const lower = name.toLowerCase();
  return name.startsWith('input.') || termNames.includes(lower) || Object.hasOwn(aliases, lower);
}

/**
 * Reads `input.user:42 status:failed since:1h acme`. A word alone is a job's id when it looks like one, else text in type, tenant, status or
 * error. The same name twice means either, as in the API; several words must all match.
 */
export function readJobSearch(text: string): JobSearch {
  const filter: JobFilter = {};
  const query: Record<string, string | string[]> = {};
  const problems: string[] = [];
  let isUnknown = false;
  const addEach = (name: 'text' | (typeof severalNames)[number], values: string[]) => {
    const all = [...(filter[name] ?? []), ...values];
    filter[name] = all;
    query[name] = all;
  };
  for (const { name, written, value, isQuoted } of readTerms(text)) {
    if (name === null || written === null) {
      if (value === undefined || value === '') continue;
      if (!isQuoted && /^job_\w+$/.test(value)) addEach('ids', [value]);
      else addEach('text', [value]);
    } else if (!isTermName(written)) {
      const near = nearestTerm(written);
      problems.push(
        `“${written}:” is not a search term${meant(near && `${near}:`)} To look for the text itself, write it in quotes.`,
      );
      isUnknown = true;
    } else if (value === undefined || value.replaceAll(',', '') === '') {
      problems.push(`“${written}:” needs a value.`);
    } else if (name.startsWith('input.')) {
      const path = name.slice('input.'.length);
      if (path === '' || path.split('.').includes('__proto__'))
        problems.push(`“${written}:” is no path of an input.`);
      else if (Object.hasOwn(query, name)) problems.push(`“${written}:” can be given once.`);
      else {
        filter.input = { ...filter.input, [path]: scalarOf(value) };
        query[name] = value;
      }
    } else if (name === 'status') {
      const given = value.split(',').filter((one) => one !== '');
      const known = given.map((one) => one.toUpperCase());
      for (const [at, status] of known.entries()) {
        if (jobStatuses.some((one) => one === status)) continue;
        const near = nearest(status, jobStatuses)?.toLowerCase();
        problems.push(
          `There is no status “${given[at]}”${near ? meant(near) : `. There are ${statusList}.`}`,
        );
      }
      addEach('status', known);
    } else if (isOneOf(severalNames, name)) {
      addEach(
        name,
        value.split(',').filter((one) => one !== ''),
      );
    } else if (name === 'dead' && !['true', 'false'].includes(value)) {
      problems.push('“dead:” is either dead:true or dead:false.');
    } else if (Object.hasOwn(query, name)) {
      problems.push(`“${written}:” can be given once.`);
    } else {
      if (isOneOf(oneNames, name)) filter[name] = value;
      else filter.dead = value === 'true';
      query[name] = value;
    }
  }
  return { filter, query, problems, hint: isUnknown ? termList : null };
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name);
}

/** `42`, `true` and `null` are what they are in JSON, as the list of jobs reads them; everything else is a text. */
function scalarOf(text: string): Scalar {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? text : (value as Scalar);
  } catch {
    return text;
  }
}

function meant(word: string | undefined): string {
  return word === undefined ? '.' : `; did you mean ${word}?`;
}

/** A filter in words, one condition each. All of them must hold. */
export function filterWords(filter: JobFilter): string[] {
  const words: string[] = [];
  const add = (what: string, values: readonly string[] | undefined) => {
    if (values !== undefined) words.push(`${what} is ${values.join(' or ')}`);
  };
  add(
    'status',
    filter.status?.map((one) => one.toLowerCase()),
  );
  add('type', filter.type);
  add('queue', filter.queue);
  for (const [name, what] of [
    ['tenant', 'tenant'],
    ['schedule', 'schedule'],
    ['key', 'dedupe key'],
    ['serial', 'serial key'],
    ['parent', 'parent'],
  ] as const) {
    const value = filter[name];
    if (value !== undefined) add(what, [value]);
  }
  if (filter.since !== undefined) words.push(`created since ${filter.since}`);
  if (filter.before !== undefined) words.push(`created before ${filter.before}`);
  for (const [path, value] of Object.entries(filter.input ?? {})) {
    words.push(`input.${path} is ${JSON.stringify(value)}`);
  }
  for (const text of filter.text ?? []) {
    const isStatus = jobStatuses.some((one) => one === text.toUpperCase());
    words.push(
      `${isStatus ? `status is ${text.toLowerCase()}, or ` : ''}type, tenant or error contains “${text}”`,
    );
  }
  if (filter.error !== undefined) words.push(`error contains “${filter.error}”`);
  if (filter.dead !== undefined) words.push(filter.dead ? 'is a dead letter' : 'is not a dead letter');
  add('id', filter.ids);
  return words;
}

/** A value as it is written in a search. */
function written(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value;
}

/** The values of one name in a search. */
export function valuesOf(text: string, name: string): string[] {
  return readTerms(text)
    .filter((term) => term.name === nameOf(name))
    .flatMap(({ value = '' }) => value.split(','));
}

/** A search for these values, whatever is in them. */
export function searchFor(terms: Readonly<Record<string, string>>): string {
  return Object.entries(terms)
    .map(([name, value]) => `${name}:${written(value)}`)
    .join(' ');
}

/** The same search with this name having these values, and only these. */
export function withTerm(text: string, name: string, values: readonly string[]): string {
  const others = readTerms(text)
    .filter((term) => term.name !== nameOf(name))
    .map(({ written: other, value = '', isQuoted }) =>
      other === null ? (isQuoted ? `"${value}"` : value) : `${other}:${written(value)}`,
    );
  return [...others, ...(values.length === 0 ? [] : [`${name}:${values.map(written).join(',')}`])].join(' ');
}
