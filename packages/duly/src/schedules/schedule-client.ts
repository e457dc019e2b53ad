import { DulyError, isDulyError, type Rule, resolveRule, type Schedule } from '@duly/core';
import { jitterModes, overlapModes } from '@duly/core/internal/browser';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { type Client, withClient } from '../client/client.ts';

/** `withClient`, for commands that name a schedule: what the library's errors advise is said in words of the command. */
export async function withSchedules<Value>(
  context: CommandContext,
  options: CommonOptions,
  use: (client: Client) => Promise<Value>,
): Promise<Value> {
  return withClient(context, options, (client) =>
    withScheduleHints(client, () => withTypedOptions(() => use(client))),
  );
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

/** Does something with what was typed, and lets errors name options as they are typed. */
export async function withTypedOptions<Value>(use: () => Promise<Value> | Value): Promise<Value> {
  try {
    return await use();
  } catch (error) {
    if (!isDulyError(error)) throw error;
    const { code, details, cause } = error;
    const hint = error.hint === undefined ? {} : { hint: inOptions(error.hint) };
    throw new DulyError(code, { message: inOptions(error.message), ...hint, details, cause });
  }
}

// Fields of the library that are options here under the same name.
const optionFields =
  'timezone startAt endAt anchor exclude missed overlap jitter jitterMode catchUpWindow catchUpLimit bufferLimit startDeadline finishDeadline ' +
  'onResume onEdit pauseAfterFailures flagAfterFailures maxRuns queue priority tenant serial metadata note until from to order concurrency after';
const optionNames = new Map([
  ...optionFields.split(' ').map((field): [string, string] => [field, field]),
  ['rate', 'every'],
  ['dst.gap', 'dst-gap'],
  ['dst.repeat', 'dst-repeat'],
]);

// Values that are typed in another way: `buffer-all`.
const policyModes: readonly string[] = [...overlapModes, ...jitterModes];

/** Names fields and choices as they are typed: `"endAt"` is `--end-at` here, and `overlap: 'bufferAll'` is `--overlap buffer-all`. */
function inOptions(text: string): string {
  return text
    .replace(/"?\b([a-z]\w*): '(\w+)'"?/gi, (written, field: string, choice: string) =>
      optionNames.has(field) ? `--${typed(field)} ${typed(choice)}` : written,
    )
    .replace(/(["'])([a-z][\w.]*)\1/gi, (quoted, mark: string, word: string) => {
      if (policyModes.includes(word)) return `${mark}${typed(word)}${mark}`;
      const name = mark === '"' ? optionNames.get(word) : undefined;
      return name === undefined ? quoted : `--${typed(name)}`;
    })
    .replace(/^Leave (\w+) out/, (said, field: string) =>
      optionNames.has(field) ? `Leave --${typed(field)} out` : said,
    );
}

function typed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
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
      app === null ? 'created by hand' : `declared by ${app}`,
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
