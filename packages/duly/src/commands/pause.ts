import { systemClock } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommandRun, CommonOptions } from '../cli/context.ts';
import { type PauseScope, pauseText, targetOf, warnUnknown } from '../cli/pause-target.ts';
import { readDuration, readInstant, usageError } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { printJson } from '../output/json.ts';

interface PauseCommandOptions extends CommonOptions {
  for?: string;
  until?: string;
  note?: string;
}

/** `duly pause queue|type|all`. */
export function pauseOf(scope: PauseScope): CommandRun {
  return async (context: CommandContext, options: PauseCommandOptions, name?: string) => {
    if (options.for !== undefined && options.until !== undefined)
      throw usageError('Give --for or --until, not both.');
    const until =
      options.for === undefined
        ? options.until === undefined
          ? undefined
          : readInstant(options.until, '--until')
        : systemClock.now() + readDuration(options.for, '--for', { minMs: 1 });
    await withClient(context, options, async ({ duly, changed }) => {
      changed('/queues');
      const pause = await duly.pause(targetOf(scope, name), {
        ...(until === undefined ? {} : { until }),
        ...(options.note === undefined ? {} : { note: options.note }),
      });
      if (context.json) printJson(context.out, toSnakeCase(pause));
      else
        context.out.line(
          `${pauseText(pause)} is paused ${pause.until === null ? 'until it is resumed' : `until ${pause.until.toISOString()}`}.`,
        );
      await warnUnknown(context, duly, scope, name);
    });
    return undefined;
  };
}
