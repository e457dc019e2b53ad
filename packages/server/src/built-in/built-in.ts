import { type Clock, type Duly, isDulyError, type Logger } from '@duly/core';
import type { AlertStore } from '../alerts/alert-store.ts';
import { type Alerts, createAlerts } from '../alerts/alerts.ts';
import { createMetrics, type Metrics } from '../metrics/metrics.ts';
import type { ResolvedServerOptions } from '../options.ts';
import { type AllowedTargets, createAllowedTargets } from '../outgoing/allowed-targets.ts';
import { createGuardedClient, type GuardedClient } from '../outgoing/guarded-client.ts';
import { defineCommandTask } from '../targets/command-task.ts';
import { defineHttpTask } from '../targets/http-task.ts';
import { defineDeliveryTask } from '../webhooks/delivery-task.ts';
import { createEndpoints, type Endpoints } from '../webhooks/endpoints.ts';
import { createFollower } from '../webhooks/follower.ts';
import { createSigningSecrets, type SigningSecrets } from '../webhooks/signing.ts';

/** What the server does by itself, beside answering: calls others, delivers webhooks, watches. */
export interface BuiltIn {
  readonly allowed: AllowedTargets;
  readonly client: GuardedClient;
  readonly endpoints: Endpoints;
  readonly secrets: SigningSecrets;
  readonly alerts: Alerts;
  readonly metrics: Metrics;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What it is made of. */
export interface BuiltInDeps {
  duly: Duly;
  clock: Clock;
  logger: Logger;
  options: ResolvedServerOptions;
}

/** Defines the tasks that come with the server, and what goes on beside them. Opens and asks nothing yet. */
export function createBuiltIn({ duly, clock, logger, options }: BuiltInDeps): BuiltIn {
  const allowed = createAllowedTargets(options.allowTargets);
  const metrics = createMetrics({ duly, clock, firing: () => firingIn(alerts.store) });
  const client = counted(
    createGuardedClient({
      clock,
      allowed,
      ...(options.lookup === null ? {} : { lookup: options.lookup }),
    }),
    metrics,
  );
  const endpoints = createEndpoints({ duly, clock });
  const secrets = createSigningSecrets({ duly, clock });
  defineHttpTask(duly, { client, secrets });
  if (options.allowCommands) defineCommandTask(duly, { clock });
  const { redact } = options;
  const task = defineDeliveryTask(duly, {
    clock,
    client,
    endpoints,
    secrets,
    redact,
    ...(options.webhookDelays === null ? {} : { delays: options.webhookDelays }),
  });
  const follower = createFollower({ duly, clock, logger, endpoints, task, redact });
  const { smtp, allowCommands, alertEveryMs: everyMs } = options;
  const alerts = createAlerts({ duly, clock, logger, client, signer: secrets, smtp, allowCommands, everyMs });
  return {
    allowed,
    client,
    endpoints,
    secrets,
    alerts,
    metrics,
    async start() {
      metrics.start();
      await follower.start();
      await alerts.start();
    },
    async stop() {
      await Promise.all([follower.stop(), alerts.stop()]);
      client.close();
      metrics.stop();
    },
  };
}

/** The same client, whose requests are counted. */
function counted(client: GuardedClient, metrics: Metrics): GuardedClient {
  return {
    async send(request) {
      try {
        const response = await client.send(request);
        metrics.outgoing('answered');
        return response;
      } catch (error) {
        const isRefused = isDulyError(error, 'target_refused') || isDulyError(error, 'target_invalid');
        metrics.outgoing(
          isRefused ? 'refused' : isDulyError(error, 'request_timeout') ? 'timeout' : 'failed',
        );
        throw error;
      }
    },
    close: () => client.close(),
  };
}

/** How many subjects of each rule fire. */
async function firingIn({ rules, state }: AlertStore): Promise<{ rule: string; count: number }[]> {
  return Promise.all(
    (await rules.list()).map(async ({ id }) => {
      const { entries } = (await state(id)).state;
      const firing = Object.values(entries).filter(
        ({ firedAt, resolvedAt }) => firedAt !== null && resolvedAt === null,
      );
      return { rule: id, count: firing.length };
    }),
  );
}
