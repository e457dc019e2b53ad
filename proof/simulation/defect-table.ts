/** The table of seeded defects in the page on proofs: which invariant sees each, and in which world. */
import { type Caught, mutationSeedsMax } from './catch-mutation.ts';
import type { Mutation } from './mutations/index.ts';

/** The page that holds it. */
export const pageUrl = new URL('../../docs/internals/proof.md', import.meta.url);

/** Its first two lines. */
export const tableHead = '| defect | caught by | in the world of seed |\n|---|---|---|';

/** The row of a defect; `caught` null: nobody saw it. */
export function rowOf({ name }: Mutation, caught: Caught | null): string {
  const by = caught === null ? 'nobody' : caught.by.map((one) => `\`${one}\``).join(', ');
  return `| ${name} | ${by} | ${caught === null ? `none up to ${mutationSeedsMax}` : caught.seed} |`;
}

/** The row that a page has for a defect; null: none. */
export function listedRow(page: string, { name }: Mutation): string | null {
  return page.split('\n').find((line) => line.startsWith(`| ${name} |`)) ?? null;
}

/** The seed that a page lists for a defect; null: none. */
export function listedSeed(page: string, mutation: Mutation): number | null {
  const seed = listedRow(page, mutation)?.split('|').at(-2)?.trim() ?? '';
  return /^\d+$/.test(seed) ? Number(seed) : null;
}

/** A page with these rows in place of those that it has. */
export function withRows(page: string, rows: readonly string[]): string {
  const lines = page.split('\n');
  const head = lines.indexOf(tableHead.split('\n')[0] as string);
  if (head < 0) throw new Error('The page has no table of seeded defects.');
  const end = lines.findIndex((line, i) => i > head && !line.startsWith('|'));
  return [...lines.slice(0, head), tableHead, ...rows, ...lines.slice(end)].join('\n');
}
