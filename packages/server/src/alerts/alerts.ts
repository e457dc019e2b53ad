import type { Clock, Duly, Logger } from '@duly/core';
import type { GuardedClient } from '../outgoing/guarded-client.ts';
import type { Signer } from '../outgoing/signer.ts';
import type { AlertRule } from './alert-rule.ts';
import { type AlertStore, createAlertStore } from './alert-store.ts';
import { defineAlertTask } from './alert-task.ts';
import { createFactReader } from './facts.ts';
import { createMailer, type SmtpOptions } from './mailer.ts';
import { createAlertWatch } from './watch.ts';

/** Alerts of one store. */
export interface Alerts {
  readonly store: AlertStore;
  /** Sends a test to a channel. */
  test(channel: string): Promise<void>;
  /** Looks at all rules once, now. */
  look(): Promise<void>;
  /** Ends what a deleted rule tells. */
  retire(rule: AlertRule): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What they are made of. */
export interface AlertsDeps {
  duly: Duly;
  clock: Clock;
  logger: Logger;
  client: GuardedClient;
  signer: Signer;
  smtp: SmtpOptions | null;
  allowCommands: boolean;
  /** How often the rules are looked at. */
  everyMs: number;
}

/** Makes them, and defines their task. */
export function createAlerts(deps: AlertsDeps): Alerts {
  const { duly, clock, logger, smtp, everyMs } = deps;
  const store = createAlertStore(duly);
  const mailer = smtp === null ? null : createMailer(smtp);
  const task = defineAlertTask(duly, { ...deps, store, mailer });
  const watch = createAlertWatch({
    duly,
    clock,
    logger,
    store,
    facts: createFactReader(duly, clock),
    task,
    everyMs,
  });
  return {
    store,
    async test(channel) {
      const at = clock.now();
      await task.now({
        channel,
        notice: {
          id: `test/${at}`,
          event: 'test',
          rule: 'test',
          subject: 'store',
          message: 'This is a test of an alert channel of Duly.',
          firedAt: at,
          resolvedAt: null,
        },
      });
    },
    look: () => watch.look(),
    retire: (rule) => watch.retire(rule),
    start: () => watch.start(),
    async stop() {
      await watch.stop();
      mailer?.close();
    },
  };
}
