/** Plays one simulated world from its script, and hands back its history. */

import { isDulyError } from '../../packages/core/src/base/errors.ts';
import type { Engine } from '../../packages/core/src/contract/engine.ts';
import { isTerminal, jobStatuses } from '../../packages/core/src/contract/job-status.ts';
import type { Expiring } from '../../packages/core/src/coordination/expiring.ts';
import type { Duly } from '../../packages/core/src/duly.ts';
import { openSqliteEngine } from '../../packages/core/src/engines/sqlite/engine.ts';
import type { JobHandle } from '../../packages/core/src/jobs/job-handle.ts';
import type { DedupeOptions } from '../../packages/core/src/jobs/job-options.ts';
import { pauseKey } from '../../packages/core/src/jobs/pauses.ts';
import type { TriggerResult } from '../../packages/core/src/schedules/schedule-options.ts';
import { isStoreTrouble } from '../../packages/core/src/store/batcher.ts';
import type { Task } from '../../packages/core/src/tasks/task.ts';
import {
  type Asked,
  type Evidence,
  type HistoryEvent,
  readFinalState,
  readLineCounts,
  type WriteEvent,
} from '../history.ts';
import type { Script, Step } from './script.ts';
import { beginWhenFree, type MutateHeartbeats, SimNode } from './sim-node.ts';
import { openPooledDatabase } from './store-pool.ts';
import { type TaskInput, valuesOf } from './tasks.ts';
import { createWorldFile, UserTransactions } from './user-transactions.ts';
import { calm, type SharedStore, type Weather } from './wire.ts';
import { createDice, Restless, World } from './world.ts';

/** How a world is played. */
export interface SimulateOptions {
  /** Puts a defect between the nodes and the store. */
  mutate?(engine: Engine): Engine;
  /** Puts a defect into every node: the history keeps what it sends. */
  mutateNode?(engine: Engine): Engine;
  /** Puts a defect into how every node renews its leases. */
  mutateHeartbeats?: MutateHeartbeats;
  /** Opens the store of a world. Default: SQLite, in memory or in a file. */
  open?(setting: WorldSetting): Promise<OpenedWorld>;
  /** After so many events a world is taken not to come to rest. */
  eventCountMax?: number;
}

/** The world that a store is opened for. */
export interface WorldSetting {
  script: Script;
  world: World;
  write: WriteEvent;
}

/** The store of a world. */
export interface OpenedWorld {
  store: SharedStore;
  /** Reads the store past every fault. */
  raw: Engine;
  /** Until then a node may sleep because a notification was lost. */
  disconnectedUntilElapsed?(): number;
  close(): Promise<void>;
}

// Long enough for calls that are on their way, and for what must happen within five seconds.
const healMs = 6_000;
// So long a world may take until no schedule is overdue: leases end, are reaped and run again, and a node that no notification reaches looks by itself.
const settleMsMax = 31_000;
// A node sleeps by its monotonic clock, so after a jump of the store's it may be this late.
const longestSleepMs = 31_000;
// A line of slow runs is waited for; a world that does not come to rest by then is broken.
const drainMsMax = 900_000;
const drainStepMs = 4_000;
const dayMs = 86_400_000;
// Long enough to see that schedules go on after the faults.
const pauseAfterMs = 10_000;
// Long enough that every schedule that is overdue or waits for a run could go on.
const pauseAllAfterMs = 60_000;
/** The dedupe key of all calls. */
const dedupeKey = 'k';
const unfinished = jobStatuses.filter((status) => !isTerminal(status));

/** Plays a script. The same script gives the same history, byte for byte. */
export async function simulate(script: Script, options: SimulateOptions = {}): Promise<Evidence> {
  const play = new Play(script, options);
  try {
    return await play.run();
  } finally {
    await play.close();
  }
}

class Play {
  readonly script: Script;
  readonly options: SimulateOptions;
  readonly events: HistoryEvent[] = [];
  readonly world: World;
  readonly dice;
  readonly nodes: SimNode[] = [];
  store!: SharedStore;
  #raw!: Engine;
  #opened: OpenedWorld | null = null;
  #weather: Weather = calm;
  #weatherCount = 0;
  #callCount = 0;
  #nodeCount = 0;
  #valueCount = 0;
  #jumpedElapsed = Number.NEGATIVE_INFINITY;
  /** Until then a node may sleep because a notification was lost. */
  #disconnectedUntilElapsed = Number.NEGATIVE_INFINITY;
  /** Jobs that were acknowledged, in order, for acts on jobs. */
  readonly #jobs: string[] = [];

