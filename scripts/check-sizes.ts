// No function of the packages is longer than 80 lines and no file longer than 400. `long-code.json` lists those
// that are, so that no other is added and none of them grows. An entry with a `reason` stays whole and may grow.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  lineAt,
  maskSource,
  type Problem,
  readPackageSources,
  root,
  type SourceFile,
} from './source-text.ts';

const functionLinesMax = 80;
const fileLinesMax = 400;
const listPath = 'scripts/long-code.json';
const wholeFile = '(file)';

/** Tables of data, which are as long as what they describe. */
const tables: readonly string[] = ['packages/core/src/contract/job-fields.ts'];

/** A function or a file that is too long. */
export interface LongCode {
  path: string;
  /** The function's name, or `(file)`. A callback is named after what it is passed to. */
  name: string;
  lines: number;
  /** Why it stays whole. Without one it is to be split. */
  reason?: string;
}

/** A function of a source file. The lines of a function within it count for it too. */
export interface MeasuredFunction {
  name: string;
  line: number;
  lines: number;
}

const controlWords = /^(?:if|for|while|switch|catch|with|return|await|typeof|super|import)$/;
const openers: Record<string, string> = { '(': ')', '[': ']', '{': '}' };

/** Every function declaration, method and arrow function of a text, in the order in which they begin. */
export function measureFunctions(text: string): MeasuredFunction[] {
  const code = maskSource(text);
  const found: MeasuredFunction[] = [];
  // From the parameters of the last function to its body: parentheses there are part of its return type.
  let typeStart = 0;
  let bodyStart = 0;
  for (let open = code.indexOf('('); open !== -1; open = code.indexOf('(', open + 1)) {
    const close = closingOf(code, open);
    if (close === null) continue;
    const body = bodyAfter(code, close + 1);
    if (body === null || (open > typeStart && open < bodyStart)) continue;
    const named = body.isArrow ? arrowName(code, open) : methodName(code, open);
    if (named === null) continue;
    [typeStart, bodyStart] = [close, body.start];
    const line = lineAt(code, named.start);
    found.push({ name: named.name, line, lines: lineAt(code, body.end) - line + 1 });
  }
  return found;
}

/** Where the bracket ends that begins here; null: nowhere. */
function closingOf(code: string, open: number): number | null {
  const expected: string[] = [];
  for (let at = open; at < code.length; at++) {
    const char = code[at] as string;
    const closer = openers[char];
    if (closer !== undefined) expected.push(closer);
    else if (char === expected.at(-1)) {
      expected.pop();
      if (expected.length === 0) return at;
    } else if (/[)\]}]/.test(char)) return null;
  }
  return null;
}

/** The body of the function whose parameters end here; null: the parentheses are no function's. */
function bodyAfter(code: string, start: number): { isArrow: boolean; start: number; end: number } | null {
  let at = skipSpace(code, start);
  if (code[at] === ':') at = skipType(code, at + 1);
  if (code.startsWith('=>', at)) {
    const first = skipSpace(code, at + 2);
    const end = code[first] === '{' ? closingOf(code, first) : endOfExpression(code, first);
    return end === null ? null : { isArrow: true, start: first, end };
  }
  if (code[at] !== '{') return null;
  const end = closingOf(code, at);
  return end === null ? null : { isArrow: false, start: at, end };
}

function skipSpace(code: string, start: number): number {
  let at = start;
  while (/\s/.test(code[at] ?? '')) at++;
  return at;
}

/** Where a return type ends: at the body, at the arrow, or at what ends an expression. */
function skipType(code: string, start: number): number {
  let isOperand = true;
  for (let at = start; at < code.length; at++) {
    const char = code[at] as string;
    if (/\s/.test(char)) continue;
    // A brace where the type could end is the body. Elsewhere it belongs to the type.
    if (char === '{' && !isOperand) return at;
    if (openers[char] !== undefined) {
      const close = closingOf(code, at);
      if (close === null) return at;
      at = close;
      isOperand = false;
      // The arrow behind parentheses belongs to the type if it stands there as a function type.
      const next = skipSpace(code, at + 1);
      if (char === '(' && code.startsWith('=>', next)) {
        at = next + 1;
        isOperand = true;
      }
    } else if (char === '=' || /[;)\]}]/.test(char)) return at;
    else if (/[|&,<?:]/.test(char)) isOperand = true;
    else {
      const [word = char] = /^[\w$]+/.exec(code.slice(at, at + 100)) ?? [];
      isOperand = /^(?:is|asserts|keyof|readonly|typeof|extends|infer|unique)$/.test(word);
      at += word.length - 1;
    }
  }
  return code.length;
}

/** The last character of the expression that begins here. */
function endOfExpression(code: string, start: number): number | null {
  let last = start;
  for (let at = start; at < code.length; at++) {
    const char = code[at] as string;
    if (/[,;)\]}]/.test(char)) return last;
    // The end of type parameters. A comparison has spaces around it.
    if (char === '>' && /[\w$\])}]/.test(code[at - 1] ?? '')) return last;
    if (openers[char] !== undefined) {
      const close = closingOf(code, at);
      if (close === null) return null;
      at = close;
    }
    if (!/\s/.test(char)) last = at;
  }
  return last;
}

