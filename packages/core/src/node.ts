import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import type { Events } from './base/emitter.ts';
import type { Ids } from './base/ids.ts';
import { createLoop, type Loop } from './base/loop.ts';
import type { ClaimedJob, ClaimRequest, Engine, NodeInfo } from './contract/engine.ts';
import { type DulyEvents, forwardWorker, noticeOf, scheduleNoticeOf } from './events.ts';
import type { ResolvedTask } from './jobs/task-definition.ts';
import { createContact } from './maintenance/contact.ts';
import { createNodeHeartbeat } from './maintenance/node-heartbeat.ts';
import { createPrunePass, idleEveryMsMax } from './maintenance/prune.ts';
import { createReapPass } from './maintenance/reap.ts';
import type { ResolvedOptions, ResolvedStart } from './options.ts';
import { createFirePass } from './schedules/fire-pass.ts';
import type { ClaimSource } from './store/enqueue-call.ts';
import type { HeartbeatResult, Heartbeats } from './store/heartbeats.ts';
import { createNotifierProbe, type NotifierProbe } from './store/notifier-probe.ts';
import type { ParkedClaim, ParkedClaimOptions } from './store/parked-claim.ts';
import { retryMsMax } from './store/retry-time.ts';
import { createWorker, type Worker } from './worker/worker.ts';

/** What a node is made of. */
export interface NodeOptions {
  id: string;
  engine: Engine;
  ids: Ids;
  options: ResolvedOptions;
  start: ResolvedStart;
  tasks: ReadonlyMap<string, ResolvedTask>;
  /** Ids of the schedules that this process declares, as they are now. */
  declares(): string[];
  createHeartbeats(
    onHeartbeat: (news: HeartbeatResult) => void,
    onError: (error: unknown) => void,
  ): Heartbeats;
  openParkedClaim(handlers: Pick<ParkedClaimOptions, 'onDelivered' | 'onFailed'>): ParkedClaim | null;
  events: Events<DulyEvents>;
  /** The store's instant now. */
  startedAt: number;
  /** Whether no other node was there then. */
  isAlone: boolean;
  /** On virtual time nothing repeats automatically: the test kit calls `runMaintenance`. */
  virtual: boolean;
}

/** A process at work: its roles, from start to drained. */
export interface DulyNode extends ClaimSource {
  readonly id: string;
  /** Tells the others that it is there and what it declares, before it starts. */
  announce(): Promise<void>;
  start(): Promise<void>;
  /** Looks for work at once: a task was added. */
  wake(): void;
  /** How long a caller that waits for a notification may sleep: long while notifications are proven to arrive. */
  maxSleepMs(): number;
  /** Handlers that run here. */
  runningCount(): number;
  /** Outcomes of attempts here that the store has not recorded yet. */
  unrecordedCount(): number;
  /** Whether its worker has nothing in hand. */
  isIdle(): boolean;
  /** Why it takes no work; null: it does. */
  notReady(): string | null;
  /** On virtual time: whether it may look for work now. It stands still until told. */
  setMoving(isMoving: boolean): void;
  /** On virtual time: reaps once, and tells the instant at which the next lease or start deadline ends. */
  reap(): Promise<number | null>;
  /** On virtual time: prunes and sends a heartbeat once. */
  runMaintenance(): Promise<void>;
  /** Takes back that it was announced, where it does not start. */
  withdraw(): Promise<void>;
  /** Stops taking work and lets what runs finish until the limit, then leaves. */
  stop(drainMs: number): Promise<void>;
  /** Ends the waiting of `stop`: what still runs is aborted and given back now. */
  abortDrain(): void;
}

// Every heartbeat carries them: 30 kB at most. Whoever declares more is taken to declare everything of its app.
const declaredCountMax = 1_000;