  constructor(script: Script, options: SimulateOptions) {
    this.script = script;
    this.options = options;
    this.world = new World(script.startAt, options.eventCountMax);
    this.dice = createDice(script.seed * 7 + 3);
  }

  async run(): Promise<Evidence> {
    const { world, script } = this;
    const write = (event: HistoryEvent): void => void this.events.push(event);
    const open = this.options.open ?? ((setting) => openSqlite(setting, this.options));
    this.#opened = await open({ script, world, write });
    this.#raw = this.#opened.raw;
    this.store = this.#opened.store;
    for (const [place, node] of script.nodes.entries()) this.#startNode(place, node.release);
    for (const step of script.steps) world.after(null, step.atMs, () => this.#act(step));
    const restless = await this.#live();
    const scheduleIds = this.events.flatMap((event) => (event.kind === 'applied' ? [event.scheduleId] : []));
    const read = await readFinalState(this.#raw, scheduleIds, world.storeAt());
    const lineCounts = await readLineCounts(this.#raw, this.events);
    const own = this.store.user === null ? {} : { own: this.store.user.rows() };
    const final = { ...read, lineCounts, ...own };
    const evidence = { events: this.events, final, isComplete: true };
    // Ended by force, whatever is still due proves nothing.
    return restless === null ? { ...evidence, isSettled: true } : { ...evidence, isSettled: false, restless };
  }

  /** The script, the end of all faults, and the way to rest; answers with why there was none, or null. */
  async #live(): Promise<string | null> {
    const { world, script } = this;
    try {
      await world.run(script.lastsMs);
      this.#heal();
      const untilElapsed = Math.max(
        world.elapsed + settleMsMax,
        this.#jumpedElapsed + longestSleepMs,
        this.#disconnectedUntilElapsed,
        this.#opened?.disconnectedUntilElapsed?.() ?? 0,
      );
      await world.run(world.elapsed + healMs);
      await this.#drain(untilElapsed);
      return null;
    } catch (error) {
      if (error instanceof Restless) return error.message;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const node of this.nodes) node.thread.isDead = node.isDead = true;
    await this.#opened?.close();
  }

  // ------------------------------------------------------------------------------------------------ nodes

  #startNode(place: number, release: string | null, isExtra = false): SimNode {
    const shape = this.script.nodes[place % this.script.nodes.length] as Script['nodes'][number];
    const number = this.#nodeCount++;
    const node = new SimNode({
      name: `n${number}`,
      place,
      world: this.world,
      dice: this.dice,
      store: this.store,
      weather: () => this.#weather,
      write: (event) => this.events.push(event),
      seed: this.script.seed * 1_000 + number,
      roles: isExtra ? ['scheduler', 'worker', 'maintenance'] : shape.roles,
      concurrency: shape.concurrency,
      queues: shape.queues ?? null,
      versionOf: shape.versionOf ?? {},
      leaseMs: this.script.leaseMs,
      release,
      declared: (release === null ? undefined : this.script.declared[release]) ?? {},
      wallOffsetMs: 0,
      ...(this.options.mutateNode === undefined ? {} : { mutate: this.options.mutateNode }),
      ...(this.options.mutateHeartbeats === undefined
        ? {}
        : { mutateHeartbeats: this.options.mutateHeartbeats }),
      onDead: () => {
        // What crashed by the weather comes back as a supervisor would bring it back.
        if (!isExtra)
          this.world.after(null, 1_000 + this.dice.below(8_000), () => this.#revive(place, release));
      },
    });
    this.nodes.push(node);
    node.start();
    return node;
  }

  #revive(place: number, release: string | null): void {
    const isThere = this.nodes.some((node) => node.place === place && !node.isDead);
    if (!isThere) this.#startNode(place, release);
  }

  #alive(by: number): SimNode | null {
    const alive = this.nodes.filter((node) => !node.isDead && !node.isPaused && !node.isStopping);
    return alive[by % Math.max(1, alive.length)] ?? null;
  }

