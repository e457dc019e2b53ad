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

// A slash after one of these begins a regular expression; after a value it divides.
const beforeRegExp =
  /(?:^|[({[,;=:?!&|+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|await|yield))\s*$/;

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
    } else if (char === '/' && beforeRegExp.test(out.slice(Math.max(0, i - 40), i).join(''))) {
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

/** How a file refers to another: `type` vanishes when types are stripped, `url` names a thread's entry. */
export type ImportKind = 'static' | 'type' | 'dynamic' | 'url';

/** One reference from a file to a module. */
export interface Import {
  specifier: string;
  kind: ImportKind;
  line: number;
}

/** Every module a file refers to by a literal specifier. */
export function importsOf(text: string): Import[] {
  const masked = maskSource(text);
  const found: Import[] = [];
  const collect = (pattern: RegExp, kind: (match: RegExpExecArray) => ImportKind): void => {
    for (const match of masked.matchAll(pattern)) {
      const start = match.index + match[0].length;
      const quote = masked[start - 1] as string;
      const specifier = text.slice(start, masked.indexOf(quote, start));
      found.push({ specifier, kind: kind(match), line: lineAt(text, match.index) });
    }
  };
  collect(/\b(?:import|export)\s+(type\s+(?!from\b|,))?[\w$*\s{},]+?\bfrom\s*['"]/g, (match) =>
    match[1] === undefined ? 'static' : 'type',
  );
  collect(/\bexport\s*\{[\w$*\s,]*\}\s*from\s*['"]/g, () => 'static');
  collect(/\bimport\s*\{[\w$*\s,]*\}\s*from\s*['"]/g, () => 'static');
  collect(/\bimport\s*['"]/g, () => 'static');
  collect(/\bimport\s*\(\s*['"`]/g, () => 'dynamic');
  collect(/\bnew\s+URL\s*\(\s*['"]/g, () => 'url');
  // The second and third pattern repeat what the first finds when there is a space after the keyword.
  const unique = new Map(found.map((one) => [`${one.line} ${one.specifier} ${one.kind}`, one]));
  return [...unique.values()].sort((a, b) => a.line - b.line);
}

/** Prints problems one per line and returns whether there were none. */
export function reportProblems(title: string, problems: Problem[]): boolean {
  for (const { path, line, message } of problems) console.error(`${path}:${line}: ${message}`);
  console.log(`${title}: ${problems.length === 0 ? 'ok' : `${problems.length} problem(s)`}`);
  return problems.length === 0;
}
