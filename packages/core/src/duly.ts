import { AsyncLocalStorage } from 'node:async_hooks';
import { systemClock } from './base/clock.ts';
import { createEvents, type EventListener } from './base/emitter.ts';
import { type DulyError, dulyError, isDulyError } from './base/errors.ts';
import { createIds, type Ids } from './base/ids.ts';
import { readName } from './base/option-reader.ts';
import type { StandardSchema } from './base/schema.ts';
import { listenForSignals } from './base/stop-signals.ts';
import type { Engine, EngineInfo, EngineVerb } from './contract/engine.ts';
import { type Coordination, createCoordination } from './coordination/coordination.ts';
import type { Expiring } from './coordination/expiring.ts';
import { type ExpiringOptions, ExpiringSets } from './coordination/expiring-sets.ts';
import type { LeaderOptions, Leadership } from './coordination/leader.ts';
import { type LockContext, type LockOptions, type LockResult, withLock } from './coordination/lock.ts';
import type { Locks } from './coordination/locks.ts';
import { type OnceOptions, onceInStore } from './coordination/once.ts';
import { placeOfPool } from './engines/shared/pool.ts';
import type { DulyEvents } from './events.ts';
import { type Forecast, type ForecastOptions, readForecast } from './forecast/forecast.ts';
import { builtInPrefix, refuseReservedName } from './jobs/built-in-tasks.ts';
import { DeadLetters } from './jobs/dead-letters.ts';
import { blockForever } from './jobs/isolate-registry.ts';
import type { JobChange } from './jobs/job-change.ts';
import type { JobsFilter } from './jobs/job-filter.ts';
import { JobHandle } from './jobs/job-handle.ts';
import { JobQuery } from './jobs/job-query.ts';
import { type JobReference, type NewDue, readJobId } from './jobs/job-reference.ts';
import type { Job } from './jobs/job-view.ts';
import type { Why } from './jobs/job-why.ts';
import { type CancelOptions, createJobs, type Jobs } from './jobs/jobs.ts';
import { createPauses, type Pause, type PauseOptions, type Pauses, type PauseTarget } from './jobs/pauses.ts';
import type { ResolvedTask } from './jobs/task-definition.ts';
import { callerFileOf, resolveTask } from './jobs/task-options.ts';
import type { DulyNode } from './node.ts';
import { createNodeOn } from './node-on-store.ts';
import { type AuditEntry, type AuditOptions, readAudit } from './operations/audit.ts';
import { type ChangesOptions, type ChangesPage, readChanges } from './operations/changes.ts';
import { type Health, type HealthCallOptions, readHealth, readHealthOptions } from './operations/health.ts';
import { readNextDue } from './operations/next-due.ts';
import { type Counts, drainNode, type NodeView, readCounts, readNodes } from './operations/nodes.ts';
import { listQueues, type QueueList } from './operations/queues.ts';
import { createRecords, type Records } from './operations/records.ts';
import {
  readStats,
  readTrend,
  type StatsOptions,
  type TrendOptions,
  type TrendStep,
  type TypeStats,
} from './operations/stats.ts';
import { readUpcoming, type Upcoming, type UpcomingOptions } from './operations/upcoming.ts';
import {
  type DulyOptions,
  type ResolvedOptions,
  resolveOptions,
  resolveStart,
  resolveStop,
  type StartOptions,
  type StopOptions,
} from './options.ts';
import type { ScheduleReference } from './schedules/schedule-options.ts';
import type { SlotWhy } from './schedules/schedule-why.ts';
import { Schedules } from './schedules/schedules.ts';
import { isStoreTrouble } from './store/batcher.ts';
import { createOutageLog } from './store/outage-log.ts';
import type { Store } from './store/store.ts';
import { defaultSchema } from './store/store-url.ts';
import { StoreAccess, stoppedError } from './store-access.ts';
import { keepTaskForms } from './tasks/input-forms.ts';
import type { Task, TaskInput, TaskOptions } from './tasks/task.ts';
import { createTask } from './tasks/task-calls.ts';
import { type Declared, TaskRegistry } from './tasks/task-registry.ts';
import { isIsolateThread } from './worker/isolate.ts';
import { createRemoteWorkers, type RemoteWorkers } from './worker/remote/remote-workers.ts';

/** Internals that the test kit drives: the node (null before `start`) and the jobs that callers wait for. Not public. */
export let internalsOf: (duly: Duly) => { node: DulyNode | null; jobs: Jobs };