  // ------------------------------------------------------------------------------------------------- acts

  #act(step: Step): void {
    const node = this.#alive(step.by);
    const { world } = this;
    switch (step.do) {
      case 'crash':
        node?.crash('by the script');
        return;
      case 'restart':
        node?.stop();
        return;
      case 'freeze':
        node?.pause();
        if (node !== null) world.after(null, step.forMs, () => node.resume());
        return;
      case 'block':
        if (node?.block() !== true) return;
        this.#fault(node.name, 'blocked', step.forMs, node.name);
        world.after(null, step.forMs, () => node.unblock());
        return;
      case 'nodeClock':
        if (node === null) return;
        node.wallOffsetMs += step.byMs;
        this.#fault(node.name, 'node-clock-jump', undefined, `${step.byMs} ms`);
        return;
      case 'storeClock': {
        const fromAt = world.storeAt();
        world.jumpedMs += step.byMs;
        this.#jumpedElapsed = world.elapsed;
        this.events.push({
          kind: 'fault',
          at: fromAt,
          node: '*',
          fault: 'store-clock-jump',
          untilAt: world.storeAt() + longestSleepMs,
          detail: `${step.byMs} ms`,
        });
        return;
      }
      case 'refuse':
        this.store.isRefusing = true;
        this.#fault('*', 'store-refuses', step.forMs);
        world.after(null, step.forMs, () => {
          this.store.isRefusing = false;
        });
        return;
      case 'weather': {
        const number = ++this.#weatherCount;
        this.#weather = step.weather;
        if (step.weather.notificationLost > 0) {
          this.#fault('*', 'notifications-lost', step.forMs + longestSleepMs);
          const disconnectedUntilElapsed = world.elapsed + step.forMs + longestSleepMs;
          this.#disconnectedUntilElapsed = Math.max(this.#disconnectedUntilElapsed, disconnectedUntilElapsed);
        }
        world.after(null, step.forMs, () => {
          if (this.#weatherCount === number) this.#weather = calm;
        });
        return;
      }
      case 'deploy': {
        // In a place of its own, shaped like the first: it does not stand in for a node that a supervisor must restart.
        const extra = this.#startNode(this.script.nodes.length, step.release, true);
        world.after(null, step.forMs, () => extra.stop());
        return;
      }
      default:
        if (node !== null) this.#ask(node, step);
    }
  }

