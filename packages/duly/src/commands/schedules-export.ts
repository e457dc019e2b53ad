import { type Duly, type Schedule, systemClock } from '@duly/core';
import { toDefinitionJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { usageError } from '../cli/usage.ts';
import { listJson, printJson } from '../output/json.ts';
import { withSchedules } from '../schedules/schedule-client.ts';

interface ExportOptions extends CommonOptions {
  crontab?: boolean;
  kubernetes?: boolean;
  json?: boolean;
  image?: string;
}

/** `duly schedules export`: prints the definitions of schedules, for another store. */
export async function schedulesExport(
  context: CommandContext,
  options: ExportOptions,
  names: string[],
): Promise<undefined> {
  const { crontab, kubernetes, json, image } = options;
  if ([crontab, kubernetes, json].filter(Boolean).length > 1) {
    throw usageError('Give one of --crontab, --kubernetes and --json.');
  }
  if (image !== undefined && !kubernetes) throw usageError('--image is for --kubernetes.');
  await withSchedules(context, options, async ({ duly }) => {
    const schedules = await collect(duly, names);
    const now = systemClock.now();
    if (crontab) {
      const { crontabOf } = await import('../export/crontab-export.ts');
      for (const line of crontabOf(schedules, now)) context.out.line(line);
    } else if (kubernetes) {
      const { manifestsOf } = await import('../export/kubernetes-export.ts');
      context.out.write(manifestsOf(schedules, { image: image ?? null, now }));
    } else printJson(context.out, listJson(schedules.map(toExport)));
  });
}

async function collect(duly: Duly, names: readonly string[]): Promise<Schedule[]> {
  if (names.length > 0) return Promise.all(names.map((name) => duly.schedules.get(name)));
  const schedules: Schedule[] = [];
  for await (const schedule of duly.schedules.each()) schedules.push(schedule);
  return schedules;
}

/** What a schedule is created from, whether it is paused, and the app that declares it. */
function toExport({ app, definition, paused }: Schedule): Record<string, unknown> {
  return {
    ...toDefinitionJson(definition),
    ...(paused === null ? {} : { paused: true }),
    ...(app === null ? {} : { app }),
  };
}
