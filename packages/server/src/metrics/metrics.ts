import { type Clock, type Duly, isDulyError } from '@duly/core';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of one server. */
export interface Metrics {
  /** All of them, as Prometheus reads them. */
  text(): Promise<{ body: string; contentType: string }>;
  /** A request was answered. `route` is the pattern of the address, never the address. */
  request(answered: { method: string; route: string; status: number; tookMs: number }): void;
  /** A request went out, or was refused. */
  outgoing(outcome: 'answered' | 'refused' | 'timeout' | 'failed'): void;
  /** Begins to count what happens. */
  start(): void;
  stop(): void;
}

/** What they are made of. */
export interface MetricsDeps {
  duly: Duly;
  clock: Clock;
  /** Rules that fire now, with how many subjects each. */
  firing(): Promise<readonly { rule: string; count: number }[]>;
}

// Types are written by programs and few; should somebody make one per user, the rest is one series.
const typesMax = 200;
// Queues are names that callers choose. Those with the most waiting jobs have their own series, all others one.
const queuesMax = 200;
// Attempts whose end is not seen (given back, lost) must not be remembered for ever.
const runsMax = 10_000;
// A scrape asks the store; several scrapers, or a dashboard, ask it once.
const cachedMs = 2_000;
const deadMax = 100;
const runBuckets = [0.005, 0.02, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600];
const callBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2, 10];

/**
 * Counts what happens in this process, and on a scrape reads how the store stands. Nothing carries the id of a job, a tenant or a schedule: their number
 * has no bound, and they are others' names.
 */
export function createMetrics({ duly, clock, firing }: MetricsDeps): Metrics {
  const registers = [new Registry()];
  const registry = registers[0] as Registry;
  const typeLabel = boundedLabel(typesMax);

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

  const startedElapsed = new Map<string, number>();
  let offs: (() => void)[] = [];
  let cached: { text: Promise<string>; atElapsed: number } | null = null;

  /** Asks the store how it stands. What it does not answer is not shown, rather than shown as it was. */
  async function look(): Promise<void> {
    for (const gauge of [jobs, ready, oldest, nodes, alerts]) gauge.reset();
    try {
      const [counts, live, letters, rules] = await Promise.all([
        duly.counts(),
        duly.nodes(),
        duly.dead.list().page({ limit: deadMax }),
        firing(),
      ]);
      for (const [status, { count }] of Object.entries(counts.status)) jobs.set({ status }, count);
      for (const { queue, readyCount, oldestDueAt } of busiestQueues(counts.lanes)) {
        ready.set({ queue }, readyCount);
        const waitMs = oldestDueAt === null ? 0 : Math.max(0, counts.now.getTime() - oldestDueAt);
        oldest.set({ queue }, waitMs / 1_000);
      }
      for (const role of ['scheduler', 'worker', 'maintenance']) {
        nodes.set({ role }, live.filter(({ roles }) => roles.includes(role)).length);
      }
      for (const { rule, count } of rules) alerts.set({ rule }, count);
      dead.set(letters.jobs.length);
      storeUp.set(1);
    } catch (error) {
      storeUp.set(0);
      if (!isDulyError(error)) throw error;
    }
  }

  return {
    async text() {
      const now = clock.elapsed();
      if (cached === null || now - cached.atElapsed > cachedMs) {
        cached = { text: look().then(() => registry.metrics()), atElapsed: now };
        cached.text.catch(() => {
          cached = null;
        });
      }
      return { body: await cached.text, contentType: registry.contentType };
    },
    request({ method, route, status, tookMs }) {
      requests.observe({ method, route, status: String(status) }, tookMs / 1_000);
    },
    outgoing(outcome) {
      sent.inc({ outcome });
    },
    start() {
      offs = [
        duly.on('job.started', ({ id, attempt }) => {
          if (startedElapsed.size >= runsMax) startedElapsed.clear();
          startedElapsed.set(`${id}/${attempt}`, clock.elapsed());
          running.set(startedElapsed.size);
        }),
        duly.on('job.settled', ({ id, attempt, type, status }) => {
          const since = startedElapsed.get(`${id}/${attempt}`);
          attempts.inc({ type: typeLabel(type), status });
          if (since === undefined) return;
          startedElapsed.delete(`${id}/${attempt}`);
          running.set(startedElapsed.size);
          runSeconds.observe({ type: typeLabel(type) }, (clock.elapsed() - since) / 1_000);
        }),
        duly.on('job.lost', ({ id, attempt, type }) => {
          lost.inc({ type: typeLabel(type) });
          startedElapsed.delete(`${id}/${attempt}`);
          running.set(startedElapsed.size);
        }),
        duly.on('schedule.fired', (event) => fired.inc(event.jobs.length)),
        duly.on('call', ({ verb, tookMs, ok }) => calls.observe({ verb, ok: String(ok) }, tookMs / 1_000)),
        duly.on('error', () => errors.inc()),
      ];
    },
    stop() {
      for (const off of offs) off();
      offs = [];
    },
  };
}

interface QueueLoad {
  queue: string;
  readyCount: number;
  /** When the oldest waiting job was due; null: none waits. */
  oldestDueAt: number | null;
}

/** The queues with the most waiting jobs; all others are added up as `other`. */
function busiestQueues(lanes: Awaited<ReturnType<Duly['counts']>>['lanes']): QueueLoad[] {
  const queues = [...Map.groupBy(lanes, (lane) => lane.queue)].map(([queue, own]) =>
    addUp(
      queue,
      own.map((lane) => ({ queue, readyCount: lane.ready.count, oldestDueAt: lane.oldestDueAt })),
    ),
  );
  if (queues.length <= queuesMax) return queues;
  queues.sort((one, two) => two.readyCount - one.readyCount);
  const own = queues.slice(0, queuesMax).filter(({ queue }) => queue !== 'other');
  return [
    ...own,
    addUp(
      'other',
      queues.filter((one) => !own.includes(one)),
    ),
  ];
}

function addUp(queue: string, loads: readonly QueueLoad[]): QueueLoad {
  const dueAt = loads.flatMap(({ oldestDueAt }) => (oldestDueAt === null ? [] : [oldestDueAt]));
  return {
    queue,
    readyCount: loads.reduce((sum, load) => sum + load.readyCount, 0),
    oldestDueAt: dueAt.length === 0 ? null : dueAt.reduce((one, two) => Math.min(one, two)),
  };
}

/** Lets so many names through; all others are one. */
function boundedLabel(countMax: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.has(name)) return name;
    if (known.size >= countMax) return 'other';
    known.add(name);
    return name;
  };
}
