import type { Clock } from '../../src/base/clock.ts';
import { createIds, type Ids } from '../../src/base/ids.ts';
import { createLoop, type Loop } from '../../src/base/loop.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import type {
  Engine,
  EngineVerb,
  EnqueuedItem,
  JobRecord,
  JobSpec,
  VerbCall,
} from '../../src/contract/engine.ts';
import { mapVerbs } from '../../src/contract/verbs.ts';
import type { ResolvedTask, TaskHandler } from '../../src/jobs/task-definition.ts';
import { defaultRetry } from '../../src/lifecycle/retry.ts';
import { createReapPass } from '../../src/maintenance/reap.ts';
import { createHeartbeats, type Heartbeats } from '../../src/store/heartbeats.ts';
import { createInstrumentedEngine, type InstrumentedEngine } from '../../src/store/instrumented-engine.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createManualClock, type ManualClock } from '../../src/testing/manual-clock.ts';
import { createWorker, type Worker, type WorkerOptions } from '../../src/worker/worker.ts';

/** A task with every option settled; `run` is all that most tests care about. */
export function task(
  name: string,
  run: TaskHandler<unknown, unknown>,
  options: Partial<ResolvedTask> = {},
): ResolvedTask {
  return {
    name,
    version: 1,
    queue: 'default',
    priority: 0,
    retry: defaultRetry,
    timeoutMs: 3_600_000,
    graceMs: 30_000,
    delivery: 'at-least-once',
    concurrency: null,
    isolateFile: null,
    startDeadlineMs: null,
    retentionMs: 7 * 86_400_000,
    deadRetentionMs: 90 * 86_400_000,
    input: null,
    run,
    ...options,
  };
}

/** A worker with its own heartbeats, as one process would have. */
export interface TestNode {
  worker: Worker;
  heartbeats: Heartbeats;
  /** Stops its calls on their way to the store, as SIGSTOP stops a process. */
  freeze(): void;
  /** Lets them go on. */
  thaw(): void;
}

/** What a worker is started with, where it matters. */
export type StartOptions = Partial<Omit<WorkerOptions, 'engine'>> & { engine?: Engine };

/** A store on virtual time, and what a test does with it. */
export interface TestStore {
  clock: ManualClock;
  random: Random;
  /** The real engine; every call goes through the instrumented engine. */
  engine: Engine;
  instrumented: InstrumentedEngine;
  ids: Ids;
  /** Makes and starts a worker. `engine` may stand before the real one to make replies go astray. */
  start(tasks: ResolvedTask[], options?: StartOptions): TestNode;
  /** Starts a node's reaping. */
  startReaping(): Loop;
  /** A job as a client would hand it in. */
  spec(task: ResolvedTask, input: unknown, fields?: Partial<JobSpec>): JobSpec;
  enqueue(task: ResolvedTask, input?: unknown, fields?: Partial<JobSpec>): Promise<string>;
  enqueueMany(task: ResolvedTask, count: number, fields?: Partial<JobSpec>): Promise<string[]>;
  job(id: string): Promise<JobRecord>;
  cancel(id: string): Promise<void>;
  /** Stops everything that was started here. */
  close(): Promise<void>;
}

/** Opens a store in memory on virtual time. */
export async function openTestStore(): Promise<TestStore> {
  const clock = createManualClock();
  return openTestStoreOn(clock, clock);
}

