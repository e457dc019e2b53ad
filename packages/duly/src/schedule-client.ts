import { DulyError, isDulyError, type Rule, resolveRule, type Schedule } from '@duly/core';
import { type Client, withClient } from './client.ts';
import type { CommonOptions, Shell } from './shell.ts';

/** `withClient`, for commands that name a schedule: what the library's errors advise is said in words of the command. */
export async function withSchedules<Value>(
  shell: Shell,
  options: CommonOptions,
  use: (client: Client) => Promise<Value>,
): Promise<Value> {
  return withClient(shell, options, (client) => withScheduleHints(client, () => use(client)));
}

/** Does something, and gives errors about schedules the hints of the command. */
export async function withScheduleHints<Value>(client: Client, use: () => Promise<Value>): Promise<Value> {
  try {
    return await use();
  } catch (error) {
    throw advised(error, client);
  }
}

/** The same error with the command's advice; what is no error of Duly stays as it is. */
export function advised(error: unknown, client: Client): unknown {
  if (!isDulyError(error)) return error;
  const hint = hintOf(error, client);
  if (hint === null) return error;
  const { code, message, details, cause } = error;
  return new DulyError(code, { message, hint, details, cause });
}

function hintOf({ code, hint, details }: DulyError, { command }: Client): string | null {
  if (code === 'schedule_not_found') {
    if (details.deletedAt !== undefined)
      return `See it and its ledger: ${command(`schedules show ${details.id}`)}`;
    return hint?.startsWith('Did you mean') ? hint : `List them: ${command('schedules ls')}`;
  }
  if (code !== 'schedule_ambiguous') return null;
  const schedules = (details.schedules ?? []) as Pick<Schedule, 'id' | 'app' | 'tenant'>[];
  const named = schedules.map(({ id, app, tenant }) => {
    const whose = [
      app === null ? 'made by hand' : `declared by ${app}`,
      ...(tenant === null ? [] : [`for ${tenant}`]),
    ];
    return `${id} (${whose.join(', ')})`;
  });
  return `Name it by its id: ${named.join(', ')}.`;
}

/** The rule of a stored schedule, to read its clock. Of one that cannot be read here, any rule of its zone. */
export function ruleOf({ rule, createdAt, timezone, unreadable }: Schedule): Rule {
  if (unreadable !== null) return resolveRule({ rate: '1 day', timezone });
  return resolveRule(rule, { anchorAt: createdAt.getTime() });
}