  #fault(node: string, fault: string, forMs?: number, detail?: string): void {
    const at = this.world.storeAt();
    this.events.push({
      kind: 'fault',
      at,
      node,
      fault,
      ...(forMs === undefined ? {} : { untilAt: at + forMs }),
      ...(detail === undefined ? {} : { detail }),
    });
  }

  /** Makes a public call on a node, and writes down what was asked and answered. */
  #ask(node: SimNode, step: Step): void {
    const { duly } = node;
    // A negative one counts from the end.
    const job = (index: number): string | null =>
      this.#jobs.at(index % Math.max(1, this.#jobs.length)) ?? null;
    const call = (what: string, subject: string | null, run: () => Promise<unknown>): void =>
      this.#call(node, what, subject, run);
    const now = this.world.storeAt();
    switch (step.do) {
      case 'create':
        this.#create(node, step);
        return;
      case 'cancel':
      case 'retry':
      case 'terminate':
      case 'delete':
      case 'reschedule': {
        const id = job(step.job);
        if (id === null) return;
        if (step.do === 'reschedule') {
          call(step.do, id, () => duly.reschedule({ id }, { in: step.delayMs }));
        } else if (step.do === 'cancel') call(step.do, id, () => duly.cancel({ id }));
        else if (step.do === 'retry') call(step.do, id, () => duly.retry(id));
        else if (step.do === 'terminate') call(step.do, id, () => duly.jobs({ ids: [id] }).terminate());
        else call(step.do, id, () => duly.jobs({ ids: [id] }).delete());
        return;
      }
      case 'cancelKey': {
        const { task: type, tenant } = step;
        const reference = { type, key: dedupeKey, ...(tenant === null ? {} : { tenant }) };
        call(step.do, null, () => duly.cancel(reference));
        return;
      }
      case 'put':
        call(step.do, step.definition.name ?? null, () => duly.schedules.put(step.definition));
        return;
      case 'lock':
        call(step.do, null, () =>
          duly.lock(step.name, { ttl: step.ttlMs }, ({ signal }) => node.clock.sleep(step.ms, signal)),
        );
        return;
      case 'acquire':
        call(step.do, null, () => acquire(node, step, `token-${this.#callCount}`));
        return;
      case 'transact':
        call(step.do, null, () => this.#transact(node, step));
        return;
      case 'once':
        call(step.do, `once/${step.key}`, () => this.#once(node, step));
        return;
      case 'value':
        call(step.do, `v/${step.key}`, () => operateValue(valuesOf(duly), step, ++this.#valueCount));
        return;
      case 'pauseClaims':
        call(step.do, pauseKey(step.target), () => duly.pause(step.target, { until: now + step.forMs }));
        return;
      case 'resumeClaims':
        call(step.do, pauseKey(step.target), () => duly.resume(step.target));
        return;
      default:
        if ('schedule' in step) {
          const name = `s${step.schedule}`;
          const input: TaskInput = { call: this.#callCount + 1, ms: 500, failures: 0 };
          const isOwn = step.do === 'trigger' && step.hasInput;
          const own = isOwn ? { input } : {};
          const wants = isOwn ? { input: JSON.stringify(input), inMs: null, dueAt: null } : undefined;
          this.#call(node, step.do, name, () => operate(duly, name, step, now, own), wants);
        }
    }
  }

  /** Makes jobs in a transaction of the user's own, which ends as the script says, or with the node. */
  async #transact(node: SimNode, step: Extract<Step, { do: 'transact' }>): Promise<void> {
    const { user } = this.store;
    const task = node.duly.tasks.get('quick');
    if (user === null || task === undefined) return;
    const transaction = await beginWhenFree(user, node);
    try {
      for (let i = 0; i < step.count; i++) {
        const input: TaskInput = { call: null, ms: 0, failures: 0 };
        const options = step.isKeyed && i === 0 ? { dedupe: { key: dedupeKey } } : {};
        const { id, deduped } = await task.now(input, { tx: transaction.db, ...options });
        if (!deduped) user.note(transaction, 'created', [id]);
      }
      await node.clock.sleep(step.forMs);
      if (step.end === 'crash') node.crash('inside a transaction');
    } finally {
      if (step.end === 'commit') user.commit(transaction);
      else user.rollBack(transaction);
    }
  }

  async #once(node: SimNode, { key, ms }: Extract<Step, { do: 'once' }>): Promise<void> {
    const note = (state: 'ran' | 'given', value: string): void => {
      this.events.push({ kind: 'once', at: this.world.storeAt(), node: node.name, key, state, value });
    };
    const given = await node.duly.once(key, { ttl: 3_000 }, async ({ fence }) => {
      note('ran', JSON.stringify(fence));
      await node.clock.sleep(ms);
      return fence;
    });
    note('given', JSON.stringify(given));
  }

  #create(node: SimNode, step: Extract<Step, { do: 'create' }>): void {
    const task = node.duly.tasks.get(step.task);
    if (task === undefined) return;
    for (let i = 0; i < step.count; i++) {
      const input: TaskInput = { call: this.#callCount + 1, ms: step.ms, failures: step.failures };
      const { delayMs } = step;
      const given = {
        ...(step.serial === null ? {} : { serial: step.serial }),
        ...(step.queue === null ? {} : { queue: step.queue }),
        ...(step.tenant === null ? {} : { tenant: step.tenant }),
        ...(step.priority === 0 ? {} : { priority: step.priority }),
      };
      const { attempts, timeoutMs } = step;
      const options = {
        ...given,
        ...(attempts === undefined ? {} : { retry: attempts }),
        ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
        ...(step.dedupe === null ? {} : { dedupe: dedupeOf(step.dedupe, step) }),
      };
      // Both calls of a pair name the same instant.
      const isInstant = step.twinMs !== undefined || (delayMs !== null && step.isInstant);
      const dueAt = isInstant ? this.world.storeAt() + (delayMs ?? 0) : null;
      const inMs = dueAt === null ? delayMs : null;
      const policy = {
        ...(attempts === undefined ? {} : { maxAttempts: attempts }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      };
      const wants = { input: JSON.stringify(input), inMs, dueAt, options: { ...given, ...policy } };
      const createOn = (by: SimNode, id: string | null): void => {
        const own = id === null ? options : { ...options, id };
        const task = by.duly.tasks.get(step.task) as Task;
        const create = (): Promise<unknown> => {
          if (dueAt !== null) return task.at(dueAt, input, own);
          return inMs === null ? task.now(input, own) : task.in(inMs, input, own);
        };
        this.#call(by, 'create', null, create, wants);
      };
      if (step.twinMs === undefined) createOn(node, null);
      else {
        const id = node.duly.newJobId();
        createOn(node, id);
        // As a client does that repeats a call without knowing what became of the first.
        this.world.after(null, step.twinMs, () => {
          const other = this.#alive(step.by + 1);
          if (other !== null) createOn(other, id);
        });
      }
    }
  }

  #call(
    node: SimNode,
    what: string,
    subject: string | null,
    run: () => Promise<unknown>,
    wants?: Asked['wants'],
  ): void {
    const call = ++this.#callCount;
    const { world, events } = this;
    const base = { node: node.name, call, what };
    const wanted = wants === undefined ? {} : { wants };
    events.push({ kind: 'asked', at: world.storeAt(), ...base, subject, ...wanted });
    run().then(
      (result) => {
        const at = world.storeAt();
        // A trigger that was merged or skipped made nothing.
        const isCreated = what === 'trigger' && (result as TriggerResult).result === 'created';
        if (isCreated) subject = (result as TriggerResult).job?.id ?? subject;
        if (isCreated && subject !== null) this.#jobs.push(subject);
        if (what !== 'create') {
          events.push({ kind: 'answered', at, ...base, outcome: 'acknowledged', subject });
          return;
        }
        const { id, dueAt, deduped } = result as JobHandle;
        this.#jobs.push(id);
        const due = deduped || dueAt === null ? {} : { dueAt: dueAt.getTime() };
        events.push({ kind: 'answered', at, ...base, outcome: 'acknowledged', subject: id, ...due });
      },
      (error: unknown) => {
        // What takes several calls may have been done though a later one of them was refused.
        const isUnknown =
          isDulyError(error, 'store_unavailable') ||
          isDulyError(error, 'stopped') ||
          (what !== 'create' && isStoreTrouble(error));
        const code = isDulyError(error) ? error.code : String(error);
        const outcome = isUnknown ? 'unknown' : 'refused';
        events.push({ kind: 'answered', at: world.storeAt(), ...base, outcome, subject, code });
      },
    );
  }

  // --------------------------------------------------------------------------------------------- the end

  /** Ends all faults; whoever is down comes up. */
  #heal(): void {
    this.#weather = calm;
    this.#weatherCount++;
    this.store.isRefusing = false;
    for (const node of this.nodes) {
      if (node.thread.isPaused) node.resume();
      else node.unblock();
    }
    for (const [place, { release }] of this.script.nodes.entries()) {
      if (!this.nodes.some((node) => node.place === place && !node.isDead)) this.#startNode(place, release);
    }
  }

  /**
   * Lets time pass until no job is due and unfinished and no schedule is overdue. Pauses the schedules that are due soon, and after a
   * while all: a schedule whose runs take longer than its period would never rest. An overdue schedule is not waited for beyond `schedulesUntilElapsed`: the checker
   * reports it.
   */
  async #drain(schedulesUntilElapsed: number): Promise<void> {
    const { world } = this;
    const untilElapsed = world.elapsed + drainMsMax;
    const askedOf = new Map<string, SimNode>();
    while (world.elapsed < untilElapsed) {
      const now = world.storeAt();
      const page = { cursor: null, limit: 1_000, now };
      const { schedules } = await this.#raw.schedules({ ...page, filter: {} });
      const { jobs } = await this.#raw.list({ ...page, filter: { status: unfinished } });
      const isOverdue = schedules.some(({ dueAt }) => dueAt !== null && dueAt <= now);
      const isWaiting = world.elapsed < schedulesUntilElapsed && isOverdue;
      if (!isWaiting && jobs.every(({ status, dueAt }) => dueAt > now && status !== 'BLOCKED')) return;
      // A job that ends its process may just have ended the last of them.
      const node = this.#alive(0);
      const drainedMs = world.elapsed - this.script.lastsMs;
      if (node !== null && drainedMs >= pauseAfterMs) {
        for (const { id, dueAt } of schedules) {
          const isDueSoon = dueAt !== null && dueAt > now && dueAt < now + pauseAfterMs;
          // A node that a job has ended meanwhile may not have paused it.
          if (askedOf.get(id)?.isDead === false || !(isDueSoon || drainedMs >= pauseAllAfterMs)) continue;
          askedOf.set(id, node);
          // With an end of its own: a pause that ends soon would keep its end.
          this.#call(node, 'pause', id, () => node.duly.schedules.pause({ id }, { until: now + dayMs }));
        }
      }
      await world.run(world.elapsed + drainStepMs);
    }
    // Not at rest although nothing was wrong any more: the checker says what hangs.
  }
}