/** The name in front of a method's or function's parameters; null: they belong to a statement such as `if`. */
function methodName(code: string, open: number): { name: string; start: number } | null {
  const before = withoutTypeParameters(code.slice(0, open).trimEnd());
  const match = /(?:\bfunction\s*\*?\s*)?([#\w$]*|\[[^\]]*\])$/.exec(before);
  const name = match?.[1] ?? '';
  if (match === null || controlWords.test(name)) return null;
  if (name !== '' && name !== 'function') return { name, start: match.index };
  return match[0] === '' ? null : passedName(before.slice(0, match.index));
}

/** The name of an arrow function: what it is assigned to, or what it is passed to. */
function arrowName(code: string, open: number): { name: string; start: number } {
  const before = withoutTypeParameters(
    code
      .slice(0, open)
      .trimEnd()
      .replace(/\basync$/, '')
      .trimEnd(),
  );
  const match = /([#\w$]+)\s*(?::[^;{}]*)?=$|([#\w$]+)\s*:$/.exec(before);
  const name = match?.[1] ?? match?.[2];
  return match === null || name === undefined ? passedName(before) : { name, start: match.index };
}

function passedName(before: string): { name: string; start: number } {
  let depth = 0;
  for (let at = before.length - 1; at >= 0; at--) {
    const char = before[at] as string;
    if (/[)\]}]/.test(char)) depth++;
    else if (/[([{]/.test(char) && --depth < 0) {
      const callee = /([\w$#.?]+)$/.exec(withoutTypeParameters(before.slice(0, at)))?.[1] ?? '';
      return { name: char === '(' && callee !== '' ? `${callee}(…)` : '(function)', start: before.length };
    }
  }
  return { name: '(function)', start: before.length };
}

/** A text without the type parameters that it ends with. */
function withoutTypeParameters(text: string): string {
  if (!text.endsWith('>') || text.endsWith('=>')) return text;
  let depth = 0;
  for (let at = text.length - 1; at >= 0; at--) {
    if (text[at] === '>' && text[at - 1] !== '=') depth++;
    else if (text[at] === '<' && --depth === 0) return text.slice(0, at).trimEnd();
  }
  return text;
}

/** The functions and files that are too long, in the order of the files. */
export function findLongCode(files: SourceFile[]): (LongCode & { line: number })[] {
  return files.flatMap(({ path, text }) => {
    if (path.endsWith('/generated.ts') || tables.includes(path)) return [];
    const fileLines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    const file = { path, name: wholeFile, lines: fileLines, line: 1 };
    const functions = measureFunctions(text).filter(({ lines }) => lines > functionLinesMax);
    // Functions of the same name differ by their order.
    const seen = new Map<string, number>();
    const named = functions.map((one) => {
      const count = (seen.get(one.name) ?? 0) + 1;
      seen.set(one.name, count);
      return { path, ...one, name: count === 1 ? one.name : `${one.name} (${count})` };
    });
    return fileLines > fileLinesMax ? [file, ...named] : named;
  });
}

/** Finds code that is too long and not listed, code to be split that grew beyond its entry, and entries without need. */
export function findSizeProblems(files: SourceFile[], listed: readonly LongCode[]): Problem[] {
  const problems: Problem[] = [];
  const rest = new Map(listed.map((entry) => [keyOf(entry), entry]));
  for (const { line, ...one } of findLongCode(files)) {
    const entry = rest.get(keyOf(one));
    rest.delete(keyOf(one));
    const [what, max] =
      one.name === wholeFile ? ['the file', fileLinesMax] : [`"${one.name}"`, functionLinesMax];
    if (entry === undefined) {
      const message = `${what} has ${one.lines} lines, of at most ${max}: split it by meaning.`;
      problems.push({ path: one.path, line, message });
    } else if (entry.reason === undefined && one.lines > entry.lines) {
      const message = `${what} grew from ${entry.lines} lines in ${listPath} to ${one.lines}: move something out.`;
      problems.push({ path: one.path, line, message });
    }
  }
  for (const { path, name } of rest.values()) {
    const message = `"${name}" of ${path} is not too long any more. Run: node scripts/check-sizes.ts`;
    problems.push({ path: listPath, line: 1, message });
  }
  return problems;
}

function keyOf({ path, name }: LongCode): string {
  return `${path} ${name}`;
}

/** The list of what is too long. */
export function readLongCode(): LongCode[] {
  return JSON.parse(readFileSync(join(root, listPath), 'utf8')) as LongCode[];
}

/** The list without what is not too long any more, and with the lines that the rest has. Nothing is added or raised. */
export function shrinkList(files: SourceFile[], listed: readonly LongCode[]): LongCode[] {
  const found = new Map(findLongCode(files).map((one) => [keyOf(one), one.lines]));
  return listed.flatMap((entry) => {
    const lines = found.get(keyOf(entry));
    return lines === undefined ? [] : [{ ...entry, lines: Math.min(lines, entry.lines) }];
  });
}

if (import.meta.main) {
  const list = shrinkList(readPackageSources(), readLongCode());
  writeFileSync(join(root, listPath), `${JSON.stringify(list, null, 2)}\n`);
}
