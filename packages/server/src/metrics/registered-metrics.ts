// Every metric of a server: its name, its labels and what it says.

import type { Duly } from '@duly/core';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** How many dead letters are counted. */
export const deadMax = 100;
const runBuckets = [0.005, 0.02, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600];
const callBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2, 10];

/** The metrics of one server, by what they count. */
export type RegisteredMetrics = ReturnType<typeof registerMetrics>;

/** Creates the metrics, in a register of their own. */
export function registerMetrics(duly: Duly) {
  const registers = [new Registry()];
  const registry = registers[0] as Registry;

  const jobs = new Gauge({
    name: 'duly_jobs',
    help: 'Jobs in the store by status; each count stops at 10,000.',
    labelNames: ['status'],
    registers,
  });
  const ready = new Gauge({
    name: 'duly_queue_ready_jobs',
    help: 'Jobs that are due and wait for a worker.',
    labelNames: ['queue'],
    registers,
  });
  const oldest = new Gauge({
    name: 'duly_queue_oldest_wait_seconds',
    help: 'How long the oldest of them has been due.',
    labelNames: ['queue'],
    registers,
  });
  const dead = new Gauge({
    name: 'duly_dead_letters',
    help: `Dead letters; the count stops at ${deadMax}.`,
    registers,
  });
  const nodes = new Gauge({
    name: 'duly_nodes',
    help: 'Live nodes by role.',
    labelNames: ['role'],
    registers,
  });
  const alerts = new Gauge({
    name: 'duly_alerts_firing',
    help: 'Alerts that fire, by rule.',
    labelNames: ['rule'],
    registers,
  });
  const storeUp = new Gauge({
    name: 'duly_store_up',
    help: 'Whether the store answered this scrape; if not, what it holds is not shown.',
    registers,
  });
  const attempts = new Counter({
    name: 'duly_attempts_total',
    help: 'Attempts of this process that ended, by the status that the job got.',
    labelNames: ['type', 'status'],
    registers,
  });
  const running = new Gauge({
    name: 'duly_attempts_running',
    help: 'Attempts that run in this process.',
    registers,
  });
  new Gauge({
    name: 'duly_outcomes_unrecorded',
    help: 'Outcomes of attempts of this process that the store has not recorded yet. While there are many, no work is taken.',
    registers,
    collect() {
      this.set(duly.unrecordedCount());
    },
  });
  const runSeconds = new Histogram({
    name: 'duly_attempt_duration_seconds',
    help: 'How long attempts of this process took.',
    labelNames: ['type'],
    buckets: runBuckets,
    registers,
  });
  const lost = new Counter({
    name: 'duly_attempts_lost_total',
    help: 'Attempts of this process that lost their lease.',
    labelNames: ['type'],
    registers,
  });
  const fired = new Counter({
    name: 'duly_schedule_runs_total',
    help: 'Jobs that this process created for slots of schedules.',
    registers,
  });
  const calls = new Histogram({
    name: 'duly_store_call_duration_seconds',
    help: 'How long the store took to answer, by verb.',
    labelNames: ['verb', 'ok'],
    buckets: callBuckets,
    registers,
  });
  const errors = new Counter({
    name: 'duly_background_errors_total',
    help: 'Failures that no caller received; each is tried again.',
    registers,
  });
  const requests = new Histogram({
    name: 'duly_http_request_duration_seconds',
    help: 'How long requests to this server took, by the pattern of their address.',
    labelNames: ['method', 'route', 'status'],
    buckets: callBuckets,
    registers,
  });
  const sent = new Counter({
    name: 'duly_outgoing_requests_total',
    help: 'Webhooks, alerts and HTTP targets that were sent, by what became of them.',
    labelNames: ['outcome'],
    registers,
  });
  storeUp.set(0);
  collectDefaultMetrics({ register: registry, prefix: 'duly_' });
  // Gauges must not end in `_total`. These are sums over the labels of the metrics without the suffix.
  for (const what of ['resources', 'handles', 'requests']) {
    registry.removeSingleMetric(`duly_nodejs_active_${what}_total`);
  }
  return {
    registry,
    jobs,
    ready,
    oldest,
    dead,
    nodes,
    alerts,
    storeUp,
    attempts,
    running,
    runSeconds,
    lost,
    fired,
    calls,
    errors,
    requests,
    sent,
  };
}
