import { DulyError } from '@duly/core';
import { builtInPrefix, commandTaskName, httpTaskName, shadowTaskName } from '@duly/core/internal';
import { allows } from '@duly/core/internal/browser';
import type { Caller } from '../auth/caller.ts';
import type { ServerContext } from '../http/context.ts';
import { checkTargetUrl } from '../outgoing/target-url.ts';
import type { Target } from '../schemas/targets.ts';
import { unknownPlaceholder } from './template.ts';

/** What a caller wants to be run: a task by its name, or a target. */
export interface WorkGiven {
  type?: string | undefined;
  target?: Target | undefined;
  input?: unknown;
}

/**
 * The type and the input of the jobs of what a caller named. Refuses what can be seen to fail later: an address that may not be called
 * (`target_refused`, `target_invalid`), a command where none may run (`commands_disabled`), and the server's own tasks by name.
 */
export function workOf(
  { options, builtIn }: Pick<ServerContext, 'options' | 'builtIn'>,
  caller: Caller,
  { type, target, input }: WorkGiven,
): { type: string; input: unknown } {
  if ((type === undefined) === (target === undefined)) {
    throw refused('type', `Expected "type" or "target", got ${type === undefined ? 'neither' : 'both'}.`);
  }
  if (type !== undefined) {
    if (type !== shadowTaskName) refuseBuiltIn(type, 'type');
    return { type, input };
  }
  const given = input === undefined ? {} : { input };
  const asked = target as Target;
  if ('http' in asked) {
    const { url, headers, body } = asked.http;
    refusePlaceholders('target.http', { url, headers, body });
    checkTargetUrl(url.replaceAll(/\{\{.*?\}\}/g, 'x'), builtIn.allowed);
    return { type: httpTaskName, input: { http: asked.http, ...given } };
  }
  if (!options.allowCommands) {
    throw new DulyError('commands_disabled', {
      message: 'This server does not run commands.',
      hint: 'Start it with --allow-commands, if those with an operate key may run programs on its machine.',
    });
  }
  checkRight(caller, commandTaskName);
  const { argv, placeholders } = asked.command;
  if (placeholders !== false) refusePlaceholders('target.command.argv', argv);
  return { type: commandTaskName, input: { command: asked.command, ...given } };
}

/**
 * Refuses callers who may not have jobs of this type created, nor choose what such jobs get. Call it wherever a job is created from another job or from a
 * schedule, or a schedule changes: its input and metadata fill the arguments of a command. Throws `forbidden`.
 */
export function checkRight({ scope, tenant }: Caller, type: string): void {
  const isOperator = allows(scope, 'operate');
  if (type === commandTaskName && (tenant !== null || !isOperator)) {
    throw new DulyError('forbidden', {
      message: 'A command needs a key of scope "operate" that is bound to no tenant.',
      details: { needed: 'operate', scope },
    });
  }
  const isInternal = type.startsWith(builtInPrefix) && !callerTypes.has(type);
  if (isInternal && !isOperator) {
    throw new DulyError('forbidden', {
      message: `Jobs of type "${type}" are the server's own; a key of scope "operate" may run them again.`,
      details: { needed: 'operate', scope },
    });
  }
}

/** Types with the prefix of the server that callers create. */
const callerTypes: ReadonlySet<string> = new Set([httpTaskName, commandTaskName, shadowTaskName]);

/** Refuses a placeholder that is misspelt: nothing would be filled in, and nobody would notice. */
function refusePlaceholders(path: string, template: unknown): void {
  const unknown = unknownPlaceholder(template);
  if (unknown === null) return;
  throw refused(
    path,
    `"${unknown.slice(0, 100)}" names nothing: there are "input", "job" and "slot" with their fields.`,
    path.includes('command') ? 'Arguments that are no templates: "placeholders": false.' : undefined,
  );
}

/**
 * Refuses the server's own types where a caller names one. Their inputs say what is signed in whose name, and hold the credentials of targets: the server
 * alone writes and reads them.
 */
export function refuseBuiltIn(type: string, path: string): void {
  if (!type.startsWith(builtInPrefix)) return;
  throw refused(path, `Types that begin with "${builtInPrefix}" are the server's own; use "target".`);
}

function refused(path: string, message: string, hint?: string): DulyError {
  return new DulyError('request_invalid', {
    message,
    ...(hint === undefined ? {} : { hint }),
    details: { issues: [{ in: 'body', path, message }] },
  });
}
