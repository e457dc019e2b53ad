import { type Health, type HealthState, toSnakeCase } from '@duly/core';
import { withClient } from '../client.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../output/json.ts';
import { harmless, type Style } from '../output/terminal.ts';
import type { CommonOptions, Shell } from '../shell.ts';

const marks: Record<HealthState, { text: string; style: Style }> = {
  ok: { text: 'ok     ', style: 'green' },
  warning: { text: 'warning', style: 'yellow' },
  failing: { text: 'failing', style: 'red' },
};

/** `duly doctor`: a line for each thing that was looked at, and what to do about what is wrong. */
export function doctor(
  shell: Shell,
  options: CommonOptions & { patience?: string },
): Promise<number | undefined> {
  const { patience } = options;
  return withClient(shell, options, async ({ duly }) => {
    const health = await duly.health(patience === undefined ? {} : { patience });
    if (shell.json) printJson(shell.out, toSnakeCase(health));
    else print(shell, health);
    return exitCode(health);
  });
}

function print({ out }: Shell, { checks }: Health): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, state, message, hint } of checks) {
    const { text, style } = marks[state];
    out.line(`${out.paint(style, text)}  ${name.padEnd(width)}  ${harmless(message)}`);
    if (hint !== null) out.line(`${' '.repeat(text.length + width + 4)}${harmless(hint)}`);
  }
}

/** Warnings are for people to read; what is failing is for whoever restarts or pages. */
function exitCode({ checks }: Health): number | undefined {
  const failing = checks.filter(({ state }) => state === 'failing').map(({ name }) => name);
  if (failing.length === 0) return undefined;
  return failing.includes('store') || failing.includes('writes') ? exitCodes.store : exitCodes.failure;
}
