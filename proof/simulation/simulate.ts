/** Plays one simulated world from its script, and hands back its history. */
import type { Expiring } from '../../packages/core/src/coordination/expiring.ts';
import type { Duly } from '../../packages/core/src/duly.ts';
import type { Engine } from '../../packages/core/src/engine.ts';
import { openEngine } from '../../packages/core/src/engines/open.ts';
import { isDulyError } from '../../packages/core/src/errors.ts';
import { isTerminal, jobStatuses } from '../../packages/core/src/job.ts';
import type { JobHandle } from '../../packages/core/src/job-handle.ts';
import type { DedupeOptions } from '../../packages/core/src/job-options.ts';
import { pauseKey } from '../../packages/core/src/pauses.ts';
import { isStoreTrouble } from '../../packages/core/src/pipe.ts';
import type { TriggerResult } from '../../packages/core/src/schedule-options.ts';
import { type Asked, type Evidence, type HistoryEvent, readFinalState, readLineCounts } from '../history.ts';
import type { Script, Step } from './script.ts';
import { beginWhenFree, type MutateBeats, SimNode } from './sim-node.ts';
import { type TaskInput, valuesOf } from './tasks.ts';
import { makeWorldFile, UserTransactions } from './user-transactions.ts';
import { calm, type SharedStore, type Weather } from './wire.ts';
import { createDice, Restless, World } from './world.ts';

/** How a world is played. */
export interface SimulateOptions {
  /** Puts a defect between the nodes and the store. */
  mutate?(engine: Engine): Engine;
  /** Puts a defect into every node: the history keeps what it sends. */
  mutateNode?(engine: Engine): Engine;
  /** Puts a defect into how every node renews its leases. */
  mutateBeats?: MutateBeats;
  /** After so many events a world is taken not to come to rest. */
  eventCountMax?: number;
}