async function openSqlite(
  { script, world, write }: WorldSetting,
  { mutate }: Pick<SimulateOptions, 'mutate'>,
): Promise<OpenedWorld> {
  // The store's clock is the world's: every call carries its instant, and the engine's own clock is asked nothing.
  const clock = world.clockOf({ name: 'store', isDead: false, isPaused: false, wallOffsetMs: 0 });
  const file = script.hasFile ? createWorldFile() : null;
  const path = file?.path ?? ':memory:';
  const pooled = script.hasFile ? {} : { opened: await openPooledDatabase() };
  const raw = await openSqliteEngine({ path, clock, ...pooled });
  const user = script.hasFile ? new UserTransactions(path, world, write) : null;
  const store = { engine: mutate?.(raw) ?? raw, isRefusing: false, user };
  return {
    store,
    raw,
    async close() {
      // Through the defect, where there is one: it undoes what it did.
      await store.engine.close();
      file?.remove();
    },
  };
}

async function operate(
  duly: Duly,
  name: string,
  step: Extract<Step, { schedule: number }>,
  now: number,
  own: { input?: TaskInput },
): Promise<unknown> {
  const { schedules } = duly;
  switch (step.do) {
    case 'pause':
      return schedules.pause(name, step.forMs === null ? {} : { until: now + step.forMs });
    case 'resume':
      return schedules.resume(name);
    case 'skipNext':
      return schedules.skipNext(name);
    case 'trigger':
      return schedules.trigger(name, { allow: step.allow, ...own });
    case 'backfill':
      return schedules.backfill(name, {
        from: now - step.backMs,
        to: now,
        concurrency: step.concurrency,
        reprocess: step.reprocess,
        allow: step.allow,
      });
    case 'edit':
      return schedules.edit(name, step.changes);
    case 'remove':
      return schedules.delete(name);
  }
}

