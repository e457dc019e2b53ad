/** What happens in one simulated world: drawn from the seed before it begins, so that parts of it can be left out. */

import type { PauseTarget } from '../../packages/core/src/jobs/pauses.ts';
import type { Role } from '../../packages/core/src/options.ts';
import type { RuleInput } from '../../packages/core/src/schedules/calendar/rule-input.ts';
import type { ScheduleDefinition } from '../../packages/core/src/schedules/definition/definition.ts';
import type { ScheduleChanges } from '../../packages/core/src/schedules/definition/override.ts';
import type { SchedulePolicies } from '../../packages/core/src/schedules/definition/policies.ts';
import { withBursts } from './bursts.ts';
import { withChoosyWorkers } from './choosy-workers.ts';
import { type ClockChange, drawZonedRule, hourRepeated, hourSkipped } from './clock-changes.ts';
import { cutOffMsMax, drawCutOffWorkers } from './cut-off-workers.ts';
import { plainCreate } from './plain-create.ts';
import { withRareCalls } from './rare-calls.ts';
import { type TaskName, taskNames } from './tasks.ts';
import type { Weather } from './wire.ts';
import { createDice, type Dice } from './world.ts';

/** Which of the cluster's processes, counted over those that live. */
type Which = number;

/** Somebody makes jobs. */
export interface Create {
  do: 'create';
  task: TaskName;
  delayMs: number | null;
  isInstant: boolean;
  ms: number;
  failures: number;
  serial: string | null;
  dedupe: 'drop' | 'replace' | 'extend' | null;
  /** How long the key is held; null: until the job is over. */
  dedupeForMs: number | null;
  /** How long after its making an `extend` may put it off; null: for ever. */
  maxWaitMs: number | null;
  queue: string | null;
  tenant: string | null;
  priority: number;
  count: number;
  /** Another process makes the same job, under the same id, this much later. Left out: none does. */
  twinMs?: number;
  /** How many attempts it has, and how long one may take. Left out: as its task says. */
  attempts?: number;
  timeoutMs?: number;
}

/** One thing that somebody does, or that goes wrong. */
export type Act =
  | Create
  | { do: 'cancel' | 'terminate' | 'retry' | 'delete'; job: number }
  | { do: 'reschedule'; job: number; delayMs: number }
  /** Cancels the holder of the dedupe key of a type and tenant. */
  | { do: 'cancelKey'; task: TaskName; tenant: string | null }
  | { do: 'put'; definition: ScheduleDefinition }
  | { do: 'edit'; schedule: number; changes: ScheduleChanges }
  | { do: 'pause'; schedule: number; forMs: number | null }
  | { do: 'resume' | 'skipNext' | 'remove'; schedule: number }
  | { do: 'trigger'; schedule: number; allow: boolean; hasInput: boolean }
  | {
      do: 'backfill';
      schedule: number;
      backMs: number;
      concurrency: number;
      reprocess: boolean;
      allow: boolean;
    }
  | { do: 'lock'; name: string; ttlMs: number; ms: number }
  /** Asks for a lock, again under the same token if the answer is lost, and releases it. */
  | { do: 'acquire'; name: string; ttlMs: number; ms: number }
  /** Makes jobs in a transaction of the user's own. */
  | { do: 'transact'; count: number; forMs: number; end: 'commit' | 'rollBack' | 'crash'; isKeyed: boolean }
  | { do: 'once'; key: string; ms: number }
  | { do: 'value'; op: 'put' | 'extend' | 'delete' | 'get'; key: string; forMs: number }
  | { do: 'pauseClaims'; target: PauseTarget; forMs: number }
  | { do: 'resumeClaims'; target: PauseTarget }
  /** Ends, or drains and ends; whoever watches over it starts it again some seconds later. */
  | { do: 'crash' | 'restart' }
  | { do: 'freeze'; forMs: number }
  /** Keeps the event loop of a process from turning; its store's thread goes on. */
  | { do: 'block'; forMs: number }
  | { do: 'nodeClock'; byMs: number }
  | { do: 'storeClock'; byMs: number }
  | { do: 'refuse'; forMs: number }
  | { do: 'weather'; forMs: number; weather: Weather }
  | { do: 'deploy'; release: string; forMs: number };

/** An act at its time. */
export type Step = { atMs: number; by: Which } & Act;

/** A process of the cluster. */
export interface ScriptNode {
  roles: readonly Role[];
  concurrency: number;
  release: string | null;
  /** Which queues it takes from; left out or null: all. */
  queues?: readonly string[] | null;
  /** Which version of a task it has, where it is not 1. */
  versionOf?: Partial<Record<TaskName, number>>;
}