// Long enough for leases to end, be reaped and be run again, for backoffs, and for a node that no hint reaches to look by itself.
const healMs = 25_000;
// A node sleeps by its monotonic clock, so after a jump of the store's it may be this late.
const longestSleepMs = 31_000;
// A line of slow runs is waited for; a world that does not come to rest by then is broken.
const drainMsMax = 900_000;
const drainStepMs = 2_000;
const unfinished = jobStatuses.filter((status) => !isTerminal(status));
// A schedule whose runs take longer than its period never rests by itself.
const pauseAfterMs = 10_000;

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
  #file: ReturnType<typeof makeWorldFile> | null = null;
  #weather: Weather = calm;
  #weatherCount = 0;
  #callCount = 0;
  #nodeCount = 0;
  #valueCount = 0;
  #jumpedElapsed = Number.NEGATIVE_INFINITY;
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
    // The store's clock is the world's: every call carries its instant, and the engine's own clock is asked nothing.
    const clock = world.clockOf({ name: 'store', isDead: false, isPaused: false, wallOffsetMs: 0 });
    if (script.hasFile) this.#file = makeWorldFile();
    const path = this.#file?.path ?? ':memory:';
    this.#raw = await openEngine(`sqlite:${path}`, clock);
    const user = script.hasFile
      ? new UserTransactions(path, world, (event) => this.events.push(event))
      : null;
    this.store = { engine: this.options.mutate?.(this.#raw) ?? this.#raw, isRefusing: false, user };
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
      await world.run(Math.max(world.elapsed + healMs, this.#jumpedElapsed + longestSleepMs));
      await this.#drain();
      return null;
    } catch (error) {
      if (error instanceof Restless) return error.message;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const node of this.nodes) node.isDead = true;
    // Through the defect, where there is one: it undoes what it did.
    await (this.store?.engine ?? this.#raw)?.close();
    this.#file?.remove();
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
      ...(this.options.mutateBeats === undefined ? {} : { mutateBeats: this.options.mutateBeats }),
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

  #living(by: number): SimNode | null {
    const living = this.nodes.filter((node) => !node.isDead && !node.isPaused && !node.isStopping);
    return living[by % Math.max(1, living.length)] ?? null;
  }

  // ------------------------------------------------------------------------------------------------- acts

  #act(step: Step): void {
    const node = this.#living(step.by);
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
        if (step.weather.hintLost > 0) this.#fault('*', 'hints-lost', step.forMs + 31_000);
        world.after(null, step.forMs, () => {
          if (this.#weatherCount === number) this.#weather = calm;
        });
        return;
      }
      case 'deploy': {
        const extra = this.#startNode(0, step.release, true);
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
      case 'make':
        this.#make(node, step);
        return;
      case 'cancel':
      case 'replay':
      case 'terminate':
      case 'delete':
      case 'reschedule': {
        const id = job(step.job);
        if (id === null) return;
        if (step.do === 'reschedule') {
          call(step.do, id, () => duly.reschedule({ id }, { in: step.delayMs }));
        } else if (step.do === 'cancel') call(step.do, id, () => duly.cancel({ id }));
        else if (step.do === 'replay') call(step.do, id, () => duly.replay(id));
        else if (step.do === 'terminate') call(step.do, id, () => duly.jobs({ ids: [id] }).terminate());
        else call(step.do, id, () => duly.jobs({ ids: [id] }).delete());
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
        const options = step.isKeyed && i === 0 ? { dedupe: { key: 'k' } } : {};
        const { id, deduped } = await task.now(input, { tx: transaction.db, ...options });
        if (!deduped) user.note(transaction, 'made', [id]);
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

  #make(node: SimNode, step: Extract<Step, { do: 'make' }>): void {
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
      const options = {
        ...given,
        ...(step.dedupe === null ? {} : { dedupe: dedupeOf(step.dedupe, step) }),
      };
      const dueAt = delayMs !== null && step.isInstant ? this.world.storeAt() + delayMs : null;
      const inMs = dueAt === null ? delayMs : null;
      const wants = { input: JSON.stringify(input), inMs, dueAt, options: given };
      const make = (): Promise<unknown> => {
        if (dueAt !== null) return task.at(dueAt, input, options);
        return inMs === null ? task.now(input, options) : task.in(inMs, input, options);
      };
      this.#call(node, 'make', null, make, wants);
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
        const isMade = what === 'trigger' && (result as TriggerResult).result === 'made';
        if (isMade) subject = (result as TriggerResult).job?.id ?? subject;
        if (what !== 'make') {
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
          (what !== 'make' && isStoreTrouble(error));
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
    for (const node of this.nodes) if (node.isPaused) node.resume();
    for (const [place, { release }] of this.script.nodes.entries()) {
      if (!this.nodes.some((node) => node.place === place && !node.isDead)) this.#startNode(place, release);
    }
  }

  /** Lets time pass until nothing is due and unfinished; pauses schedules that fill their own line for ever. */
  async #drain(): Promise<void> {
    const { world } = this;
    const untilElapsed = world.elapsed + drainMsMax;
    let isPaused = false;
    while (world.elapsed < untilElapsed) {
      const now = world.storeAt();
      const { jobs } = await this.#raw.list({
        filter: { status: unfinished },
        cursor: null,
        limit: 1_000,
        now,
      });
      if (jobs.every(({ status, dueAt }) => dueAt > now && status !== 'BLOCKED')) return;
      // A job that ends its process may just have ended the last of them.
      const node = this.#living(0);
      if (!isPaused && node !== null && world.elapsed > this.script.lastsMs + healMs + pauseAfterMs) {
        isPaused = true;
        const { schedules } = await this.#raw.schedules({ filter: {}, cursor: null, limit: 100, now });
        for (const { id } of schedules)
          this.#call(node, 'pause', id, () => node.duly.schedules.pause({ id }));
      }
      await world.run(world.elapsed + drainStepMs);
    }
    // Not at rest although nothing was wrong any more: the checker says what hangs.
  }
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
  { dedupeForMs, maxWaitMs }: Extract<Step, { do: 'make' }>,
): DedupeOptions {
  return {
    key: 'k',
    mode,
    ...(dedupeForMs === null ? {} : { for: dedupeForMs }),
    ...(maxWaitMs === null || mode !== 'extend' ? {} : { maxWait: maxWaitMs }),
  };
}
