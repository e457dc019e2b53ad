import { basename, relative } from 'node:path';

/** How this command was called, so that what it tells people to type can be pasted: `duly`, `npx duly`, `node …/bin.ts`. */
export function invocation(): string {
  // `npm start`, `npm run` and `npx` set it; their PATH ends with them, so "duly" alone would not be found.
  if (process.env.npm_command !== undefined) return 'npx duly';
  const script = process.argv[1] ?? 'duly';
  if (/^duly(\.(cmd|ps1|exe))?$/.test(basename(script))) return 'duly';
  const path = relative(process.cwd(), script);
  return `node ${path.startsWith('..') ? script : path}`;
}