/** A whole world before it begins. */
export interface Script {
  seed: number;
  startAt: number;
  lastsMs: number;
  leaseMs: number;
  nodes: ScriptNode[];
  /** Schedules that tasks declare, by release. */
  declared: Record<string, Partial<Record<TaskName, Omit<ScheduleDefinition, 'type'>>>>;
  steps: Step[];
  /** Whether the store is a file, on which the program has connections of its own. */
  hasFile: boolean;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
// A file takes twice as long as memory.
const fileEvery = 32;
// Lists are written by other statements than single jobs.
const burstEvery = 16;
// One in eight: what becomes of calls whose answers are lost.
const lostCallsEvery = 8;
// One in sixteen each: what would hardly ever come about by chance.
const rareEvery = 16;
// One in thirty-two.
const rarerEvery = 32;
// One in sixty-four: takes most of its world away from everything else.
const rarestEvery = 64;
/** How much happens in a world. */
interface WorldSize {
  lastsS: { min: number; max: number };
  nodeCounts: readonly number[];
  scheduleCounts: readonly number[];
  createCounts: { min: number; max: number };
  operationCountMax: number;
}

// A failure needs few jobs, and several small worlds take as long as a large one. What only comes about after a while, or among many, needs large ones.
const smallWorld: WorldSize = {
  lastsS: { min: 5, max: 11 },
  nodeCounts: [2, 2, 2, 3],
  scheduleCounts: [1, 1, 1, 2],
  createCounts: { min: 1, max: 4 },
  operationCountMax: 3,
};
const largeWorld: WorldSize = {
  lastsS: { min: 12, max: 45 },
  nodeCounts: [3, 3, 3, 4, 5],
  scheduleCounts: [1, 2, 3],
  createCounts: { min: 2, max: 10 },
  operationCountMax: 5,
};
const largeShare = 0.05;
const allRoles: readonly Role[] = ['scheduler', 'worker', 'maintenance'];

/** Draws the world of a seed. */
export function drawScript(seed: number): Script {
  const script = withRareCalls(
    withFinishDeadlines(drawWorld(seed), createDice(seed * 2)),
    createDice(seed ^ 0x991381af),
  );
  // Everything happens before the faults end.
  const lastsMs = Math.max(script.lastsMs, ...script.steps.map(({ atMs }) => atMs + 1));
  return { ...script, lastsMs };
}

/** Gives some schedules a finish deadline: people are told when it has passed, and nothing else must come of it. Drawn apart, as nothing else depends on it. */
function withFinishDeadlines(script: Script, dice: Dice): Script {
  const steps = script.steps.map((step): Step => {
    if (step.do !== 'put' || !dice.chance(0.3)) return step;
    const finishDeadline = dice.between(1, 30) * second;
    return { ...step, definition: { ...step.definition, finishDeadline } };
  });
  return { ...script, steps };
}

function drawWorld(seed: number): Script {
  const dice = createDice(seed * 2 + 1);
  const drawnAt = Date.UTC(2027, 0, 15, 10, 0, 0) + dice.below(hour);
  const size = dice.chance(largeShare) ? largeWorld : smallWorld;
  const drawnMs = dice.between(size.lastsS.min, size.lastsS.max) * second;
  // Drawn apart: the other worlds stay as they are.
  const clockDice = createDice(-seed);
  const clockChange = seed % rareEvery === 6 ? hourSkipped : seed % rareEvery === 14 ? hourRepeated : null;
  // Long enough that schedules are decided before the clocks change.
  const lastsMs = drawnMs + (clockChange === null ? 0 : 12 * second);
  const startAt = clockChange === null ? drawnAt : clockChange.at - clockDice.below(lastsMs);
  const hasReleases = dice.chance(0.3);
  const declared: Script['declared'] = {};
  if (hasReleases) {
    for (const release of ['1', '2']) {
      // A declaration that is refused would keep the node from starting: that is its author's to see, and not a fault of the cluster.
      const { startAt: _start, endAt: _end, ...every } = drawDefinition(dice, 'declared', startAt);
      declared[release] =
        dice.chance(0.8) || release === '1' ? { [every.type as TaskName]: withoutType(every) } : {};
    }
  }
  const hasFile = seed % fileEvery === 1;
  const hasFrozenSteps = seed % rarerEvery === 12;
  // Two of three are frozen, and the third takes over.
  const count = hasFile || hasFrozenSteps ? 3 : dice.one(size.nodeCounts);
  const nodes = Array.from({ length: count }, (_, i) => ({
    // The first two play all roles, so that each role is there twice.
    roles: i < 2 || dice.chance(0.7) ? allRoles : [dice.one(allRoles), 'maintenance' as const],
    concurrency: dice.between(1, 5),
    release: hasReleases ? (i === count - 1 ? '2' : '1') : null,
  }));
  const steps: Step[] = [];
  const add = (count: number, draw: () => Act): void => {
    for (let i = 0; i < count; i++) {
      steps.push({ atMs: dice.below(lastsMs), by: dice.below(1_000), ...draw() });
    }
  };
  const scheduleCount = dice.one(size.scheduleCounts);
  for (let i = 0; i < scheduleCount; i++) {
    const definition = drawDefinition(dice, `s${i}`, startAt);
    steps.push({ atMs: dice.below(5 * second), by: dice.below(1_000), do: 'put', definition });
  }
  add(dice.between(size.createCounts.min, size.createCounts.max), () => drawCreate(dice));
  add(dice.below(4), () => drawChange(dice));
  add(dice.between(0, size.operationCountMax), () => drawOperation(dice, scheduleCount, startAt));
  if (dice.chance(0.3)) {
    add(2, () => ({ do: 'lock', name: 'l', ttlMs: 3 * second, ms: dice.between(1, 6) * second }));
    if (dice.chance(0.3)) steps.push(...drawFrozenLock(dice, lastsMs));
  }
  if (dice.chance(0.3)) add(dice.between(2, 6), () => drawValue(dice));
  if (dice.chance(0.3)) add(dice.between(2, 3), () => drawOnce(dice));
  if (dice.chance(0.3)) add(dice.between(1, 3), () => drawClaimsPause(dice));
  if (dice.chance(0.15)) steps.push(...drawFollowers(dice, lastsMs));
  if (dice.chance(0.1)) steps.push(...drawFlurry(dice, lastsMs));
  if (dice.chance(0.12)) steps.push(...drawLine(dice, lastsMs));
  if (dice.chance(0.1)) steps.push(...drawTwins(dice, lastsMs));
  if (dice.chance(0.1)) steps.push(...drawBadMoments(dice, lastsMs));
  if (hasFile) {
    add(dice.between(2, 6), () => drawTransact(dice));
    add(dice.between(2, 5), () => drawCharge(dice));
  }
  // One world in six is without faults: what then happens must happen on time.
  if (!dice.chance(1 / 6)) add(dice.between(1, 5), () => drawFault(dice, hasReleases, lastsMs));
  const leaseMs = dice.between(4, 10) * second;
  // Drawn apart, so that the rest of the world stays as it is.
  const ownDice = createDice(seed ^ 0x5bd1e995);
  if (ownDice.chance(0.05)) steps.push(...drawStopped(ownDice, lastsMs));
  if (ownDice.chance(0.05)) steps.push(...drawLateReturns(ownDice, lastsMs));
  if (hasFrozenSteps || ownDice.chance(0.05)) steps.push(...drawFrozenSteps(ownDice, lastsMs, leaseMs));
  if (ownDice.chance(0.08)) steps.push(...drawKeyActs(ownDice, lastsMs));
  if (dice.chance(0.08)) steps.push(...drawBlocked(dice, lastsMs, leaseMs));
  if (hasFile && dice.chance(0.9)) steps.push(...drawFrozenCharges(dice, lastsMs, leaseMs));
  steps.sort((one, other) => one.atMs - other.atMs);
  const script = {
    seed,
    startAt,
    lastsMs,
    leaseMs,
    nodes,
    declared,
    steps,
    hasFile,
  };
  if (seed % burstEvery === 0) return withBursts(script, dice);
  if (clockChange !== null) return withSteps(script, drawZoned(clockDice, clockChange, script));
  if (seed % rarerEvery === 2) {
    const cutOff = withSteps(script, drawCutOffWorkers(createDice(-seed), script));
    return { ...cutOff, lastsMs: Math.max(lastsMs, cutOffMsMax) };
  }
  if (seed % rarerEvery === 26) return withSteps(script, drawRemade(createDice(-seed), script));
  if (seed % rarerEvery === 27) return withLostDecisions(script, createDice(-seed));
  if (seed % rareEvery === 4) return withSteps(script, drawDeletedRuns(createDice(-seed), script));
  if (seed % rarerEvery === 10 || seed % rarestEvery === 18)
    return withChoosyWorkers(script, createDice(-seed));
  if (seed % rareEvery === 5) return withSteps(script, drawSlowMerges(dice, lastsMs));
  if (seed % rareEvery === 7) return withSteps(script, drawEndings(dice));
  if (seed % rareEvery === 9) return withSteps(script, drawMovedDeadline(dice, lastsMs));
  if (seed % rareEvery === 13) {
    return withSteps(script, [...drawFrozenLock(dice, lastsMs), ...drawLateLocks(dice, lastsMs)]);
  }
  if (seed % rareEvery === 15) return withSteps(script, drawJumpedWorkers(dice, lastsMs));
  return seed % lostCallsEvery === 3 ? withLostCalls(script, dice) : script;
}

/** Schedules by the clocks of a zone that are changed meanwhile; some are edited. */
function drawZoned(dice: Dice, change: ClockChange, { startAt, lastsMs }: Script): Step[] {
  const draw = (name: string, atMs: number): Step => ({
    atMs,
    by: dice.below(1_000),
    do: 'put',
    definition: {
      type: dice.one(['quick', 'quick', 'slow'] as const),
      name,
      ...drawZonedRule(dice, change),
      ...drawPolicies(dice, 10 * second, false, startAt),
      input: { call: null, ms: dice.one([0, 500, 12_000]), failures: dice.below(2) },
    },
  });
  return Array.from({ length: dice.between(2, 4) }, (_, i) => {
    const first = draw(`zoned${i}`, dice.below(2 * second));
    return dice.chance(0.3) ? [first, draw(`zoned${i}`, dice.below(lastsMs))] : [first];
  }).flat();
}

/** A schedule that is deleted and made again under its name, as it was or as another. */
function drawRemade(dice: Dice, { startAt, lastsMs }: Script): Step[] {
  // One that the operations of the world do not know.
  const schedule = 9;
  const draw = (): ScheduleDefinition => drawDefinition(dice, `s${schedule}`, startAt);
  let definition = draw();
  let atMs = dice.below(2 * second);
  const steps: Step[] = [];
  while (atMs < lastsMs) {
    steps.push({ atMs, by: dice.below(1_000), do: 'put', definition });
    atMs += dice.between(2, 6) * second + dice.below(second);
    if (dice.chance(0.5))
      steps.push({ atMs: atMs - 100, by: dice.below(1_000), do: 'pause', schedule, forMs: null });
    steps.push({ atMs, by: dice.below(1_000), do: 'remove', schedule });
    atMs += dice.one([20, 500, 4_000]);
    if (dice.chance(0.4)) definition = draw();
  }
  return steps;
}

/** A schedule whose runs are taken with its decisions, on a wire that loses answers and notifications. Leases end before workers ask by themselves. */
function withLostDecisions(script: Script, dice: Dice): Script {
  const weather = { replyLost: 0.3, slow: 0, crash: 0, notificationLost: 0.8 };
  const definition: ScheduleDefinition = {
    ...{ type: 'quick', name: 's7', rate: 4 * second, anchor: 'start', overlap: 'allow' },
    input: { call: null, ms: 0, failures: 0 },
  };
  const steps: Step[] = [
    { atMs: dice.below(second), by: dice.below(1_000), do: 'put', definition },
    { atMs: second, by: 0, do: 'weather', forMs: Math.max(script.lastsMs, 20 * second), weather },
  ];
  return { ...withSteps(script, steps), leaseMs: 4 * second };
}

/** A schedule whose runs wait in line. One or two of them are deleted, and sometimes the schedule too. */
function drawDeletedRuns(dice: Dice, { lastsMs }: Script): Step[] {
  // The operations of the world do not know this schedule.
  const schedule = 8;
  const by = (): number => dice.below(1_000);
  const atMs = dice.below(lastsMs / 2);
  const definition: ScheduleDefinition = {
    ...{ type: 'slow', name: `s${schedule}`, rate: minute, overlap: 'bufferAll', bufferLimit: 5 },
    input: { call: null, ms: 2 * second, failures: 0 },
  };
  const trigger = { do: 'trigger', schedule, allow: false, hasInput: false } as const;
  return [
    { atMs, by: by(), do: 'put', definition },
    ...[1, 2, 3].map((i): Step => ({ atMs: atMs + i * 300, by: by(), ...trigger })),
    ...[1, 2].map(
      (job): Step => ({ atMs: atMs + second + dice.below(2 * second), by: by(), do: 'delete', job: -job }),
    ),
    ...(dice.chance(0.5) ? [{ atMs: atMs + 3 * second, by: by(), do: 'remove', schedule } as const] : []),
  ];
}

function withoutType({ type: _type, ...rest }: ScheduleDefinition): Omit<ScheduleDefinition, 'type'> {
  return rest;
}

// The others are drawn where they belong.
const ordinaryTaskNames = taskNames.filter(
  (name) => name !== 'steady' && name !== 'poison' && name !== 'charge',
);

// Only half of the processes refuse an input of a picky task, and only half of the inputs.
const createdTaskNames = [...ordinaryTaskNames, 'picky', 'picky'] as const;

function drawCreate(dice: Dice): Create {
  return {
    do: 'create',
    // A job that ends its process each time takes the better part of a minute to be given up.
    task: dice.chance(0.01) ? 'poison' : dice.one(createdTaskNames),
    delayMs: dice.chance(0.5) ? dice.between(1, 30) * second + dice.below(second) : null,
    isInstant: dice.chance(0.5),
    ms: dice.one([0, 100, 2_000, 6_000, 12_000]),
    failures: dice.below(4),
    serial: dice.chance(0.2) ? dice.one(['a', 'b']) : null,
    dedupe: dice.chance(0.15) ? dice.one(['drop', 'replace', 'extend'] as const) : null,
    dedupeForMs: dice.chance(0.3) ? dice.between(2, 20) * second : null,
    maxWaitMs: dice.chance(0.4) ? dice.between(1, 8) * second : null,
    queue: dice.chance(0.2) ? 'side' : null,
    tenant: dice.chance(0.2) ? 't' : null,
    priority: dice.chance(0.2) ? dice.one([-1, 1, 5]) : 0,
    count: dice.chance(0.2) ? dice.between(2, 4) : 1,
  };
}

/** Calls under one key while its holder runs: the first of them waits behind it, and later ones fold into that. */
function drawFollowers(dice: Dice, lastsMs: number): Step[] {
  const create = drawCreate(dice);
  const task = dice.one(['slow', 'slow', 'steady', 'flaky'] as const);
  const ms = dice.one([2_000, 4_000, 8_000]);
  const fromMs = dice.below(lastsMs / 2);
  return Array.from({ length: dice.between(3, 6) }, (_, i) => ({
    ...create,
    atMs: fromMs + (i === 0 ? 0 : 500 + dice.below(2 * ms)),
    by: dice.below(1_000),
    task,
    delayMs: i > 0 && dice.chance(0.2) ? dice.between(1, 5) * second : null,
    ms,
    failures: dice.below(2),
    dedupe: dice.one(['drop', 'replace', 'replace', 'extend', 'extend'] as const),
    dedupeForMs: dice.chance(0.2) ? dice.between(5, 20) * second : null,
    count: 1,
  }));
}

/** The same job made by two processes under one id, at the same time or while the first call's answer is lost. */
function drawTwins(dice: Dice, lastsMs: number): Step[] {
  const fromMs = dice.below(lastsMs);
  const weather = { replyLost: 0.4, slow: 0.2, crash: 0.02, notificationLost: 0 };
  const creates = Array.from({ length: dice.between(2, 5) }, (): Step => {
    const twinMs = dice.one([0, 0, 1, 3, 400, 2_500, 2_500]);
    const delayMs = dice.one([null, null, 2_000]);
    const dedupe = dice.chance(0.3) ? dice.one(['drop', 'replace'] as const) : null;
    const create = { ...drawCreate(dice), task: dice.one(['quick', 'flaky', 'slow', 'journal'] as const) };
    const own = { delayMs, isInstant: true, ms: dice.one([0, 100, 2_000]), dedupe, count: 1, twinMs };
    return { ...create, ...own, atMs: fromMs + dice.below(2 * second), by: dice.below(1_000) };
  });
  // One is deleted before it is asked for again.
  const deletions = creates.flatMap((create): Step[] =>
    create.do === 'create' && (create.twinMs ?? 0) > 100 && dice.chance(0.8)
      ? [
          {
            atMs: create.atMs + dice.between(10, create.twinMs as number),
            by: dice.below(1_000),
            do: 'delete',
            job: -1,
          },
        ]
      : [],
  );
  const rough: Step = { atMs: fromMs, by: 0, do: 'weather', forMs: 3 * second, weather };
  return dice.chance(0.5) ? [...creates, ...deletions, rough] : [...creates, ...deletions];
}

/** Jobs that are cancelled, ended, deleted, retried and moved by several processes at once, while answers are lost and late. */
function drawBadMoments(dice: Dice, lastsMs: number): Step[] {
  const fromMs = dice.below((lastsMs * 2) / 3);
  const by = (): number => dice.below(1_000);
  const creates = Array.from({ length: dice.between(1, 3) }, (): Step => {
    const task = dice.one(['flaky', 'flaky', 'once', 'quick', 'stubborn', 'journal'] as const);
    const own = { task, delayMs: dice.one([null, null, 500]), ms: dice.one([0, 100, 2_000]), count: 1 };
    return { ...drawCreate(dice), ...own, failures: dice.between(1, 3), atMs: fromMs, by: by() };
  });
  const acts = Array.from({ length: dice.between(2, 4) }, (): Step[] => {
    const atMs = fromMs + 50 + dice.below(8 * second);
    const job = -dice.between(1, 2);
    return Array.from({ length: dice.between(1, 3) }, (): Step => {
      const what = dice.one(['cancel', 'terminate', 'retry', 'retry', 'delete', 'delete'] as const);
      return { atMs: atMs + dice.below(4), by: by(), do: what, job };
    });
  }).flat();
  const weather = { replyLost: dice.one([0, 0.3]), slow: dice.one([0, 0.3]), crash: 0, notificationLost: 0 };
  return [...creates, ...acts, { atMs: fromMs, by: 0, do: 'weather', forMs: 8 * second, weather }];
}

/** Jobs of one dedupe key that are deleted, or ended and retried, each time followed by another call: which job holds the key then? */
function drawKeyActs(dice: Dice, lastsMs: number): Step[] {
  const fromMs = dice.below((lastsMs * 2) / 3);
  const by = (): number => dice.below(1_000);
  const key = {
    task: dice.one(['flaky', 'slow', 'stubborn'] as const),
    dedupe: dice.one(['drop', 'drop', 'replace', 'extend'] as const),
    dedupeForMs: dice.one([null, null, 20 * second]),
    tenant: null,
    count: 1,
  };
  const create = (atMs: number): Step => {
    const own = { delayMs: dice.one([null, null, 2 * second]), ms: dice.one([100, 2_000, 6_000]) };
    return { ...drawCreate(dice), ...key, ...own, failures: dice.between(1, 3), atMs, by: by() };
  };
  const steps = [create(fromMs)];
  let atMs = fromMs;
  for (let i = dice.between(2, 4); i > 0; i--) {
    atMs += dice.between(100, 1_500);
    const verbs = dice.one([['delete'], ['terminate', 'retry'], ['terminate', 'retry', 'delete']] as const);
    for (const verb of verbs) {
      steps.push({ atMs, by: by(), do: verb, job: -1 });
      atMs += dice.between(1, 300);
    }
    steps.push(create(atMs + dice.below(second)));
    atMs += second;
  }
  return steps;
}

/** Processes whose event loop is blocked for longer than a lease, while they hold a lock and run long jobs. */
function drawBlocked(dice: Dice, lastsMs: number, leaseMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const by = dice.below(1_000);
  const lock = { do: 'lock', name: 'blocked', ttlMs: 3 * second } as const;
  const create = { ...drawCreate(dice), task: 'slow', delayMs: null, dedupe: null, serial: null } as const;
  const forMs = leaseMs + dice.between(1, 4) * second;
  return [
    { atMs, by, ...lock, ms: 8 * second },
    { atMs, by, ...create, ms: 3 * leaseMs, count: 3 },
    { atMs: atMs + 500, by, do: 'block', forMs },
    ...[1, 2].map((i): Step => ({ atMs: atMs + i * 2 * second, by: by + i, ...lock, ms: second })),
    ...(dice.chance(0.5) ? [{ atMs: atMs + 700, by: by + 1, do: 'block', forMs } as Step] : []),
  ];
}

/** Jobs that may start once, on processes that stop before they are done. */
function drawStopped(dice: Dice, lastsMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const by = dice.below(1_000);
  const create = { ...plainCreate, task: 'once', ms: dice.between(8, 14) * second, count: 3 } as const;
  const stops = [0, 1].map(
    (i): Step => ({ atMs: atMs + (i + 1) * second, by: dice.below(1_000), do: 'restart' }),
  );
  return [{ atMs, by, ...create }, ...stops];
}

/** Processes that stand still inside a step of a job, or inside `once`, until another has the lease or the lock. */
function drawFrozenSteps(dice: Dice, lastsMs: number, leaseMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const by = dice.below(1_000);
  const key = 'frozen';
  const forMs = leaseMs + dice.between(3, 6) * second;
  return [
    { atMs, by, do: 'once', key, ms: second },
    { atMs: atMs + 300, by, do: 'freeze', forMs },
    { atMs: atMs + 4 * second, by: by + 1, do: 'once', key, ms: dice.one([0, 8_000]) },
    { atMs, by, ...plainCreate, task: 'journal', ms: 0, count: 6 },
    { atMs: atMs + dice.between(20, 90), by: by + 1, do: 'freeze', forMs },
  ];
}

/** Handlers that return shortly after they were asked to stop. */
function drawLateReturns(dice: Dice, lastsMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const by = (): number => dice.below(1_000);
  return [0, 1, 2].flatMap((i): Step[] => {
    const fromMs = atMs + i * 4 * second;
    const ms = dice.between(2, 4) * second;
    const cancelMs = fromMs + ms - dice.between(300, 1_500);
    return [
      { atMs: fromMs, by: by(), ...plainCreate, task: 'steady', ms, count: 1 },
      { atMs: cancelMs, by: by(), do: 'cancel', job: -1 },
    ];
  });
}

function withSteps(script: Script, steps: Step[]): Script {
  return { ...script, steps: [...script.steps, ...steps].sort((one, other) => one.atMs - other.atMs) };
}

/** Slots that are merged into a run that waits, by nodes whose calls take seconds: it may have started before they are there. */
function drawSlowMerges(dice: Dice, lastsMs: number): Step[] {
  const definition: ScheduleDefinition = {
    ...{ type: 'slow', name: 'merging', rate: 2 * second, overlap: 'bufferOne' },
    input: { call: null, ms: dice.one([2_500, 3_000, 5_000]), failures: 0 },
  };
  const weather = { replyLost: 0, slow: 0.4, crash: 0, notificationLost: 0 };
  return [
    { atMs: dice.below(second), by: dice.below(1_000), do: 'put', definition },
    { atMs: 2 * second, by: 0, do: 'weather', forMs: lastsMs, weather },
  ];
}

/** Runs that take longer than their slots are apart and end each other, runs that fail until their schedule is paused, and one that looks at nothing. */
function drawEndings(dice: Dice): Step[] {
  const overlap = dice.one(['cancelOther', 'terminateOther'] as const);
  const long = { call: null, ms: 12_000, failures: 0 };
  const ending: ScheduleDefinition = { type: 'slow', name: 'ending', rate: 5 * second, overlap, input: long };
  const failing: ScheduleDefinition = {
    ...{ type: 'flaky', name: 'failing', rate: 5 * second, pauseAfterFailures: 1 },
    input: { call: null, ms: 0, failures: 4 },
  };
  const create = {
    ...drawCreate(dice),
    delayMs: null,
    serial: null,
    dedupe: null,
  };
  return [
    { atMs: dice.below(second), by: dice.below(1_000), do: 'put', definition: ending },
    { atMs: dice.below(second), by: dice.below(1_000), do: 'put', definition: failing },
    { atMs: second, by: dice.below(1_000), ...create, task: 'stubborn', ms: 20_000, count: 1 },
  ];
}

/** A job that must start soon after it is due, moved before it is; and a queue that is paused for a moment. */
function drawMovedDeadline(dice: Dice, lastsMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const create = { ...drawCreate(dice), task: 'hasty' as const, count: 1 };
  const target: PauseTarget = { queue: 'side' };
  return [
    { atMs, by: 0, ...create, delayMs: 8 * second, dedupe: null },
    { atMs: atMs + second, by: 0, do: 'reschedule', job: -1, delayMs: dice.between(9, 12) * second },
    { atMs, by: 0, do: 'pauseClaims', target, forMs: 4 * second },
    { atMs: atMs + 2 * second, by: 0, do: 'resumeClaims', target },
  ];
}

/** Jobs in line for one serial key, some of which are moved while they wait, and some put themselves off. */
function drawLine(dice: Dice, lastsMs: number): Step[] {
  const fromMs = dice.below(lastsMs / 2);
  const by = (): number => dice.below(1_000);
  const creates = Array.from({ length: dice.between(4, 6) }, (): Step => {
    const delayMs = dice.one([null, 1_000, 2_500]);
    return {
      ...drawCreate(dice),
      ...{
        task: dice.one(['quick', 'steady', 'steady', 'slow', 'snoozer'] as const),
        ms: dice.one([500, 2_000]),
      },
      ...{ delayMs, serial: 'line', dedupe: null, tenant: null, count: 1 },
      atMs: fromMs + dice.below(3 * second),
      by: by(),
    };
  });
  const moves = Array.from({ length: dice.between(1, 3) }, (): Step => {
    const atMs = fromMs + 500 + dice.below(5 * second);
    return { atMs, by: by(), do: 'reschedule', job: -dice.between(1, 3), delayMs: dice.below(6 * second) };
  });
  return [...creates, ...moves];
}

/** A holder that stands still until another has its lock, and then goes on as if it were its own. */
function drawFrozenLock(dice: Dice, lastsMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const by = dice.below(1_000);
  const ttlMs = 3 * second;
  const lock = { do: 'lock', name: 'l', ttlMs, ms: 8 * second } as const;
  return [
    { atMs, by, ...lock },
    { atMs: atMs + 500, by, do: 'freeze', forMs: ttlMs + dice.between(1, 3) * second },
    ...[1, 2].map((i) => ({ atMs: atMs + ttlMs + i * 700, by: by + i, ...lock })),
  ];
}

/** Holders whose renewal, or whose word that they give a lock back, is on its way until another has it. */
function drawLateLocks(dice: Dice, lastsMs: number): Step[] {
  const weather = { replyLost: 0, slow: 1, crash: 0, notificationLost: 0 };
  const ttlMs = second;
  // The first is renewed by then, the second given back.
  return [2 * second, 250].flatMap((ms, i): Step[] => {
    const atMs = dice.below(lastsMs / 2) + i * 8 * second;
    const lock = { do: 'lock', name: `late-${i}`, ttlMs } as const;
    return [
      { atMs, by: 0, ...lock, ms },
      { atMs: atMs + 100, by: 0, do: 'weather', forMs: 300, weather },
      { atMs: atMs + ttlMs + 100, by: 1, ...lock, ms: 6 * second },
    ];
  });
}

/** Runs that take longer than a lease, on nodes whose wall clocks jump meanwhile. */
function drawJumpedWorkers(dice: Dice, lastsMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const create = {
    ...drawCreate(dice),
    ...{ task: 'slow' as const, delayMs: null, ms: 20 * second, serial: null, dedupe: null, count: 4 },
  };
  return [
    { atMs, by: dice.below(1_000), ...create },
    ...[0, 1, 2].map((by): Step => {
      const byMs = dice.one([-hour, hour]);
      return { atMs: atMs + dice.between(2, 6) * second, by, do: 'nodeClock', byMs };
    }),
  ];
}

/** Calls that replace a job just before it starts, while answers are lost: sent again they find it running, or over. */
function withLostCalls(script: Script, dice: Dice): Script {
  const steps = Array.from({ length: 3 }, (): Step[] => {
    const atMs = dice.below(script.lastsMs);
    const create = {
      ...drawCreate(dice),
      task: dice.one(['quick', 'steady'] as const),
      ms: 2_000,
      serial: null,
      dedupe: dice.one(['replace', 'extend'] as const),
      dedupeForMs: null,
      queue: null,
      count: 1,
    };
    const weather = { replyLost: 0.5, slow: 0, crash: 0, notificationLost: 0 };
    return [
      { atMs, by: dice.below(1_000), ...create, delayMs: 400 },
      { atMs: atMs + 100, by: 0, do: 'weather', forMs: 500, weather },
      ...Array.from({ length: 3 }, () => ({
        atMs: atMs + 150 + dice.below(200),
        by: dice.below(1_000),
        ...create,
        delayMs: dice.one([null, 100]),
      })),
    ];
  }).flat();
  return { ...script, steps: [...script.steps, ...steps].sort((one, other) => one.atMs - other.atMs) };
}

/** Calls of one process within milliseconds: those that come while one is on its way travel together in the next. */
function drawFlurry(dice: Dice, lastsMs: number): Step[] {
  const fromMs = dice.below(lastsMs);
  const by = dice.below(1_000);
  return Array.from({ length: dice.between(4, 8) }, () => ({
    ...drawCreate(dice),
    atMs: fromMs + dice.below(8),
    by,
    task: dice.one(['quick', 'flaky', 'journal', 'hasty'] as const),
    ms: 0,
  }));
}

function drawTransact(dice: Dice): Act {
  return {
    do: 'transact',
    count: dice.between(1, 4),
    forMs: dice.one([0, 0, 50, 400, 1_500]),
    end: dice.one(['commit', 'commit', 'rollBack', 'rollBack', 'crash'] as const),
    isKeyed: dice.chance(0.2),
  };
}

function drawCharge(dice: Dice): Act {
  const ms = dice.one([0, 400, 4_000, 8_000, 12_000]);
  return {
    ...drawCreate(dice),
    task: 'charge',
    ms,
    failures: dice.below(2),
    count: 1,
  };
}

/** Some that run when a node stands still past its lease, and complete their jobs when others have them. */
function drawFrozenCharges(dice: Dice, lastsMs: number, leaseMs: number): Step[] {
  const atMs = dice.below(lastsMs / 2);
  const by = dice.below(1_000);
  const ms = 4 * second;
  const charge = {
    ...(drawCharge(dice) as Extract<Act, { do: 'create' }>),
    ms,
    delayMs: null,
    serial: null,
    dedupe: null,
  };
  // Long enough that another attempt runs when the first goes on.
  const forMs = leaseMs + dice.below(ms / 2);
  return [
    { atMs, by, ...charge, count: 4 },
    { atMs: atMs + second, by, do: 'freeze', forMs },
    { atMs: atMs + second, by: by + 1, do: 'freeze', forMs },
  ];
}

function drawValue(dice: Dice): Act {
  const op = dice.one(['put', 'put', 'put', 'extend', 'delete', 'get', 'get'] as const);
  return { do: 'value', op, key: dice.one(['x', 'y']), forMs: dice.between(1, 20) * second };
}

function drawOnce(dice: Dice): Act {
  return { do: 'once', key: dice.one(['o', 'o', 'p']), ms: dice.one([0, 500, 4_000]) };
}

/** Pauses end by themselves: nobody is left to end one at the end of the world. */
function drawClaimsPause(dice: Dice): Act {
  const target: PauseTarget = dice.one([
    { queue: 'side' },
    { queue: 'default' },
    { type: 'quick' },
    { all: true },
  ]);
  if (dice.chance(0.3)) return { do: 'resumeClaims', target };
  return { do: 'pauseClaims', target, forMs: dice.between(2, 12) * second };
}

function drawChange(dice: Dice): Act {
  const job = dice.below(1_000);
  if (dice.chance(0.2)) return { do: 'reschedule', job, delayMs: dice.below(20 * second) };
  return { do: dice.one(['cancel', 'cancel', 'terminate', 'retry', 'delete'] as const), job };
}

function drawOperation(dice: Dice, scheduleCount: number, startAt: number): Act {
  const schedule = dice.below(scheduleCount);
  switch (dice.below(9)) {
    case 8:
      if (dice.chance(0.5)) return { do: 'put', definition: drawDefinition(dice, `s${schedule}`, startAt) };
      return { do: 'pause', schedule, forMs: dice.between(2, 15) * second };
    case 0:
      return { do: 'pause', schedule, forMs: dice.chance(0.5) ? dice.between(2, 30) * second : null };
    case 1:
    case 2:
      return { do: 'resume', schedule };
    case 3:
      return { do: 'skipNext', schedule };
    case 4:
      return { do: 'trigger', schedule, allow: dice.chance(0.4), hasInput: dice.chance(0.4) };
    case 5:
      return {
        do: 'backfill',
        schedule,
        backMs: dice.between(5, 60) * second,
        concurrency: dice.between(1, 2),
        reprocess: dice.chance(0.3),
        allow: dice.chance(0.4),
      };
    case 6:
      return { do: 'edit', schedule, changes: drawChanges(dice) };
    default:
      return { do: 'remove', schedule };
  }
}

function drawChanges(dice: Dice): ScheduleChanges {
  const rule = dice.chance(0.5) ? { rate: dice.between(5, 40) * second } : {};
  return {
    ...rule,
    missed: dice.one(['skip', 'latest', null]),
    ...(dice.chance(0.4) ? { startDeadline: dice.between(5, 60) * second } : {}),
    ...(dice.chance(0.2) ? drawSpecOptions(dice) : {}),
  } as ScheduleChanges;
}

function drawFault(dice: Dice, hasReleases: boolean, lastsMs: number): Act {
  const forMs = dice.one([1, 3, 8, 20, 40]) * second + dice.below(second);
  switch (dice.below(hasReleases ? 10 : 9)) {
    case 0:
    case 1:
      return { do: 'crash' };
    case 2:
      return { do: 'freeze', forMs };
    case 3:
      return { do: 'restart' };
    case 4:
      return { do: 'nodeClock', byMs: dice.one([-hour, hour, -5 * second, 5 * second]) };
    case 5:
      return { do: 'storeClock', byMs: dice.one([hour, 10 * minute, 70 * second, 7 * second]) };
    case 6:
      return { do: 'refuse', forMs: dice.one([500, 2_000, 6_000, 15_000]) };
    case 7:
    case 8:
      return {
        do: 'weather',
        forMs: Math.min(lastsMs, dice.between(5, 40) * second),
        weather: {
          replyLost: dice.one([0, 0.03, 0.1]),
          slow: dice.one([0, 0.02, 0.1]),
          crash: dice.one([0, 0.005, 0.02]),
          notificationLost: dice.one([0, 0.3, 1]),
        },
      };
    default:
      return { do: 'deploy', release: dice.one(['1', '2']), forMs };
  }
}

function drawDefinition(dice: Dice, name: string, startAt: number): ScheduleDefinition {
  const { rule, periodMs } = drawRule(dice);
  const task = dice.one(['quick', 'quick', 'slow', 'slow', 'flaky', 'once', 'stubborn'] as const);
  return {
    type: task,
    name,
    ...rule,
    ...drawPolicies(dice, periodMs, 'delay' in rule, startAt),
    ...drawSpecOptions(dice),
    // Some end just when the next slot comes.
    input: { call: null, ms: dice.one([0, 500, 4_000, 5_000, 10_000, 12_000]), failures: dice.below(4) },
  };
}

/** What the jobs of a schedule are made with beside their input. */
function drawSpecOptions(dice: Dice): Pick<ScheduleDefinition, 'serial' | 'queue' | 'priority'> {
  return {
    ...(dice.chance(0.15) ? { serial: dice.one(['a', 'c']) } : {}),
    ...(dice.chance(0.15) ? { queue: 'side' } : {}),
    ...(dice.chance(0.2) ? { priority: dice.one([-1, 1, 5]) } : {}),
  };
}

function drawRule(dice: Dice): { rule: RuleInput; periodMs: number } {
  const kind = dice.below(10);
  const exclude = dice.chance(0.1) ? { exclude: [{ cron: '30-39 * * * * *' }] } : {};
  if (kind < 4) {
    const rate = dice.one([5, 7, 10, 20, 30, 61]) * second;
    return { rule: { rate, anchor: dice.one(['start', 'epoch'] as const), ...exclude }, periodMs: rate };
  }
  if (kind < 6) {
    const delay = dice.one([2, 5, 10, 20]) * second;
    return { rule: { delay }, periodMs: delay };
  }
  const seconds = dice.one([5, 10, 15, 20, 30]);
  if (kind < 9) return { rule: { cron: `*/${seconds} * * * * *`, ...exclude }, periodMs: seconds * second };
  return { rule: { cron: '* * * * *' }, periodMs: minute };
}

/** Any policies that may stand together; what is drawn and refused is refused. */
function drawPolicies(dice: Dice, periodMs: number, isDelay: boolean, startAt: number): SchedulePolicies {
  const modes = isDelay ? (['skip', 'latest'] as const) : (['skip', 'latest', 'all'] as const);
  const missed = dice.chance(0.6) ? dice.one(modes) : undefined;
  const onResume = dice.chance(0.4) ? dice.one(modes) : undefined;
  const onEdit = dice.chance(0.3) ? dice.one(modes) : undefined;
  const wantsAll = [missed, onResume, onEdit].includes('all');
  const overlaps = wantsAll
    ? (['allow', 'bufferAll'] as const)
    : (['skip', 'allow', 'bufferOne', 'bufferOne', 'bufferAll', 'cancelOther', 'terminateOther'] as const);
  const overlap = !isDelay && dice.chance(0.75) ? dice.one(overlaps) : undefined;
  const policies: SchedulePolicies = {};
  if (missed !== undefined) policies.missed = missed;
  if (onResume !== undefined) policies.onResume = onResume;
  if (onEdit !== undefined) policies.onEdit = onEdit;
  if (overlap !== undefined) policies.overlap = overlap;
  if (wantsAll) policies.catchUpLimit = dice.between(1, 4);
  if (dice.chance(0.2) && missed !== 'skip') policies.catchUpWindow = dice.between(1, 20) * periodMs;
  if (overlap === 'bufferAll' || wantsAll) policies.bufferLimit = dice.between(1, 5);
  if (overlap === 'allow') delete policies.bufferLimit;
  if (dice.chance(0.25)) policies.startDeadline = dice.between(2, 60) * second;
  if (dice.chance(0.3)) policies.jitter = dice.below(Math.floor(periodMs / 2));
  if (dice.chance(0.1) && !isDelay) policies.jitterMode = 'perFire';
  if (dice.chance(0.2)) policies.pauseAfterFailures = dice.between(1, 3);
  else if (dice.chance(0.15)) policies.flagAfterFailures = dice.between(1, 2);
  if (dice.chance(0.15)) policies.maxRuns = dice.between(1, 4);
  if (dice.chance(0.1)) policies.startAt = startAt + dice.below(30 * second);
  if (dice.chance(0.1)) policies.endAt = startAt + dice.between(30, 90) * second;
  return policies;
}