/**
 * Creates a Duly on a store that the caller opens: proofs use it to record, delay and lose calls. Its clock is an
 * ordinary one that it sleeps by, and does not rule the store, also where it is not the real one. Not public.
 */
export let createDulyOn: (options: DulyOptions, openStore: () => Promise<Store>) => Duly;

/**
 * Duly: keeps promises about the future. Creating one costs nothing and touches no store; the store is opened by the first call
 * that needs it.
 *
 * ```ts
 * const duly = new Duly({ store: 'sqlite:./duly.db', app: 'studio' });
 * const hello = duly.task({ name: 'hello', run: async ({ input }) => `Hello ${input}` });
 * await hello.in('3 days', 'Ada');
 * await duly.start();
 * ```
 */
export class Duly {
  /** Dead letters: FAILED jobs that wait for a person. */
  readonly dead: DeadLetters;
  /** Schedules: reading them and their ledger, and changing them. */
  readonly schedules: Schedules;
  /** Small settings of programs around Duly, by kind and key. */
  readonly records: Records;
  /** The lease protocol for workers that are not this library: in other languages, over HTTP. */
  readonly remote: RemoteWorkers;
  /** Locks that are renewed and given back by hand; `lock` does both by itself. */
  readonly locks: Locks;

  readonly #options: ResolvedOptions;
  readonly #ids: Ids;
  readonly #events = createEvents<DulyEvents>((error) =>
    this.#options.logger.error({ error }, 'A listener of an event threw.'),
  );
  readonly #registry: TaskRegistry;
  readonly #expiring: ExpiringSets;
  readonly #coordination: Coordination;
  /** Aborted, with the error `stopped`, from when on no more calls are taken. */
  readonly #closed = new AbortController();
  readonly #jobs: Jobs;
  readonly #nodeId: string;
  readonly #acting = new AsyncLocalStorage<string>();
  readonly #virtual: boolean;
  readonly #access: StoreAccess;
  #node: DulyNode | null = null;
  #starting: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;
  #offSignals: () => void = () => {};

  static {
    internalsOf = (duly) => ({ node: duly.#node, jobs: duly.#jobs });
    createDulyOn = (options, openStore) => new Duly(options, openStore);
  }

  constructor(options?: DulyOptions);
  /** @internal See `createDulyOn`. */
  constructor(options: DulyOptions | undefined, openStore: () => Promise<Store>);
  constructor(options?: DulyOptions, openGiven?: () => Promise<Store>) {
    this.#options = resolveOptions(options);
    const { clock, random } = this.#options;
    const actor = (): string => this.#actor();
    // A clock other than the real one rules the store too: every call carries its instant.
    this.#virtual = clock !== systemClock && openGiven === undefined;
    this.#ids = createIds({ clock, random });
    this.#access = new StoreAccess({
      options: this.#options,
      virtual: this.#virtual,
      openGiven: openGiven ?? null,
      events: this.#events,
      actor,
      closed: this.#closed.signal,
    });
    this.#nodeId = this.#ids.newId('node');
    this.#jobs = createJobs({
      session: () => this.#access.open(),
      clock,
      actor,
      ids: this.#ids,
      virtual: this.#virtual,
    });
    this.#registry = new TaskRegistry({
      options: this.#options,
      createTask: (resolved) => this.#createTask(resolved),
      onDefined: () => this.#node?.wake(),
      onError: (error, doing) => this.#events.emit('error', { error, doing }),
    });
    const engine = this.#engine;
    this.#expiring = new ExpiringSets({ engine, actor, ids: this.#ids, registry: this.#registry });
    this.#coordination = createCoordination({
      engine,
      clock,
      ids: this.#ids,
      node: this.#nodeId,
      // On virtual time renewals must go through the instrumented engine, which sets the instant.
      renewals: () => (this.#virtual ? null : (this.#access.store?.locks ?? null)),
      maxSleepMs: () => this.#node?.maxSleepMs() ?? 0,
      closed: this.#closed.signal,
      onError: (error, doing) => this.#events.emit('error', { error, doing }),
    });
    this.locks = this.#coordination.locks;
    this.dead = new DeadLetters((filter) => this.jobs(filter));
    this.schedules = new Schedules({
      engine,
      clock,
      random,
      actor,
      app: this.#options.app,
      release: this.#options.release,
      node: this.#nodeId,
      ids: this.#ids,
      inputBytesMax: this.#options.inputBytesMax,
      tasks: this.#registry.resolved,
      declared: () => this.#registry.declared,
      handle: (id) => this.job(id),
      onError: (error, doing) => this.#events.emit('error', { error, doing }),
    });
    this.remote = createRemoteWorkers({
      engine,
      clock,
      random,
      ids: this.#ids,
      leaseMs: this.#options.leaseMs,
      heartbeatMs: this.#options.heartbeatMs,
      maxSleepMs: () => this.#node?.maxSleepMs() ?? 0,
      closed: this.#closed.signal,
    });
    this.records = createRecords({ engine, actor });
    this.#events.on('job.settled', ({ id }) => this.#jobs.noticed(id));
    this.#events.on('job.reaped', ({ id }) => this.#jobs.noticed(id));
    this.#logTrouble();
  }

  // ----------------------------------------------------------------------------------------- tasks, jobs

  /** Defines a task. Its jobs can be created at once; they run on every node that has defined it too and was started. */
  task<Schema extends StandardSchema | undefined = undefined, Result = unknown>(
    options: TaskOptions<Schema, Result>,
  ): Task<TaskInput<Schema>, Awaited<Result>> {
    const resolved = resolveTask(options as TaskOptions<StandardSchema | undefined, unknown>, () =>
      callerFileOf(this.task),
    );
    refuseReservedName(resolved.name, options);
    this.#registry.declare(resolved, options.every as Declared | undefined);
    return this.#registry.define(resolved) as Task<TaskInput<Schema>, Awaited<Result>>;
  }

  /** The address of the store, as it was given; of one behind a pool, where that leads, as far as it tells. */
  get store(): string {
    const { store } = this.#options;
    return typeof store === 'string' ? store : placeOfPool(store.pool, store.schema ?? defaultSchema);
  }

  /** The tasks defined here, by name. */
  get tasks(): ReadonlyMap<string, Task> {
    return this.#registry.calls;
  }

  /**
   * The task of this name, to create jobs of: with its own defaults and schema if it is defined here, else with those that every task
   * begins with. Naming one does not make this process run its jobs. Throws `invalid_task`.
   */
  taskNamed(name: string): Task {
    return this.#registry.named(name);
  }

  /**
   * Runs `fn` in the name of this actor: whatever it does to jobs and schedules through this Duly, at any depth of awaits, is
   * recorded as done by them. For servers, which act for others.
   */
  as<Value>(actor: string, fn: () => Value): Value {
    return this.#acting.run(readName(actor, 'actor'), fn);
  }

  /** A new id for a job that is created later, perhaps by a call that is repeated: see `id` of its options. */
  newJobId(): string {
    return this.#ids.jobId();
  }

  /** The handle of a job, by its id. Reads nothing yet; `get()` and the others do. */
  job<Input = unknown, Result = unknown>(id: string): JobHandle<Input, Result> {
    return new JobHandle<Input, Result>(this.#jobs, { id: readJobId(id) });
  }

  /** The jobs that match: read them by `page()`, one by one with `for await`, or act on all of them. */
  jobs(filter?: JobsFilter): JobQuery {
    return new JobQuery(this.#engine, this.#actor(), filter);
  }

  /** The job that an id or a dedupe key names. Throws `job_not_found`. */
  find(reference: JobReference): Promise<Job> {
    return this.#jobs.find(reference);
  }

  /** Cancels the job that an id or a dedupe key names. A running one is asked. */
  cancel(reference: JobReference, options?: CancelOptions): Promise<JobChange> {
    return this.#jobs.cancel(reference, options);
  }

  /** Moves the waiting job that an id or a dedupe key names to another instant. */
  reschedule(reference: JobReference, due: NewDue): Promise<JobChange> {
    return this.#jobs.reschedule(reference, due);
  }

  /** Brings a FAILED, CANCELLED or EXPIRED job back. */
  retry(id: string, note?: string): Promise<JobChange> {
    return this.#jobs.retry(id, note);
  }

  /** What became of a job, or what it waits for and when it should start: a sentence, and the same for programs. */
  why(job: string | { id: string }): Promise<Why>;
  /**
   * What became of a slot of a schedule and why, or what is to become of it. The slot is an instant, or a wall time in the schedule's
   * zone: `'2027-03-14T02:30'`.
   */
  why(schedule: ScheduleReference, slot: Date | number | string): Promise<SlotWhy>;
  why(
    of: string | { id: string } | ScheduleReference,
    slot?: Date | number | string,
  ): Promise<Why | SlotWhy> {
    if (slot !== undefined) return this.schedules.why(of as ScheduleReference, slot);
    return this.#jobs.why(typeof of === 'string' ? of : (of as { id: string })?.id);
  }

  /** Stops starting jobs of a queue, of a type, or at all. They are still accepted; what runs goes on. */
  async pause(target: PauseTarget, options?: PauseOptions): Promise<Pause> {
    return (await this.#pauses()).pause(target, options);
  }

  /** Ends a pause; false: there was none. */
  async resume(target: PauseTarget): Promise<boolean> {
    return (await this.#pauses()).resume(target);
  }

  /** The pauses in force. */
  async pauses(): Promise<Pause[]> {
    return (await this.#pauses()).list();
  }

  // ---------------------------------------------------------------------------------------- coordination

  /**
   * Runs `fn` while nobody else in the store runs under the same name. Answers `{ acquired: false, holder, until }` when
   * somebody does, at once or after `wait`.
   */
  lock<Value>(
    name: string,
    options: LockOptions | undefined,
    fn: (context: LockContext) => Value | Promise<Value>,
  ): Promise<LockResult<Value>> {
    return withLock(this.#coordination.deps(), name, options, fn);
  }

  /** Stands for election under this name until it resigns or the Duly stops. At most one process leads at a time. */
  leader(name: string, options?: LeaderOptions): Leadership {
    return this.#coordination.leader(name, options);
  }

  /** Runs `fn` until its result is recorded under this key in the whole store; then everybody is given that result. */
  once<Value>(
    key: string,
    options: OnceOptions | undefined,
    fn: (context: LockContext) => Value | Promise<Value>,
  ): Promise<Value> {
    return onceInStore(this.#coordination.deps(), key, options, fn);
  }

  /** Values that end by themselves, with a clean-up that runs at least once. The same name gives the same values. */
  expiring<Value = unknown>(name: string, options?: ExpiringOptions<Value>): Expiring<Value> {
    return this.#expiring.named(name, options);
  }

  // --------------------------------------------------------------------------------------------- looking

  /** The instant by the store's clock, which is the one that decides: this machine's may be wrong. */
  async storeNow(): Promise<Date> {
    const engine = await this.#engine();
    return new Date((await engine.getExpiring({ keys: [] })).now);
  }

  /**
   * When something falls due next: a job of the tasks that are defined here, in these queues, and a schedule; null: none does. An instant that is past
   * waits for somebody to take it. For programs that come and go.
   */
  async nextDue({ queues = null }: { queues?: readonly string[] | null } = {}): Promise<{
    now: Date;
    job: Date | null;
    schedule: Date | null;
    /** Whether the node of this Duly has work in hand, or is about to. */
    busy: boolean;
  }> {
    const due = await readNextDue(await this.#engine(), {
      node: this.#nodeId,
      token: this.#ids.newId('claim'),
      tasks: [...this.#registry.resolved.values()],
      queues,
    });
    // After the answers: what was taken since then is in hand, or was still due in them.
    const busy = !(this.#node?.isIdle() ?? true);
    return { ...due, busy };
  }

  /** Outcomes of attempts in this process that the store has not recorded yet. While there are many, the node takes no work. */
  unrecordedCount(): number {
    return this.#node?.unrecordedCount() ?? 0;
  }

  /** How many jobs are in each status, what waits in which queue, and who is busy with what, at an instant of the store. */
  counts(): Promise<Counts> {
    return readCounts(this.#engine);
  }

  /** The queues that are known, what is ready in each, and which pause holds it. */
  async queues(): Promise<QueueList> {
    return listQueues(...(await Promise.all([this.counts(), this.nodes(), this.pauses()])));
  }

  /** The jobs that wait for their time and fall due next: how many in each step of time, and the earliest by themselves. */
  upcoming(options?: UpcomingOptions): Promise<Upcoming> {
    return readUpcoming(this.#engine, options);
  }

  /** What became of the jobs that ended since an instant, by type, with the usual durations. */
  stats(options: StatsOptions): Promise<TypeStats[]> {
    return readStats(this.#engine, options);
  }

  /**
   * What ended in each of `count` steps of time, oldest first. What it costs does not grow with the store: a step in which more than a thousand
   * jobs ended is sampled and says so.
   */
  trend(options: TrendOptions): Promise<TrendStep[]> {
    return readTrend(this.#engine, options);
  }

  /**
   * Plays every schedule forward on the planner, with durations drawn from what its runs took: the load, the workers it needs, collisions,
   * schedules that run into themselves, changes of the clock, and the jitter that would lower the peak. Changes nothing.
   */
  forecast(options?: ForecastOptions): Promise<Forecast> {
    return readForecast(this.#engine, options);
  }

  /**
   * Whether promises are kept now: the store answers and confirms writes, somebody is there for every role, what is ready is taken and slots
   * are decided in time. Never throws; each question is given up after `patience` (default 5 s).
   */
  health(options?: HealthCallOptions): Promise<Health> {
    const how = readHealthOptions(options);
    const { clock } = this.#options;
    return readHealth({ open: this.#engine, clock, actor: this.#actor(), ids: this.#ids, ...how });
  }

  /** The live nodes of the store. */
  nodes(): Promise<NodeView[]> {
    return readNodes(this.#engine);
  }

  /** Asks a node to take no more work, by its id; it hears of it with its next heartbeat. Throws `node_not_found`. */
  drainNode(id: string): Promise<void> {
    return drainNode(this.#engine, id, this.#actor());
  }

  /** Who did what to jobs and schedules, newest first. */
  audit(options?: AuditOptions): Promise<AuditEntry[]> {
    return readAudit(this.#engine, options);
  }

  /**
   * What happens to jobs, by whatever process: page after page, in order, without gaps, from now on or from a place where one left off.
   * The first page comes at once and names the place, also when nothing has changed. Any number of readers cost the store what one
   * costs; one that is slow misses nothing. It ends when the signal is aborted, or with this Duly.
   *
   * ```ts
   * for await (const { changes, position, gap } of duly.changes({ after })) { … }
   * ```
   */
  changes(options?: ChangesOptions): AsyncIterableIterator<ChangesPage> {
    return readChanges(options, async () => (await this.#access.open()).feed);
  }

  /** Calls of each verb of the store so far; for tests and metrics. */
  calls(): Record<EngineVerb, number> | null {
    return this.#access.session?.instrumented.counts() ?? null;
  }

  // -------------------------------------------------------------------------------------------- its life

  /** Opens the store now instead of with the first call, and tells about it. Throws what is wrong with it. */
  async open(): Promise<EngineInfo> {
    return (await this.#access.open()).engine.info();
  }

  /** Listens to what happens until the returned function is called. */
  on<Name extends keyof DulyEvents>(name: Name, listener: EventListener<DulyEvents[Name]>): () => void {
    return this.#events.on(name, listener);
  }

  /** Resolves with the next event of this name that fits. */
  next<Name extends keyof DulyEvents>(
    name: Name,
    fits?: (event: DulyEvents[Name]) => boolean,
  ): Promise<DulyEvents[Name]> {
    return this.#events.next(name, fits);
  }

  /**
   * Starts a node in this process: it runs jobs of the tasks defined here and keeps the store in order. In the thread of an
   * isolated task, which loads the module that defines the task a second time, it starts nothing and never returns, so that what stands
   * after it happens once.
   */
  async start(options?: StartOptions): Promise<void> {
    const start = resolveStart(options, this.#options);
    if (isIsolateThread()) return blockForever();
    if (this.#stopping !== null) throw stoppedError();
    if (this.#starting !== null) {
      throw dulyError('already_started', {
        message: 'This Duly was started already.',
        hint: 'Call start() once; tasks that are defined later are taken up by themselves.',
      });
    }
    this.#starting = this.#startNode(start).catch((error: unknown) => {
      // A store that could not be opened may be there the next time.
      this.#starting = null;
      throw error;
    });
    await this.#starting;
  }

  /**
   * Stops: takes no more work, lets what runs finish until the drain limit, gives the rest back unspent, and closes the store.
   * A stopped Duly takes no more calls. A second call waits for the first, and with `drain: 0` ends its waiting.
   */
  stop(options?: StopOptions): Promise<void> {
    const drainMs = resolveStop(options, this.#options);
    if (this.#stopping === null) this.#stopping = this.#stop(drainMs);
    else if (drainMs === 0) this.#node?.abortDrain();
    return this.#stopping;
  }

  /** Stops, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // ---------------------------------------------------------------------------------------------- inside

  #createTask(resolved: ResolvedTask): Task {
    return createTask<unknown, unknown>(resolved, {
      session: () => this.#access.open(),
      expect: () => this.#access.store?.expect?.(),
      jobs: this.#jobs,
      schedules: this.schedules,
      ids: this.#ids,
      inputBytesMax: this.#options.inputBytesMax,
      tracing: this.#options.tracing,
    });
  }

  /** Who acts now: whom `as` names, or this Duly itself. */
  #actor(): string {
    return this.#acting.getStore() ?? this.#options.actor;
  }

  /** The engine, once the store is open. */
  readonly #engine = async (): Promise<Engine> => (await this.#access.open()).engine;

  async #startNode(start: ReturnType<typeof resolveStart>): Promise<void> {
    const session = await this.#access.open();
    const node = await createNodeOn({
      id: this.#nodeId,
      access: this.#access,
      session,
      ids: this.#ids,
      options: this.#options,
      start,
      registry: this.#registry,
      events: this.#events,
      virtual: this.#virtual,
    });
    if (start.roles.includes('scheduler')) await this.#applyDeclared(node);
    // Known before it starts: a task that is defined meanwhile must wake it.
    this.#node = node;
    await node.start().catch((error: unknown) => {
      this.#node = null;
      throw error;
    });
    session.claimSource = node;
    if (start.signals) {
      this.#offSignals = listenForSignals({
        isStopping: () => this.#stopping !== null,
        stop: (options) => this.stop(options),
        onError: (error) => this.#options.logger.error({ error }, 'Duly could not stop.'),
      });
    }
    // On virtual time nobody fills in forms.
    if (start.roles.includes('worker') && !this.#virtual) this.#keepForms();
    this.#events.emit('started', { node: node.id });
  }

  async #applyDeclared(node: DulyNode): Promise<void> {
    // Said before anything is compared: of two that start at the same moment, the one that declares less must know of the other.
    await node.announce();
    await this.schedules.apply().catch(async (error: unknown) => {
      await node.withdraw().catch(() => {});
      throw error;
    });
    this.#registry.onDeclaredLate = () => {
      // After the task is defined, in this very turn: its input is checked by its schema.
      void Promise.resolve()
        .then(() => node.announce())
        .then(() => this.schedules.apply())
        .catch((error: unknown) =>
          this.#events.emit('error', { error, doing: 'applying declared schedules' }),
        );
    };
  }

  #keepForms(): void {
    const own = [...this.#registry.resolved.values()].filter(({ name }) => !name.startsWith(builtInPrefix));
    keepTaskForms(this.records, own).catch((error: unknown) => {
      if (this.#stopping === null)
        this.#events.emit('error', { error, doing: 'telling what inputs look like' });
    });
  }

  /** Logs what failed, and an outage of the store once; leaves a store that was moved. */
  #logTrouble(): void {
    const outages = createOutageLog({ clock: this.#options.clock, logger: this.#options.logger });
    this.#events.on('call', ({ ok }) => {
      if (ok) outages.answered();
    });
    this.#events.on('error', ({ error, doing }) => {
      if (isDulyError(error, 'store_moved')) this.#leave(error);
      else if (isStoreTrouble(error)) outages.failed(error, doing);
      else this.#options.logger.warn({ error, doing }, `Duly failed at ${doing} and tries again.`);
    });
  }

  /** The store is elsewhere: what runs here counts no more, and nothing can be given back. */
  #leave(error: DulyError): void {
    if (this.#node === null || this.#stopping !== null) return;
    this.#options.logger.error({ error }, 'The store was moved, so this node stops.');
    this.#events.emit('moved', { error, to: String(error.details.other) });
    void this.stop({ drain: 0 }).catch(() => {});
  }

  async #stop(drainMs: number): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#access.settled();
    if (this.#access.session !== null) this.#access.session.claimSource = null;
    // Handlers that finish during the drain may still make jobs and take locks, so calls are refused only after it.
    const sinceElapsed = this.#options.clock.elapsed();
    await this.#node?.stop(drainMs);
    const reason = stoppedError();
    const leftMs = drainMs - (this.#options.clock.elapsed() - sinceElapsed);
    await this.#coordination.stop(Math.max(0, leftMs), reason);
    this.#closed.abort(reason);
    this.#jobs.close(reason);
    this.#access.session?.feed.close(null);
    await this.#access.session?.drained();
    await this.#access.session?.engine.close();
    this.#offSignals();
    this.#events.emit('stopped', {});
  }

  async #pauses(): Promise<Pauses> {
    const actor = this.#actor();
    return createPauses(await this.#engine(), actor);
  }
}