/** Puts a node together. It does nothing until `start`. */
export function createNode(node: NodeOptions): DulyNode {
  const { id, engine, options, start, tasks, events, virtual } = node;
  const { clock, random } = options;
  const isWorker = start.roles.includes('worker');
  const isMaintenance = start.roles.includes('maintenance');
  const isScheduler = start.roles.includes('scheduler');
  const fail = (doing: string) => (error: unknown) => events.emit('error', { error, doing });
  // What a worker starts because of somebody's now() must not run in that caller's async context.
  const inOwnContext = AsyncLocalStorage.snapshot();

  const probe = virtual
    ? endlessSleep
    : createNotifierProbe({ engine, clock, random, onError: fail('proving notifications') });
  let isMoving = !virtual;
  let drainAsked = false;
  const maxSleepMs = (): number => probe.maxSleepMs();
  const created = isWorker ? createNodeWorker(node, { isMoving: () => isMoving, maxSleepMs, fail }) : null;
  const worker = created?.worker ?? null;

  const notReady = (): string | null => notReadyOf(worker);

  const nodeHeartbeat = createNodeHeartbeat({
    engine,
    info: () => infoOf(node, worker),
    onDrainAsked() {
      drainAsked = true;
      events.emit('draining', { node: id });
      const drained = worker === null ? Promise.resolve() : worker.drain({ limitMs: options.drainMs });
      void drained.then(() => events.emit('drained', { node: id }));
    },
  });

  const reap = createNodeReap(node);
  const prune = createPrunePass({
    engine,
    clock,
    ...options.retention,
    tasksMs: () => [...tasks.values()].flatMap((task) => [task.retentionMs, task.deadRetentionMs]),
  });

  const claimSource: ClaimSource = {
    request: () => (drainAsked ? null : (worker?.request() ?? null)),
    receive: (request, claimed) => worker?.receive(request, claimed),
  };
  const scheduler = isScheduler ? createScheduler(node, { claimSource, maxSleepMs, fail }) : null;
  let unsubscribe: () => void = () => {};

  const heartbeatLoop = createLoop({
    clock,
    random,
    pass: nodeHeartbeat.pass,
    onError: fail('sending heartbeats'),
  });
  let reported: string | null = null;
  // A node that takes no more work, or takes work again, says so at once. While outcomes cannot be recorded no pass ends well.
  const reportReadiness = (): void => {
    const reason = worker?.notReady() ?? null;
    if (reason === reported) return;
    reported = reason;
    heartbeatLoop.wake();
  };
  worker?.events.on('passes', reportReadiness);
  worker?.events.on('error', reportReadiness);
  const loops: Loop[] = [heartbeatLoop];
  if (isMaintenance) {
    loops.push(createLoop({ clock, random, pass: reap.pass, onError: fail('reaping') }));
    // What is past its time waits without harm, and a machine that slept is late by one round: no need to look every 30 s.
    const maxWaitMs = idleEveryMsMax;
    loops.push(createLoop({ clock, random, pass: prune, onError: fail('pruning'), maxWaitMs }));
  }

  return {
    id,
    async announce() {
      await nodeHeartbeat.pass();
    },
    withdraw: () => nodeHeartbeat.leave(),
    async start() {
      // Known to the store before it takes anything, so that why() never shows a job on a node nobody heard of.
      await nodeHeartbeat.pass();
      probe.start();
      // On virtual time the first pass is the test's to ask for: the loop is started with the first move.
      if (!virtual) worker?.start();
      if (!virtual) for (const loop of loops) loop.start();
      if (scheduler === null) return;
      unsubscribe = engine.subscribe(({ kind }) => {
        // Disconnected: it may sleep less long from now on.
        if ((kind === 'schedules' || kind === 'disconnected') && isMoving) scheduler.wake();
      });
      if (!virtual) scheduler.start();
    },
    wake() {
      if (isMoving) worker?.wake();
      // The others are told what this node handles now, and not with the next heartbeat.
      heartbeatLoop.wake();
    },
    maxSleepMs,
    runningCount: () => worker?.runningCount() ?? 0,
    unrecordedCount: () => worker?.unrecordedCount() ?? 0,
    isIdle: () => worker?.isIdle() ?? true,
    notReady,
    request: () => (drainAsked || virtual ? null : (worker?.request() ?? null)),
    receive(request: ClaimRequest, claimed: ClaimedJob[] | 'unknown') {
      inOwnContext(() => worker?.receive(request, claimed));
    },
    setMoving(moving) {
      isMoving = moving;
      if (!moving) return;
      worker?.start();
      worker?.wake();
      scheduler?.start();
      scheduler?.wake();
    },
    async reap() {
      if (!isMaintenance) return null;
      while ((await reap.pass()) === 0);
      return reap.nextAt();
    },
    async runMaintenance() {
      // A pass prunes a bounded amount and answers with a short wait while there is more.
      if (isMaintenance) while ((await prune()) < 1_000);
      await nodeHeartbeat.pass();
    },
    async stop(drainMs) {
      // First: other nodes fire what falls due from here on.
      unsubscribe();
      await scheduler?.stop();
      // A drain that somebody asked for before has its own, perhaps longer, limit.
      const limit = clock.after(drainMs, () => worker?.abortDrain());
      await worker?.drain({ limitMs: drainMs });
      limit.cancel();
      await Promise.all(loops.map((loop) => loop.stop()));
      await probe.stop();
      // The heartbeats outlive the drain: leases of what still runs must hold to the end.
      created?.heartbeats.close();
      await nodeHeartbeat.leave().catch(fail('leaving'));
    },
    abortDrain: () => worker?.abortDrain(),
  };
}

const endlessSleep: NotifierProbe = {
  start() {},
  maxSleepMs: () => Number.POSITIVE_INFINITY,
  stop: async () => {},
};

