import { abandonMove, DulyError, type Moved, moveStore } from '@duly/core';
import { toSnakeCase, withoutPassword } from '@duly/core/internal';
import { confirm } from '../cli/confirm.ts';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { exitCodes } from '../cli/exit-codes.ts';
import { isNew, refuseMemory, refuseMissing, refuseUnmakable, shellWord } from '../client/store.ts';
import { printJson } from '../output/json.ts';
import { createLiveArea } from '../output/live-area.ts';
import { percentText, progressBar } from '../output/progress-bar.ts';

/** Options of `move`. */
export interface MoveCommandOptions extends CommonOptions {
  from: string;
  to: string;
  dryRun?: boolean;
  abandon?: boolean;
  yes?: boolean;
}

/** `duly move`: takes every promise along to another store. */
export async function move(context: CommandContext, options: MoveCommandOptions): Promise<number> {
  const { from, to } = options;
  refuseMissing(from);
  refuseMemory(to);
  refuseUnmakable(to);
  if (options.abandon) return abandon(context, from, to);
  const plan = await planOf(from, to);
  if (options.dryRun || plan.result === 'already') return report(context, plan);
  if (!options.yes) {
    const { jobs, schedules, nodes } = { ...plan.counts, nodes: plan.nodes };
    const asked = `Move ${jobs} live jobs and ${schedules} schedules from ${withoutPassword(from)} to ${withoutPassword(to)}?${nodes > 0 ? ` ${nodes} ${nodes === 1 ? 'node runs' : 'nodes run'} there and will stop.` : ''}`;
    const answer = await confirm(context, asked, 'A move');
    if (answer !== 'yes') return answer === 'no' ? exitCodes.failure : exitCodes.interrupted;
  }
  const area = createLiveArea(context.err);
  const total = Object.values(plan.counts).reduce((sum, count) => sum + count, 0);
  let before = 0;
  try {
    const moved = await moveStore({
      from,
      to,
      onProgress({ part, done, count }) {
        if (!context.err.isTerminal || context.json) return;
        const percent = total === 0 ? 100 : Math.min(100, ((before + done) / total) * 100);
        area.set(() => [`${progressBar(percent, 20)} ${percentText(percent)}  ${part}`]);
        if (done >= count) before += done;
      },
    });
    return report(context, { ...moved, nodes: plan.nodes });
  } finally {
    area.close();
  }
}

/** What would be moved. A file that is not there yet is not made for the asking: an empty store stands for it. */
async function planOf(from: string, to: string): Promise<Moved> {
  if (!isNew(to)) return moveStore({ from, to, dryRun: true });
  const plan = await moveStore({ from, to: 'sqlite::memory:', dryRun: true });
  return { ...plan, to: withoutPassword(to) };
}

async function abandon({ out, json }: CommandContext, from: string, to: string): Promise<number> {
  if (!(await abandonMove({ from, to }))) {
    throw new DulyError('invalid_option', {
      message: 'There is no move between these two stores that has not ended.',
      hint: 'A move that ended is undone by moving back to an empty store.',
    });
  }
  if (json) printJson(out, { abandoned: true });
  else out.line(`Given up. ${withoutPassword(from)} takes calls again.`);
  return 0;
}

function report({ out, json }: CommandContext, moved: Moved): number {
  if (json) {
    printJson(out, toSnakeCase(moved));
    return 0;
  }
  const words = Object.entries(moved.counts)
    .filter(([, count]) => count > 0)
    .map(([part, count]) => `${part} ${count}`)
    .join(', ');
  if (moved.result === 'dry') {
    out.sentence(`Would move from ${moved.from} to ${moved.to}: ${words || 'nothing, the store is empty'}.`);
    if (moved.nodes > 0) out.sentence(`Nodes that run on it, and will stop: ${moved.nodes}.`);
    return 0;
  }
  out.sentence(
    moved.result === 'already'
      ? `It was moved to ${moved.to} before. Nothing was done.`
      : `Moved to ${moved.to}, counted on both sides: ${words || 'nothing, the store was empty'}.`,
  );
  if (moved.result === 'moved') {
    out.sentence(
      `Everything that still asks ${moved.from} is answered where it went (store_moved). Go on with: --store ${shellWord(moved.to)}`,
    );
  }
  return 0;
}
