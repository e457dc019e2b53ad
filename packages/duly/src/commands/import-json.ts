import { readFileSync } from 'node:fs';
import { DulyError, type ScheduleDefinition } from '@duly/core';
import { fromDefinitionJson } from '@duly/core/internal';
import type { CommandContext } from '../cli/context.ts';
import { withClient } from '../client/client.ts';
import { type Imported, importSchedule } from '../import/apply-import.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { type ImportModeOptions, readMode } from './import-crontab.ts';
import { readStdin } from './run.ts';

interface Given {
  definition: ScheduleDefinition & { name: string };
  paused: boolean;
}

/** `duly import json`: the schedules that `duly schedules export` wrote, in another store. */
export async function importJson(
  context: CommandContext,
  options: ImportModeOptions,
  file: string,
): Promise<undefined> {
  const mode = readMode(options);
  const given = readExport(file, file === '-' ? await readStdin() : readText(file));
  if (mode === null) {
    if (context.json) printJson(context.out, { mode, schedules: given });
    else {
      for (const { definition, paused } of given) {
        const { name, type, cron, rate, delay, rrule } = definition;
        const rule = cron ?? rrule ?? (rate === undefined ? `delay ${delay}` : `rate ${rate}`);
        context.out.line(
          `${oneLine(name)}  ${oneLine(type)}  ${oneLine(String(rule))}${paused ? '  paused' : ''}`,
        );
      }
      context.out.line('Nothing is stored yet. To go on, the same with --shadow, --paused or --live.');
    }
    return;
  }
  await withClient(
    context,
    options,
    async ({ duly, changed }) => {
      const imported: Imported[] = [];
      changed('/schedules');
      for (const { definition, paused } of given) {
        imported.push(await importSchedule(duly, definition, paused ? 'paused' : mode));
      }
      const results = imported.map(({ schedule: { id, name }, result }) => ({ id, name, result }));
      if (context.json) printJson(context.out, { mode, schedules: results });
      else for (const { id, name, result } of results) context.out.line(`${oneLine(name)}  ${result}  ${id}`);
    },
    { creates: true },
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new DulyError('crontab_unreadable', {
      message: `"${path}" cannot be read: ${(cause as Error).message}.`,
      details: { path },
      cause,
    });
  }
}

function readExport(file: string, text: string): Given[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw unreadable(file, 'it is no JSON', cause);
  }
  const data = Array.isArray(parsed) ? parsed : (parsed as { data?: unknown } | null)?.data;
  if (!Array.isArray(data)) throw unreadable(file, 'it is no list of schedules');
  return data.map((one: unknown) => {
    const { type, name, paused, app: _app, ...rest } = (one ?? {}) as Record<string, unknown>;
    if (typeof type !== 'string' || typeof name !== 'string')
      throw unreadable(file, 'a schedule has no "name" or no "type"');
    return { definition: { ...fromDefinitionJson({ type, ...rest }), name }, paused: paused === true };
  });
}

function unreadable(file: string, why: string, cause?: unknown): DulyError {
  return new DulyError('crontab_unreadable', {
    message: `"${file}" cannot be imported: ${why}.`,
    hint: 'It is what "duly schedules export" prints.',
    details: { file },
    cause,
  });
}