/** What a node tells of itself with every heartbeat. */
function infoOf(node: NodeOptions, worker: Worker | null): NodeInfo {
  const { id, options, start, tasks } = node;
  const declares = node.declares();
  return {
    id,
    app: options.app,
    release: options.release,
    declares: declares.length > declaredCountMax ? null : declares,
    host: hostname(),
    pid: process.pid,
    roles: [...start.roles],
    tasks:
      worker === null
        ? []
        : [...tasks.values()].map(({ name, version, concurrency }) => ({ type: name, version, concurrency })),
    queues: start.queues === null ? null : [...start.queues],
    concurrency: start.concurrency,
    running: worker?.runningCount() ?? 0,
    notReady: notReadyOf(worker),
    startedAt: node.startedAt,
  };
}

function notReadyOf(worker: Worker | null): string | null {
  if (worker === null) return 'It does not work on jobs.';
  return worker.notReady();
}

/** Creates the worker of a node and the heartbeats of its leases. */
function createNodeWorker(
  node: NodeOptions,
  {
    isMoving,
    maxSleepMs,
    fail,
  }: { isMoving(): boolean; maxSleepMs(): number; fail(doing: string): (error: unknown) => void },
): { worker: Worker; heartbeats: Heartbeats } {
  const { id, engine, options, start, tasks, events } = node;
  const { clock, random } = options;
  const heartbeats = node.createHeartbeats((news) => created.onHeartbeat(news), fail('renewing leases'));
  const created = createWorker({
    engine: {
      exchange: engine.exchange,
      report: engine.report,
      remember: engine.remember,
      get: engine.get,
      info: engine.info,
      ...(engine.userTransaction === undefined ? {} : { userTransaction: engine.userTransaction }),
      subscribe: (listener) =>
        engine.subscribe((notification) => {
          if (isMoving()) listener(notification);
        }),
    },
    clock,
    random,
    node: id,
    tasks,
    heartbeats,
    concurrency: start.concurrency,
    queues: start.queues === null ? null : [...start.queues],
    leaseMs: options.leaseMs,
    openParkedClaim: node.openParkedClaim,
    maxSleepMs,
  });
  forwardWorker(created, events);
  created.events.on('skipped', ({ late, released }) => {
    const what = `${late + released} claimed jobs were not started here, because this process stood still`;
    const why = `${late} leases ended meanwhile, ${released} jobs were released for other nodes`;
    options.logger.warn({ late, released }, `${what}: ${why}.`);
  });
  return { worker: created, heartbeats };
}

/** Creates the pass that takes over ended leases. `nextAt`: when the next lease or start deadline ends. */
function createNodeReap({ id, engine, options, isAlone, events, virtual }: NodeOptions): {
  pass: () => Promise<number>;
  nextAt(): number | null;
} {
  let nextAt: number | null = null;
  const pass = createReapPass({
    engine: {
      exchange: engine.exchange,
      async reap(input) {
        const reply = await engine.reap(input);
        nextAt = reply.nextAt;
        return reply;
      },
    },
    node: id,
    leaseMs: options.leaseMs,
    // On virtual time the store is never away.
    ...(virtual
      ? {}
      : { contact: createContact({ clock: options.clock, leaseMs: options.leaseMs, isAlone }) }),
    onReaped: ({ job, settlement }) => events.emit('job.reaped', { ...noticeOf(job), status: settlement.to }),
  });
  return { pass, nextAt: () => nextAt };
}

/** Creates the loop that decides due schedules. */
function createScheduler(
  { id, engine, ids, options, events, virtual }: NodeOptions,
  {
    claimSource,
    maxSleepMs,
    fail,
  }: {
    claimSource: ClaimSource;
    maxSleepMs(): number;
    fail(doing: string): (error: unknown) => void;
  },
): Loop {
  const { clock, random } = options;
  const pass = createFirePass({
    engine,
    clock,
    node: id,
    ids,
    claimSource,
    maxSleepMs,
    onDecided: ({ schedule, plan }) => {
      if (plan.runs.length > 0) {
        events.emit('schedule.fired', {
          ...scheduleNoticeOf(schedule),
          jobs: plan.runs.map((run) => run.id),
        });
      }
    },
    onEvent: (schedule, event) => events.emit(`schedule.${event.kind}`, scheduleNoticeOf(schedule)),
    onError: (error, { name }) => events.emit('error', { error, doing: `deciding schedule "${name}"` }),
  });
  return createLoop({
    clock,
    random,
    pass,
    onError: fail('looking for due schedules'),
    maxBackoffMs: retryMsMax,
    // On virtual time nobody else changes the store, and every needless look costs a year of minutes half a minute.
    ...(virtual ? { maxWaitMs: Number.POSITIVE_INFINITY } : {}),
  });
}
