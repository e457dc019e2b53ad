import { createHash } from 'node:crypto';
import { type Clock, type Duly, isDulyError, type Logger, type Task } from '@duly/core';
import { createLeaderLoop } from '../leader/leader-loop.ts';
import type { Finding } from './alert-kind.ts';
import { type AlertRule, alertKindOf } from './alert-rule.ts';
import { type AlertNotice, type AlertState, nextState } from './alert-state.ts';
import type { AlertStore } from './alert-store.ts';
import type { AlertInput } from './alert-task.ts';
import { evaluateRule } from './evaluate.ts';
import type { FactReader } from './facts.ts';
import { isMuted, type MaintenanceWindow } from './maintenance.ts';

/** What it is made of. */
export interface AlertWatchDeps {
  duly: Duly;
  clock: Clock;
  logger: Logger;
  store: AlertStore;
  facts: FactReader;
  task: Task<AlertInput, unknown>;
  everyMs: number;
}

/** Looks at the rules again and again, wherever it is elected to. */
export interface AlertWatch {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Looks once, now. Two that look at the same time tell the same news once. */
  look(): Promise<void>;
  /** Ends what a rule tells that was deleted: whoever heard that it fires hears that it is over. */
  retire(rule: AlertRule): Promise<void>;
}

// Longer than a rule can fire between two looks after any crash.
const keyHeldFor = '7 days';
const leaderTtl = '15s';

/**
 * The watch over a store. One process looks, and another one when it dies. News is written into the rule's state before it is handed over, as a job
 * with a key of its own for each channel, and struck off afterwards: a crash in between tells it neither twice nor never.
 */
export function createAlertWatch(deps: AlertWatchDeps): AlertWatch {
  const { duly, clock, logger, store, everyMs } = deps;
  const leaderLoop = createLeaderLoop({
    ...{ duly, clock, name: 'duly:alerts', ttl: leaderTtl, pauseMs: everyMs },
    turn: () => lookOnce(deps),
    onFailure: (error) => logger.warn({ error }, 'Looking at the alert rules failed; it is tried again.'),
  });
  return {
    async start() {
      await store.ensureDefaults();
      leaderLoop.start();
    },
    stop: () => leaderLoop.stop(),
    look: () => lookOnce(deps),
    retire: (rule) => retire(deps, rule, clock.now()),
  };
}

async function lookOnce(deps: AlertWatchDeps): Promise<void> {
  const { store, facts } = deps;
  // A newer release may have stored rules of kinds that this one does not know. They must not stop the others.
  const rules = (await store.rules.list()).filter(
    ({ condition }) => alertKindOf(condition.kind) !== undefined,
  );
  if (rules.length === 0) return;
  const seen = await facts.read(rules);
  // After the facts: whoever opens a window and then breaks something must not be told of it by a look that had begun before.
  const windows = await store.windows.list();
  for (const rule of rules) {
    try {
      await lookAtRule(deps, rule, windows, evaluateRule(rule, seen), seen.now);
    } catch (error) {
      // Somebody else looked at the same moment, and what they found stands.
      if (!isDulyError(error, 'records_conflict')) throw error;
    }
  }
}

async function lookAtRule(
  deps: AlertWatchDeps,
  rule: AlertRule,
  windows: readonly MaintenanceWindow[],
  findings: readonly Finding[],
  now: number,
): Promise<void> {
  const { store } = deps;
  const muted = isMuted(windows, rule.id, now);
  // In a maintenance window it waits for the end of it, as all news does.
  if (!rule.isEnabled) return muted ? undefined : retire(deps, rule, now);
  const stored = await store.state(rule.id);
  const state = nextState({ rule, state: stored.state, findings, now, isMuted: muted });
  let { version } = stored;
  if (state !== stored.state) version = await store.keep(rule.id, state, version);
  if (state.outbox.length === 0) return;
  await enqueueNotices(deps, rule, state.outbox);
  const delivered: AlertState = { ...state, outbox: [] };
  await store.keep(rule.id, delivered, version);
}

/** Tells what a rule that no longer looks still owes, and forgets the rest. */
async function retire(deps: AlertWatchDeps, rule: AlertRule, now: number): Promise<void> {
  const { store } = deps;
  const { state, version } = await store.state(rule.id);
  if (version === null) return;
  await enqueueNotices(deps, rule, nextState({ rule, state, findings: [], now, isMuted: false }).outbox);
  await store.forget(rule.id);
}

async function enqueueNotices(
  { store, task, logger }: AlertWatchDeps,
  rule: AlertRule,
  notices: readonly AlertNotice[],
): Promise<void> {
  const channels = (await store.channels.list()).filter(
    ({ id }) => rule.channels === null || rule.channels.includes(id),
  );
  for (const notice of notices) {
    const { event, subject, message } = notice;
    logger.warn({ rule: rule.id, subject, event }, `Alert ${event}: ${message}`);
  }
  const delivered = channels.flatMap(({ id: channel }) => notices.map((notice) => ({ channel, notice })));
  if (delivered.length === 0) return;
  await task.nowMany(delivered, ({ channel, notice }) => ({
    metadata: { rule: notice.rule, channel },
    dedupe: { key: keyOf(channel, notice), for: keyHeldFor },
  }));
}

/** A key has its length limit; a subject holds names of others. */
function keyOf(channel: string, { id }: Pick<AlertNotice, 'id'>): string {
  return `${channel}:${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
}
