import { harmless } from './terminal.ts';

// As much of a long expression as shows where the place is.
const aroundMax = 60;

/** A cron that was refused, and a mark under the first wrong character; nothing for other errors. */
export function caretLines(details: Record<string, unknown>): string[] {
  const { cron, position } = details;
  if (typeof cron !== 'string' || typeof position !== 'number' || position > cron.length) return [];
  if (cron.trim() === '') return [];
  const from = Math.max(0, position - aroundMax);
  const shown = harmless(cron.slice(from, position + aroundMax)).replace(/\s/g, ' ');
  const start = from > 0 ? '…' : '';
  const end = position + aroundMax < cron.length ? '…' : '';
  return [`  ${start}${shown}${end}`, `  ${' '.repeat(start.length + position - from)}^`];
}
