import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second, whatever the kernel's own tick is. */
const ticksPerSecond = 100;

/**
 * The CPU time in seconds of this process, its threads and every child that has ended, with their children in turn.
 * Only Linux reports the time of children; elsewhere this is null.
 */
export function cpuSeconds(): number | null {
  if (process.platform !== 'linux') return null;
  const text = readFileSync('/proc/self/stat', 'utf8');
  // The second field is the program's name in parentheses, which may contain spaces. Fields 14 to 17 are wanted.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / ticksPerSecond;
}
