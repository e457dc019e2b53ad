import {
  type Clock,
  type Duly,
  DulyError,
  internalQueue,
  isDulyError,
  type Task,
  type TaskContext,
} from '@duly/core';
import { builtInPrefix } from '@duly/core/internal';
import { z } from '@hono/zod-openapi';
import { defineBuiltIn } from '../built-in/define-built-in.ts';
import type { GuardedClient } from '../outgoing/guarded-client.ts';
import type { Signer } from '../outgoing/signer.ts';
import { runCommand } from '../targets/run-command.ts';
import type { AlertNotice } from './alert-state.ts';
import type { AlertStore } from './alert-store.ts';
import type { AlertChannel } from './channel.ts';
import type { Mailer } from './mailer.ts';

/** The task that tells a channel of an alert. */
export const alertTaskName = `${builtInPrefix}alert`;

const alertInput = z.strictObject({
  channel: z.string(),
  notice: z.strictObject({
    id: z.string(),
    event: z.enum(['fired', 'resolved', 'test']),
    rule: z.string(),
    subject: z.string(),
    message: z.string(),
    firedAt: z.number(),
    resolvedAt: z.number().nullable(),
  }),
});

/** Whom to tell what. */
export type AlertInput = z.infer<typeof alertInput>;
type Notice = Omit<AlertNotice, 'event'> & { event: AlertInput['notice']['event'] };

/** What the task needs. */
export interface AlertTaskDeps {
  clock: Clock;
  store: AlertStore;
  client: GuardedClient;
  signer: Signer;
  mailer: Mailer | null;
  allowCommands: boolean;
}

/** Defines the task: one job tells one channel of one piece of news, and is tried again until it is told. */
export function defineAlertTask(duly: Duly, deps: AlertTaskDeps): Task<AlertInput, unknown> {
  return defineBuiltIn(duly, {
    name: alertTaskName,
    queue: internalQueue,
    input: alertInput,
    retry: { attempts: 6, delay: '10s', factor: 4 },
    timeout: '1m',
    run: async (context) => {
      const { channel: id, notice } = context.input;
      const channel = await deps.store.channels.get(id).catch((error: unknown) => {
        if (isDulyError(error, 'alert_not_found')) return null;
        throw error;
      });
      // The result is stored. Stored values are renamed in one step with the names in SQL.
      if (channel === null) return { told: false, reason: 'channel deleted' };
      await report(context, channel, notice, deps);
      return { told: true };
    },
  });
}

async function report(
  context: TaskContext<AlertInput>,
  channel: AlertChannel,
  notice: Notice,
  deps: AlertTaskDeps,
): Promise<void> {
  switch (channel.kind) {
    case 'webhook':
      return post(context, deps, channel.url, toAlertJson(notice), true);
    case 'slack':
      return post(context, deps, channel.url, { text: headline(notice) }, false);
    case 'email':
      return mail(channel.to, notice, deps.mailer);
    case 'command':
      return runAlertCommand(context, channel.argv, notice, deps);
  }
}

async function post(
  { job, signal }: TaskContext<AlertInput>,
  { client, signer }: AlertTaskDeps,
  url: string,
  content: object,
  isSigned: boolean,
): Promise<void> {
  const body = JSON.stringify(content);
  const signature = isSigned ? await signer.sign({ id: job.id, body, tenant: null }) : {};
  const { status } = await client.send({
    url,
    headers: { 'content-type': 'application/json', ...signature },
    body,
    signal,
  });
  if (status >= 200 && status < 300) return;
  throw new DulyError('unexpected_status', {
    message: `The alert channel answered ${status}.`,
    hint: 'Expected a status from 200 to 299. Redirects are not followed.',
    details: { status },
  });
}

async function mail(to: readonly string[], notice: Notice, mailer: Mailer | null): Promise<void> {
  if (mailer === null) throw new DulyError('mail_not_set_up', noMailer);
  const lines = [notice.message, '', `Rule: ${notice.rule}`, `Since: ${instant(notice.firedAt)}`];
  if (notice.resolvedAt !== null) lines.push(`Until: ${instant(notice.resolvedAt)}`);
  await mailer.send({ to, subject: headline(notice).split('\n', 1)[0] as string, text: lines.join('\n') });
}

/** What is missing where e-mail is asked for. */
export const noMailer = {
  message: 'This server cannot send e-mail.',
  hint: 'Start it with the address of a mail server and a sender: DULY_SMTP_URL and DULY_MAIL_FROM, or "smtp: { url, from }".',
};

async function runAlertCommand(
  { signal, log }: TaskContext<AlertInput>,
  argv: readonly string[],
  notice: Notice,
  { clock, allowCommands }: AlertTaskDeps,
): Promise<void> {
  if (!allowCommands) {
    throw new DulyError('commands_disabled', {
      message: 'This server does not run commands, and the alert channel is one.',
      hint: 'Start it with --allow-commands.',
    });
  }
  const { exitCode } = await runCommand(
    {
      argv,
      cwd: undefined,
      env: {
        PATH: process.env.PATH ?? '',
        DULY_ALERT_EVENT: notice.event,
        DULY_ALERT_RULE: notice.rule,
        DULY_ALERT_SUBJECT: notice.subject,
        DULY_ALERT_MESSAGE: notice.message,
      },
      stdin: JSON.stringify(toAlertJson(notice)),
      signal,
      onLine: (stream, line) => (stream === 'stdout' ? log.info(line) : log.warn(line)),
    },
    clock,
  );
  if (exitCode === 0) return;
  throw new DulyError('command_failed', {
    message: `The program "${argv[0]}" of an alert channel ended with exit code ${exitCode}.`,
    hint: 'Its output is in the log of the job.',
    details: { program: argv[0], exitCode },
  });
}

/** What a webhook is told. */
function toAlertJson({ event, rule, subject, message, firedAt, resolvedAt }: Notice): object {
  return {
    type: `alert.${event}`,
    rule,
    subject,
    message,
    fired_at: instant(firedAt),
    resolved_at: resolvedAt === null ? null : instant(resolvedAt),
  };
}

function headline({ event, message }: Notice): string {
  return `${event === 'resolved' ? 'Resolved' : event === 'test' ? 'Test' : 'Alert'}: ${message}`;
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
