// Reads TypeScript as text, well enough to know what is code and what is a comment or a string.
// TypeScript 7 has no stable parser API, and a parser dependency for three checks would cost more than this.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** A source file: its path from the root with forward slashes, and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** A finding of a check: where it is and what is wrong, in a sentence. */
export interface Problem {
  path: string;
  line: number;
  message: string;
}

/** Every `.ts` file below `packages/<name>/src`, sorted by path. */
export function readPackageSources(): SourceFile[] {
  const packages = readdirSync(join(root, 'packages'), { withFileTypes: true });
  return packages
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => listFiles(join(root, 'packages', entry.name, 'src')))
    .filter((file) => file.endsWith('.ts') || file.endsWith('.tsx'))
    .map((file) => ({
      path: relative(root, file).split(sep).join('/'),
      text: readFileSync(file, 'utf8'),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** All files below a folder; none if the folder does not exist. */
export function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The number of the line that holds a character, from 1. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

const word = String.raw`[\p{ID_Continue}$]`;
const wordEnd = new RegExp(`${word}+$`, 'u');

// A slash begins a regular expression after one of these words, and after the condition of one of those.
const beforeRegExp = /^(?:return|typeof|case|in|of|do|else|void|delete|throw|await|yield)$/;
const beforeCondition = /(?<![\w$.])(?:if|while|with|for(?:\s+await)?)\s*$/;

/** Whether a slash behind this masked code begins a regular expression. After a value it divides. */
function beginsRegExp(code: string, next: string | undefined): boolean {
  const before = code.trimEnd();
  const [name] = wordEnd.exec(before) ?? [];
  if (name !== undefined) return beforeRegExp.test(name) && !before.endsWith(`.${name}`);
  if (before.endsWith(')')) return beforeCondition.test(before.slice(0, openingOf(before)));
  // `i++ / 2` and `found! / 2` divide.
  if (/\+\+$|--$/.test(before)) return false;
  if (before.endsWith('!')) return !/[\w$)\]]!$/.test(before);
  // `/>` and `</p>` end an element of JSX. A comparison has a space behind it.
  if ((/[}<]$/.test(before) && next === '>') || code.endsWith('<')) return false;
  return /(?:^|[({}[,;=:?&|+\-*%~^<>])$/.test(before);
}

/** Where the parenthesis begins that ends a text. */
function openingOf(text: string): number {
  let depth = 0;
  for (let at = text.length - 1; at >= 0; at--) {
    if (text[at] === ')') depth++;
    else if (text[at] === '(' && --depth === 0) return at;
  }
  return 0;
}

/**
 * The text with the contents of comments, strings, templates and regular expressions replaced by spaces.
 * Offsets and line breaks stay the same, quotes stay, and code inside `${…}` stays.
 */
export function maskSource(text: string): string {
  const out = text.split('');
  const blank = (from: number, to: number): void => {
    for (let i = from; i < to && i < out.length; i++) if (out[i] !== '\n') out[i] = ' ';
  };
  // Depths of braces at which a template expression ends, innermost last.
  const templates: number[] = [];
  let depth = 0;
  let i = 0;

  const skipTemplateText = (from: number): number => {
    let at = from;
    while (at < text.length) {
      if (text[at] === '\\') at += 2;
      else if (text[at] === '`') {
        blank(from, at);
        return at + 1;
      } else if (text[at] === '$' && text[at + 1] === '{') {
        blank(from, at);
        templates.push(depth);
        depth++;
        return at + 2;
      } else at++;
    }
    blank(from, at);
    return at;
  };

  while (i < text.length) {
    const char = text[i];
    if (char === '/' && text[i + 1] === '/') {
      const end = text.indexOf('\n', i);
      const to = end === -1 ? text.length : end;
      blank(i, to);
      i = to;
    } else if (char === '/' && text[i + 1] === '*') {
      const end = text.indexOf('*/', i + 2);
      const to = end === -1 ? text.length : end + 2;
      blank(i, to);
      i = to;
    } else if (char === "'" || char === '"') {
      let at = i + 1;
      while (at < text.length && text[at] !== char && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1;
      blank(i + 1, at);
      i = at + 1;
    } else if (char === '`') {
      i = skipTemplateText(i + 1);
    } else if (char === '/' && beginsRegExp(out.slice(Math.max(0, i - 5_000), i).join(''), text[i + 1])) {
      let at = i + 1;
      let inClass = false;
      while (at < text.length && text[at] !== '\n' && (inClass || text[at] !== '/')) {
        if (text[at] === '[') inClass = true;
        else if (text[at] === ']') inClass = false;
        at += text[at] === '\\' ? 2 : 1;
      }
      blank(i + 1, at);
      i = at + 1;
    } else if (char === '{') {
      depth++;
      i++;
    } else if (char === '}') {
      depth--;
      i++;
      if (templates.at(-1) === depth) {
        templates.pop();
        i = skipTemplateText(i);
      }
    } else i++;
  }
  return out.join('');
}

/**
 * How a file refers to another: `type` vanishes when types are stripped, `url` names a thread's entry, and
 * `computed` is decided at run time: the specifier is the line that does it.
 */
export type ImportKind = 'static' | 'type' | 'dynamic' | 'url' | 'computed';

/** One reference from a file to a module. */
export interface Import {
  specifier: string;
  kind: ImportKind;
  line: number;
}

const keyword = `(?<!${word})(?:import|export)(?!${word})`;
const patterns = {
  // What stands between the keyword and `from`: names, braces, stars, and names that are strings.
  from: new RegExp(
    String.raw`${keyword}\s*(type(?!${word})(?!\s*(?:,|from\s*['"])))?(?:(?!${keyword})(?:[\p{ID_Continue}$\\*\s{},]|'[^']*'|"[^"]*"))*?(?<!${word})from\s*(?=['"])`,
    'gu',
  ),
  effect: new RegExp(String.raw`(?<!${word})import\s*(?=['"])`, 'gu'),
  module: new RegExp(String.raw`(?<!${word})declare\s+module\s*(?=['"])`, 'gu'),
  call: new RegExp(String.raw`(?<!${word})import\s*(?:\.\s*(?:defer|source)\s*)?\(`, 'gu'),
  url: new RegExp(String.raw`(?<!${word})new\s+URL\s*\(`, 'gu'),
  computed: new RegExp(
    String.raw`(?<!${word})(?:import\s*\.\s*meta|createRequire|getBuiltinModule)(?!${word})`,
    'gu',
  ),
};
const reference = /^[ \t]*\/\/\/\s*<reference\s+(path|types)\s*=\s*(['"])(.*?)\2/gm;

/** Every module that a file refers to, and every place where code decides that at run time. */
export function importsOf(text: string): Import[] {
  const masked = maskSource(text);
  const found: Import[] = [];
  // Without a specifier, or with an escape in it, the module cannot be read off.
  const add = (specifier: string | undefined, kind: ImportKind, index: number): void => {
    const line = lineAt(text, index);
    if (specifier !== undefined && !specifier.includes('\\')) found.push({ specifier, kind, line });
    else found.push({ specifier: (text.split('\n')[line - 1] as string).trim(), kind: 'computed', line });
  };
  for (const match of masked.matchAll(patterns.from)) {
    const literal = literalAt(text, masked, match.index + match[0].length);
    add(literal?.specifier, match[1] === undefined ? 'static' : 'type', match.index);
  }
  for (const [pattern, kind] of [
    [patterns.effect, 'static'],
    [patterns.module, 'type'],
  ] as const) {
    for (const match of masked.matchAll(pattern)) {
      add(literalAt(text, masked, match.index + match[0].length)?.specifier, kind, match.index);
    }
  }
  for (const match of masked.matchAll(patterns.call)) {
    const argument = argumentAt(text, masked, match.index + match[0].length);
    add(argument?.specifier, 'dynamic', match.index);
  }
  // `import.meta.url` beside a literal is read off; anything else may name a module that is not.
  const read = new Set<number>();
  for (const match of masked.matchAll(patterns.url)) {
    const argument = argumentAt(text, masked, match.index + match[0].length);
    if (argument === null) continue;
    add(argument.specifier, 'url', match.index);
    const [base] = /^\s*,\s*(?=import\.meta\.url\s*,?\s*\))/.exec(masked.slice(argument.end)) ?? [];
    if (base !== undefined) read.add(argument.end + base.length);
  }
  for (const match of masked.matchAll(patterns.computed))
    if (!read.has(match.index)) add(undefined, 'computed', match.index);
  for (const match of text.matchAll(reference)) {
    const [, by, , specifier = ''] = match;
    add(by === 'path' && !specifier.startsWith('.') ? `./${specifier}` : specifier, 'type', match.index);
  }
  const unique = new Map(found.map((one) => [`${one.line} ${one.specifier} ${one.kind}`, one]));
  return [...unique.values()].sort((a, b) => a.line - b.line);
}

interface Literal {
  specifier: string;
  /** Behind it. */
  end: number;
}

/** The string or template without expressions that begins here. */
function literalAt(text: string, masked: string, start: number): Literal | null {
  const quote = masked[start] as string;
  const end = masked.indexOf(quote, start + 1);
  if (!/['"`]/.test(quote) || end === -1 || masked.slice(start + 1, end).trim() !== '') return null;
  return { specifier: text.slice(start + 1, end), end: end + 1 };
}

/** The first argument of a call, if it is a literal, also in parentheses. null: it is computed. */
function argumentAt(text: string, masked: string, start: number): Literal | null {
  const [opening] = /^[\s(]*/.exec(masked.slice(start)) as RegExpExecArray;
  const literal = literalAt(text, masked, start + opening.length);
  if (literal === null) return null;
  const closing = '\\s*\\)'.repeat(opening.replace(/\s/g, '').length);
  const [ended] = new RegExp(`^${closing}\\s*(?=[,)])`).exec(masked.slice(literal.end)) ?? [];
  return ended === undefined ? null : { ...literal, end: literal.end + ended.length };
}

/** Prints problems one per line and returns whether there were none. */
export function reportProblems(title: string, problems: Problem[]): boolean {
  for (const { path, line, message } of problems) console.error(`${path}:${line}: ${message}`);
  console.log(`${title}: ${problems.length === 0 ? 'ok' : `${problems.length} problem(s)`}`);
  return problems.length === 0;
}
