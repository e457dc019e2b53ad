import { jobStatuses, nearest } from '@duly/core/words';

/** What a search means, as the API takes it. */
export interface JobSearch {
  query: Record<string, string | string[]>;
  /** What could not be understood, each in a sentence. */
  problems: string[];
}

interface Term {
  name: string | null;
  value: string;
}

/** Names that may stand before a colon; `input.<path>` besides. */
export const termNames = [
  'status',
  'type',
  'queue',
  'tenant',
  'key',
  'schedule',
  'parent',
  'serial',
  'since',
  'before',
  'error',
  'id',
  'dead',
];

/** Words, and `name:value`; quotes hold words together. */
function readTerms(text: string): Term[] {
  const terms: Term[] = [];
  for (const [, name, quoted, bare] of text.matchAll(/(?:([a-z_][\w.[\]-]*):)?(?:"([^"]*)"?|(\S+))/gi)) {
    terms.push({ name: name ?? null, value: quoted ?? bare ?? '' });
  }
  return terms;
}

/**
 * Reads `input.user:42 status:failed since:1h timeout`. A word alone is a job's id when it looks like one, else a part of an error.
 * The same name twice means either, as in the API.
 */
export function readJobSearch(text: string): JobSearch {
  const query: Record<string, string | string[]> = {};
  const problems: string[] = [];
  const add = (name: string, value: string) => {
    const before = query[name];
    query[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  };
  const words: string[] = [];
  for (const { name, value } of readTerms(text)) {
    if (value === '') continue;
    if (name === null) {
      if (/^job_\w+$/.test(value)) add('ids', value);
      else words.push(value);
    } else if (name.startsWith('input.')) add(name, value);
    else if (name === 'status') {
      for (const one of value.split(',')) {
        const status = one.toUpperCase();
        if (jobStatuses.some((known) => known === status)) add('status', status);
        else
          problems.push(`There is no status “${one}”${meant(nearest(status, jobStatuses)?.toLowerCase())}`);
      }
    } else if (name === 'id') add('ids', value);
    else if (termNames.includes(name)) add(name, value);
    else {
      const near = nearest(name, termNames);
      problems.push(`“${name}:” is not something to search by${meant(near && `${near}:`)}`);
    }
  }
  if (words.length > 0) add('error', words.join(' '));
  return { query, problems };
}

function meant(word: string | undefined): string {
  return word === undefined ? '.' : `; did you mean ${word}?`;
}

/** A value as it is written in a search. */
function written(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value;
}

/** The values of one name in a search. */
export function valuesOf(text: string, name: string): string[] {
  return readTerms(text)
    .filter((term) => term.name === name)
    .flatMap(({ value }) => value.split(','));
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
    .filter((term) => term.name !== name)
    .map((term) => (term.name === null ? written(term.value) : `${term.name}:${written(term.value)}`));
  return [...others, ...(values.length === 0 ? [] : [`${name}:${values.map(written).join(',')}`])].join(' ');
}
