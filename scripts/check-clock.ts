// Time and chance come in through two files, so that tests and simulations can set both.

import { lineAt, maskSource, type Problem, type SourceFile } from './source-text.ts';

const clockFile = 'packages/core/src/base/clock.ts';
const randomFile = 'packages/core/src/base/random.ts';

const clockReads: [RegExp, string][] = [
  [/\bDate\s*\.\s*now\b/g, 'Date.now'],
  [/\bDate\s*\[(?!\s*\])/g, 'Date[…]'],
  [/\bnew\s+Date\s*(?:\(\s*\)|(?![\s(\w.]))/g, 'new Date()'],
  [/(?<!\bnew\s+)(?<![\w$.])Date\s*\(/g, 'Date()'],
  [/\bperformance\b/g, 'performance'],
  [/\bhrtime\b/g, 'process.hrtime'],
  [/\bprocess\s*\.\s*uptime\b/g, 'process.uptime'],
  [/\bsetTimeout\b/g, 'setTimeout'],
  [/\bsetInterval\b/g, 'setInterval'],
  [/\bAbortSignal\s*\.\s*timeout\b/g, 'AbortSignal.timeout'],
  [/\bTemporal\s*\.\s*Now\b/g, 'Temporal.Now'],
];

const randomReads: [RegExp, string][] = [[/\bMath\s*\.\s*random\b/g, 'Math.random']];

// A page in a browser lives by its reader's clock; what it shows of time comes from the server.
const pagesFolder = 'packages/dashboard/';

/** Finds reads of the clock outside `clock.ts` and of chance outside `random.ts`. */
export function findClockProblems(files: SourceFile[]): Problem[] {
  const problems: Problem[] = [];
  for (const { path, text } of files) {
    if (path.startsWith(pagesFolder)) continue;
    const masked = maskSource(text);
    const search = (reads: [RegExp, string][], home: string): void => {
      if (path === home) return;
      for (const [pattern, name] of reads) {
        for (const match of masked.matchAll(pattern)) {
          const message = `${name} is only for ${home}; take it from there or as an argument.`;
          problems.push({ path, line: lineAt(text, match.index), message });
        }
      }
    };
    search(clockReads, clockFile);
    search(randomReads, randomFile);
  }
  return problems;
}
