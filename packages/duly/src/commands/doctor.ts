import type { Health } from '@duly/core';
import { examineStore, type SettingState, type StoreExamination, toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { exitCodes } from '../cli/exit-codes.ts';
import { withClient } from '../client/client.ts';
import { printJson } from '../output/json.ts';
import { harmless, type Style, wrap } from '../output/terminal.ts';
import { loadProject } from '../project/load.ts';
import { type Advice, type AdviceOptions, adviceOn } from '../schedules/advice.ts';

const marks: Record<SettingState, { text: string; style: Style }> = {
  ok: { text: 'ok     ', style: 'green' },
  note: { text: 'note   ', style: 'cyan' },
  warning: { text: 'warning', style: 'yellow' },
  failing: { text: 'failing', style: 'red' },
};

// On a terminal that is narrower than this lines are broken by the terminal.
const narrowest = 30;

/** `duly doctor`: whether promises are kept now, and what the store's settings are good for: a line for each, and what to do about what is wrong. */
export function doctor(
  context: CommandContext,
  options: CommonOptions & { patience?: string },
): Promise<number | undefined> {
  const { patience } = options;
  return withClient(context, options, async ({ duly, store }) => {
    const health = await duly.health(patience === undefined ? {} : { patience });
    // Who does not answer the one question would keep the other waiting too.
    const isThere = health.checks.every(({ name, state }) => name !== 'store' || state === 'ok');
    const examined = isThere ? await examineStore(store) : null;
    const advice = isThere ? await adviceOn(duly, { tasks: await tasksHere(options) }) : null;
    if (context.json) {
      printJson(context.out, toSnakeCase({ ...health, settings: examined?.checks ?? null, advice }));
    } else {
      // What the examination tells one by one.
      const checks = health.checks.filter(({ name }) => examined === null || name !== 'settings');
      print(context, [...checks, ...(examined?.checks ?? []), ...(advice ?? [])]);
    }
    return exitCode(health, examined);
  });
}

/** The tasks of this folder, if there are any and they can be loaded. */
async function tasksHere({ config }: CommonOptions): Promise<AdviceOptions['tasks']> {
  const project = await loadProject({ config, withTasks: true }).catch(() => null);
  return project?.tasks.map(({ definition }) => definition) ?? [];
}

function print(
  { out }: CommandContext,
  checks: (Health['checks'][number] | StoreExamination['checks'][number] | Advice)[],
): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, state, message, hint } of checks) {
    const { text, style } = marks[state];
    const indent = text.length + width + 4;
    const [first = '', ...rest] = [message, ...(hint === null ? [] : [hint])].flatMap((one) =>
      wrap(harmless(one), Math.max(narrowest, out.columns() - indent)),
    );
    out.line(`${out.paint(style, text)}  ${name.padEnd(width)}  ${first}`);
    for (const line of rest) out.line(`${' '.repeat(indent)}${line}`);
  }
}

/** Warnings are for people to read; what is failing is for whoever restarts or pages. */
function exitCode(health: Health, examined: StoreExamination | null): number | undefined {
  const failing = [...health.checks, ...(examined?.checks ?? [])]
    .filter(({ state }) => state === 'failing')
    .map(({ name }) => name);
  if (failing.length === 0) return undefined;
  return failing.includes('store') || failing.includes('writes') ? exitCodes.store : exitCodes.failure;
}
