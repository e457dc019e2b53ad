import type { Schedule } from '@duly/core';
import { commandTaskName, shadowTaskName } from '@duly/core/internal';
import { dulyRunOf } from '../import/duly-run.ts';
import { argvOf, type CommandInput, cronShell, lineOf } from '../import/shell-command.ts';
import { oneLine } from '../output/terminal.ts';
import { annotationOf, quoteWord, unsayable } from './cron-only.ts';

/**
 * Lines of a crontab that do what schedules do, in the order of zones: `CRON_TZ` holds for the lines below it. What a crontab cannot say of a line stands above it as a comment that `duly import crontab` reads; a
 * schedule that no line can say becomes a comment with the reason, a paused one a line that is commented out.
 */
export function crontabOf(schedules: readonly Schedule[], now: number): string[] {
  const lines: string[] = [];
  let zone: string | null = null;
  const sorted = [...schedules].sort((a, b) =>
    a.timezone < b.timezone ? -1 : a.timezone > b.timezone ? 1 : 0,
  );
  for (const schedule of sorted) {
    const name = oneLine(schedule.name);
    const reason = unsayable(schedule, now, 'a crontab');
    if (reason !== null) {
      lines.push(`# ${name}: ${oneLine(schedule.words)} (${reason})`);
      continue;
    }
    if (schedule.timezone !== zone) {
      zone = schedule.timezone;
      lines.push(`CRON_TZ=${zone}`);
    }
    const { line, stdin, isWhole } = shellLineOf(schedule);
    const { type, input, ...rest } = annotationOf(schedule);
    const known = isWhole ? {} : { type, input: input ?? null };
    const behind = stdin === '' ? '' : `%${escaped(stdin.replace(/\n$/, '')).replaceAll('\n', '%')}`;
    lines.push(`# ${name}: ${oneLine(schedule.words)}`);
    lines.push(`# duly: ${JSON.stringify({ ...rest, ...known })}`);
    lines.push(`${schedule.paused === null ? '' : '# '}${schedule.rule.cron} ${escaped(line)}${behind}`);
  }
  return lines;
}

/** The line that a shell runs; `isWhole`: an import reads type and input from it again. */
function shellLineOf({ type, input, definition }: Schedule): {
  line: string;
  stdin: string;
  isWhole: boolean;
} {
  if (type !== commandTaskName && type !== shadowTaskName) {
    const given = input === null ? '' : ` ${quoteWord(JSON.stringify(input))}`;
    const line = `duly run ${quoteWord(type)}${given}${runOptions(definition)}`;
    const read = dulyRunOf(line);
    return {
      line,
      stdin: '',
      isWhole: read?.name === type && JSON.stringify(read.input ?? null) === JSON.stringify(input),
    };
  }
  const { command } = input as CommandInput;
  const { argv, env = {}, stdin, placeholders } = command;
  const own = lineOf(argv);
  const isOwn = own !== null && own.user === null && own.shell === cronShell && !own.line.includes('\n');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoteWord(value)}`);
  const cwd = command.cwd === undefined ? '' : `cd ${quoteWord(command.cwd)} && `;
  const exported = variables.length === 0 ? '' : `export ${variables.join(' ')}; `;
  const line = `${exported}${cwd}${isOwn ? own.line : argv.map(quoteWord).join(' ')}`;
  const again: CommandInput = {
    command: {
      argv: argvOf({ line, shell: cronShell, user: null }, 'none'),
      placeholders: false,
      stdin: stdin ?? '',
    },
  };
  const isWhole =
    type === commandTaskName &&
    isOwn &&
    placeholders === false &&
    line.trim() === line &&
    (stdin === '' || stdin?.endsWith('\n') === true) &&
    !line.includes('\\%') &&
    JSON.stringify(again) === JSON.stringify(input);
  return { line: line.replaceAll('\n', ' '), stdin: stdin ?? '', isWhole };
}

/** What `duly run` has to be told so that cron creates the same job. */
function runOptions({ queue, priority, tenant, serial, metadata }: Schedule['definition']): string {
  const options: [string, unknown][] = [
    ['--queue', queue],
    ['--priority', priority],
    ['--tenant', tenant],
    ['--serial', serial],
    ['--metadata', metadata === undefined ? undefined : JSON.stringify(metadata)],
  ];
  return options
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([option, value]) => ` ${option} ${quoteWord(String(value))}`)
    .join('');
}

/** A percent sign ends the command in a crontab. */
function escaped(text: string): string {
  return text.replaceAll('%', '\\%');
}