// A call whose answer is lost is repeated so often.
const acquireCountMax = 6;

/** Asks for a lock until it is answered, and holds it for a while. */
async function acquire(
  { duly, clock }: SimNode,
  { name, ttlMs, ms }: Extract<Step, { do: 'acquire' }>,
  token: string,
): Promise<void> {
  for (let count = 1; ; count++) {
    try {
      const lock = await duly.locks.acquire(name, { ttl: ttlMs, token });
      if (!lock.acquired) return;
      await clock.sleep(ms);
      return await duly.locks.release(name, lock.fence);
    } catch (error) {
      if (count === acquireCountMax || !isStoreTrouble(error)) throw error;
      await clock.sleep(20);
    }
  }
}

async function operateValue(
  values: Expiring<number>,
  { op, key, forMs }: Extract<Step, { do: 'value' }>,
  value: number,
): Promise<unknown> {
  switch (op) {
    case 'put':
      return values.put(key, value, { for: forMs });
    case 'extend':
      return values.extend(key, { for: forMs });
    case 'delete':
      await values.delete(key);
      return values.get(key);
    case 'get':
      return values.get(key);
  }
}

function dedupeOf(
  mode: 'drop' | 'replace' | 'extend',
  { dedupeForMs, maxWaitMs }: Extract<Step, { do: 'create' }>,
): DedupeOptions {
  return {
    key: dedupeKey,
    mode,
    ...(dedupeForMs === null ? {} : { for: dedupeForMs }),
    ...(maxWaitMs === null || mode !== 'extend' ? {} : { maxWait: maxWaitMs }),
  };
}
