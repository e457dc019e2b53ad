import { type Clock, type Duly, DulyError, type Task, type TaskContext } from '@duly/core';
import { commandTaskName } from '@duly/core/internal';
import type { z } from '@hono/zod-openapi';
import { defineBuiltIn } from '../built-in/define-built-in.ts';
import { commandJobInput } from '../schemas/targets.ts';
import { type CommandLimits, runCommand } from './run-command.ts';
import { fillText } from './template.ts';
import { templateValuesOf } from './template-values.ts';

type Input = z.infer<typeof commandJobInput>;

/** What of the server's own environment a program is given. Keys and passwords are not among it. */
const passedOn = ['PATH', 'HOME', 'LANG', 'TZ'] as const;

/** Defines the task that runs commands. Only where the server was told that it may. */
export function defineCommandTask(
  duly: Duly,
  { clock, limits }: { clock: Clock; limits?: CommandLimits },
): Task<Input, unknown> {
  return defineBuiltIn(duly, {
    name: commandTaskName,
    input: commandJobInput,
    run: (context) => runCommandJob(context, clock, limits),
  });
}

async function runCommandJob(
  context: TaskContext<Input>,
  clock: Clock,
  limits: CommandLimits | undefined,
): Promise<{ exit_code: number; duration_ms: number; output_cut: boolean }> {
  const { command, input } = context.input;
  const values = templateValuesOf(context, input);
  const argv =
    command.placeholders === false ? command.argv : command.argv.map((one) => fillText(one, values));
  const { exitCode, signal, durationMs, isCut } = await runCommand(
    {
      argv,
      cwd: command.cwd,
      env: environmentOf(context, command.env ?? {}),
      stdin: command.stdin ?? JSON.stringify(input ?? null),
      signal: context.signal,
      onLine: (stream, line) => (stream === 'stdout' ? context.log.info(line) : context.log.warn(line)),
    },
    clock,
    limits,
  );
  if (isCut) context.log.warn('The program said more than is stored; the rest was left out.');
  if (exitCode === 0) return { exit_code: 0, duration_ms: durationMs, output_cut: isCut };
  const how = exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
  throw new DulyError('command_failed', {
    message: `The program "${argv[0]}" ${how}.`,
    hint: 'Its output is in the log of the job.',
    details: { program: argv[0], exitCode, signal },
  });
}

function environmentOf(
  { job, attempt, fence, slot }: TaskContext<Input>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = passedOn.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(inherited),
    ...own,
    DULY_JOB_ID: job.id,
    DULY_ATTEMPT: String(attempt),
    DULY_FENCE: String(fence),
    ...(job.tenant === null ? {} : { DULY_TENANT: job.tenant }),
    ...(slot === null ? {} : { DULY_SLOT: slot.at.toISOString(), DULY_SCHEDULE: slot.schedule }),
  };
}