/** The same on a clock of the caller's; `manual` is null where time is real. */
export async function openTestStoreOn(clock: Clock, manual: ManualClock | null): Promise<TestStore> {
  const random = seededRandom(1);
  const ids = createIds({ clock, random });
  const store = await openEngine('sqlite::memory:', clock);
  const instrumented = createInstrumentedEngine({
    engine: store,
    clock,
    rules: manual !== null,
    onCall: () => {},
  });
  const { engine } = instrumented;
  const nodes: TestNode[] = [];
  const loops: Loop[] = [];

  function spec(of: ResolvedTask, input: unknown, fields: Partial<JobSpec> = {}): JobSpec {
    return {
      id: ids.jobId(),
      type: of.name,
      version: of.version,
      queue: of.queue,
      tenant: null,
      priority: of.priority,
      rankOffsetMs: 0,
      due: { inMs: 0 },
      input: JSON.stringify(input),
      metadata: null,
      policy: {
        maxAttempts: of.retry.attempts,
        retry: of.retry.toStored(),
        timeoutMs: of.timeoutMs,
        graceMs: of.graceMs,
        delivery: of.delivery,
        retentionMs: of.retentionMs,
        deadRetentionMs: of.deadRetentionMs,
      },
      startDeadlineMs: of.startDeadlineMs,
      dedupe: null,
      serial: null,
      gates: [],
      parent: null,
      origin: 'event',
      slot: null,
      // {{job.passive | %field: null,}}
      copyOf: null,
      // {{/job}}
      ...fields,
    };
  }

  async function enqueueSpecs(jobs: JobSpec[]): Promise<string[]> {
    const { groups } = await engine.enqueue({ groups: [{ jobs }] });
    const [group] = groups;
    if (!group?.ok) throw new Error(`refused: ${JSON.stringify(group)}`);
    return group.items.map(({ id }: EnqueuedItem) => id);
  }

  return {
    clock: manual as ManualClock,
    random,
    engine,
    instrumented,
    ids,
    spec,
    start(tasks, options = {}) {
      const node = options.node ?? ids.newId('node');
      const leaseMs = options.leaseMs ?? 30_000;
      const ice = createIce({ ...engine, ...options.engine } as Engine);
      const through = ice.engine;
      const heartbeats = createHeartbeats({
        engine: through,
        clock,
        random,
        node,
        leaseMs,
        heartbeatMs: leaseMs / 6,
        onHeartbeat: (news) => worker.onHeartbeat(news),
      });
      const worker = createWorker({
        clock,
        random,
        node,
        tasks: new Map(tasks.map((one) => [one.name, one])),
        heartbeats,
        maxSleepMs: () => 30_000,
        ...options,
        engine: through,
      });
      worker.start();
      const started = { worker, heartbeats, freeze: ice.freeze, thaw: ice.thaw };
      nodes.push(started);
      return started;
    },
    startReaping() {
      const pass = createReapPass({ engine, node: ids.newId('node') });
      const loop = createLoop({ clock, random, pass, onError: (error) => Promise.reject(error) });
      loop.start();
      loops.push(loop);
      return loop;
    },
    async enqueue(of, input = null, fields = {}) {
      return (await enqueueSpecs([spec(of, input, fields)]))[0] as string;
    },
    enqueueMany: (of, count, fields = {}) =>
      enqueueSpecs(Array.from({ length: count }, (_, i) => spec(of, i, fields))),
    async job(id) {
      const { jobs } = await engine.get({ ids: [id] });
      if (!jobs[0]) throw new Error(`There is no job "${id}".`);
      return jobs[0];
    },
    async cancel(id) {
      await engine.cancel({
        groups: [{ actor: 'test', note: null, targets: [{ id }], mode: 'ask' }],
      });
    },
    async close() {
      for (const { thaw } of nodes) thaw();
      const drained = nodes.map(({ worker }) => worker.drain({ limitMs: 0 }));
      await manual?.advance(60_000);
      await Promise.all(drained);
      for (const { heartbeats } of nodes) heartbeats.close();
      await Promise.all(loops.map((loop) => loop.stop()));
      await store.close();
    },
  };
}

/** An engine whose calls can be held up before they reach the store. */
function createIce(engine: Engine) {
  let frozen: ReturnType<typeof deferred<void>> | null = null;
  const call = (verb: EngineVerb) => async (input: never) => {
    await frozen?.promise;
    return (engine[verb] as VerbCall)(input);
  };
  return {
    engine: { ...engine, ...mapVerbs(call) },
    freeze() {
      frozen ??= deferred();
    },
    thaw() {
      frozen?.resolve();
      frozen = null;
    },
  };
}

/** A promise that the test settles. */
export function deferred<Value = void>() {
  let resolve!: (value: Value | PromiseLike<Value>) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
