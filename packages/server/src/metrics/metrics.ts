import { type Clock, type Duly, isDulyError } from '@duly/core';
import { deadMax, type RegisteredMetrics, registerMetrics } from './registered-metrics.ts';

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

/**
 * Counts what happens in this process, and on a scrape reads how the store stands. Nothing carries the id of a job, a tenant or a schedule: their number
 * has no bound, and they are others' names.
 */
export function createMetrics(deps: MetricsDeps): Metrics {
  const { clock } = deps;
  const metrics = registerMetrics(deps.duly);
  const { registry, requests, sent } = metrics;
  const seen = { typeLabel: boundedLabel(typesMax), startedElapsed: new Map<string, number>() };
  let offs: (() => void)[] = [];
  let cached: { text: Promise<string>; atElapsed: number } | null = null;

  return {
    async text() {
      const now = clock.elapsed();
      if (cached === null || now - cached.atElapsed > cachedMs) {
        cached = { text: look(deps, metrics).then(() => registry.metrics()), atElapsed: now };
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
      offs = listen(deps, metrics, seen);
    },
    stop() {
      for (const off of offs) off();
      offs = [];
    },
  };
}

/** Asks the store how it stands. What it does not answer is not shown, rather than shown as it was. */
async function look({ duly, firing }: MetricsDeps, metrics: RegisteredMetrics): Promise<void> {
  const { jobs, ready, oldest, dead, nodes, alerts, storeUp } = metrics;
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

/** What was seen of attempts so far. */
interface Seen {
  typeLabel: ReturnType<typeof boundedLabel>;
  /** When the attempts began that run, by job and attempt. */
  startedElapsed: Map<string, number>;
}

/** Counts what happens until the returned functions are called. */
function listen(
  { duly, clock }: MetricsDeps,
  { attempts, running, runSeconds, lost, fired, calls, errors }: RegisteredMetrics,
  { typeLabel, startedElapsed }: Seen,
): (() => void)[] {
  return [
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
