/** Calls that meet each other in ways that chance hardly brings about. One world in four has one kind of them. */
import type { PauseTarget } from '../../packages/core/src/jobs/pauses.ts';
import type { ScheduleDefinition } from '../../packages/core/src/schedules/definition/definition.ts';
import { plainCreate } from './plain-create.ts';
import type { Create, Script, ScriptNode, Step } from './script.ts';
import type { TaskName } from './tasks.ts';
import type { Dice } from './world.ts';

const second = 1_000;
const newer: Partial<Record<TaskName, number>> = { quick: 2, steady: 2 };
// One world in so many has a given kind.
const kindEvery = 32;

interface Addition {
  steps: Step[];
  /** What the processes must be like. */
  nodes?: (node: ScriptNode, place: number) => ScriptNode;
}

/** Adds one kind of them to some worlds. Drawn apart, so that the rest of the world stays as it is. */
export function withRareCalls(script: Script, dice: Dice): Script {
  const kinds = [
    drawReplacements,
    drawKeyCancels,
    drawTwoTenants,
    drawPausedJobs,
    drawLocksAskedForAgain,
    // Only some of them come late enough.
    ...[drawLatePauses, drawLatePauses],
    drawDeletions,
  ];
  const draw = kinds[dice.below(kindEvery)];
  if (draw === undefined) return script;
  const { steps, nodes } = draw(dice, dice.below(Math.floor(script.lastsMs / 2)));
  const added = [...script.steps, ...steps].sort((one, other) => one.atMs - other.atMs);
  if (nodes === undefined) return { ...script, steps: added };
  // What a release declares is created with the version that its nodes have; here nodes of one release have several.
  return { ...script, steps: added, declared: {}, nodes: script.nodes.map(nodes) };
}

/** Jobs of a paused task that are replaced by calls with other options, among others that wait. Half of the nodes have a newer version. */
function drawReplacements(dice: Dice, atMs: number): Addition {
  const task = dice.one(['quick', 'steady'] as const);
  const create = (afterMs: number, own: Partial<Create>): Step => ({
    ...plainCreate,
    ...{ atMs: atMs + afterMs, by: dice.below(1_000), task, ms: 300, count: 1, ...own },
  });
  const keyed = (afterMs: number, priority: number): Step =>
    create(afterMs, {
      dedupe: 'replace',
      priority,
      queue: dice.one([null, 'side']),
      delayMs: dice.chance(0.1) ? 1_500 : null,
      ...(dice.chance(0.7) ? { attempts: dice.between(1, 5) } : {}),
      ...(dice.chance(0.5) ? { timeoutMs: dice.between(10, 60) * second } : {}),
    });
  const pause: Step = { atMs, by: 0, do: 'pauseClaims', target: { type: task }, forMs: 2 * second };
  const others = [0, 1].map((): Step => create(dice.between(100, 500), { count: 3 }));
  const [before, after] = dice.one([
    [5, -5],
    [-5, 5],
    [0, 5],
    [0, 5],
  ] as const);
  const replacements = Array.from(
    { length: dice.between(1, 2) },
    (): Step => keyed(dice.between(600, 1_800), after),
  );
  return {
    steps: [pause, keyed(100, before), ...others, ...replacements],
    // With few places, the order in which jobs are claimed shows their rank.
    nodes: (node, place) => ({
      ...{ ...node, concurrency: 1, release: null },
      versionOf: place % 2 === 0 ? newer : {},
    }),
  };
}

/** Cancels by dedupe key while its holder runs and a follow-up waits behind it; sometimes the time of the key is over by then. */
function drawKeyCancels(dice: Dice, atMs: number): Addition {
  const tasks = ['slow', 'steady'] as const;
  return { steps: tasks.flatMap((task) => drawKeyCancel(dice, task, atMs + dice.below(second))) };
}

function drawKeyCancel(dice: Dice, task: TaskName, atMs: number): Step[] {
  const tenant = dice.one([null, null, 't']);
  const create = (afterMs: number, own: Partial<Create>): Step => ({
    ...plainCreate,
    ...{ atMs: atMs + afterMs, by: dice.below(1_000), task, tenant, ms: 4 * second, count: 1 },
    ...{ dedupe: dice.one(['replace', 'extend'] as const), ...own },
  });
  const cancel = (afterMs: number): Step => ({
    ...{ atMs: atMs + afterMs, by: dice.below(1_000), do: 'cancelKey', task, tenant },
  });
  const followUp = {
    ...{ delayMs: dice.one([null, null, 3_000]), ms: 100, dedupeForMs: dice.one([null, null, 500]) },
  };
  return [
    create(0, { dedupeForMs: dice.one([null, null, 1_200, 8_000]) }),
    create(dice.between(500, 1_000), followUp),
    cancel(dice.between(1_000, 2_500)),
    create(dice.between(2_500, 3_000), { ms: 100 }),
    ...(dice.chance(0.5) ? [cancel(dice.between(2_600, 6_000))] : []),
  ];
}

/** Jobs of two tenants under one serial key: the long run of one is nothing that the other waits for. */
function drawTwoTenants(dice: Dice, atMs: number): Addition {
  const tenants = dice.one([
    [null, 't'],
    ['t', null],
  ] as const);
  const create = { ...plainCreate, task: 'steady', serial: 'shared' } as const;
  const [long, short] = tenants.map((tenant, i) => ({
    ...{ ...create, tenant, atMs: atMs + i * dice.between(100, second), by: dice.below(1_000) },
  }));
  return {
    steps: [
      { ...long, ms: 12 * second, count: 1 } as Step,
      { ...short, ms: 100, count: dice.between(1, 2) } as Step,
    ],
    nodes: (node) => ({ ...node, release: null, concurrency: Math.max(4, node.concurrency) }),
  };
}

/** Jobs that fall due in a pause that ends by itself. */
function drawPausedJobs(dice: Dice, atMs: number): Addition {
  const target: PauseTarget = dice.one([{ type: 'steady' }, { queue: 'side' }]);
  const create = { ...plainCreate, task: 'steady', queue: 'side', ms: 100, count: 1 } as const;
  const created = (): Step => ({
    ...{
      ...create,
      atMs: atMs + dice.between(50, 800),
      by: dice.below(1_000),
      delayMs: dice.one([null, 500]),
    },
  });
  return {
    steps: [
      { atMs, by: dice.below(1_000), do: 'pauseClaims', target, forMs: dice.between(2, 4) * second },
      ...[0, 1].map(created),
    ],
  };
}

/** Locks that are asked for again under the same token, because the answers were lost. */
function drawLocksAskedForAgain(dice: Dice, atMs: number): Addition {
  const weather = { replyLost: 0.5, slow: 0, crash: 0, notificationLost: 0 };
  const acquires = [0, 1, 2].map(
    (i): Step => ({
      ...{ atMs: atMs + 100 + i * 400, by: dice.below(1_000), do: 'acquire' },
      ...{ name: dice.one(['m', 'n']), ttlMs: 5 * second, ms: dice.between(100, 2_000) },
    }),
  );
  return { steps: [{ atMs, by: 0, do: 'weather', forMs: 2 * second, weather }, ...acquires] };
}

/** A pause of a schedule that is on its way until the schedule has been deleted and created again. */
function drawLatePauses(dice: Dice, atMs: number): Addition {
  // The operations of the world do not know this schedule.
  const schedule = 6;
  const by = (): number => dice.below(1_000);
  const definition: ScheduleDefinition = {
    ...{ type: 'quick', name: `s${schedule}`, rate: 20 * second },
    input: { call: null, ms: 0, failures: 0 },
  };
  const weather = { replyLost: 0, slow: 1, crash: 0, notificationLost: 0 };
  const rounds = [1, 2, 3].map((i): Step[] => {
    const pauseMs = atMs + i * second;
    return [
      { atMs: pauseMs, by: by(), do: 'pause', schedule, forMs: null },
      // If the call that reads is on its way by then, its answer or the call that writes comes too late.
      { atMs: pauseMs + dice.between(1, 3), by: 0, do: 'weather', forMs: 10, weather },
      { atMs: pauseMs + 20, by: by(), do: 'remove', schedule },
      { atMs: pauseMs + 50, by: by(), do: 'put', definition },
    ];
  });
  return { steps: [{ atMs, by: by(), do: 'put', definition }, ...rounds.flat()] };
}

/** A schedule that is deleted while its runs wait, and a job that is deleted before the repeat of its call arrives. */
function drawDeletions(dice: Dice, atMs: number): Addition {
  const schedule = 5;
  const by = (): number => dice.below(1_000);
  const definition: ScheduleDefinition = {
    ...{ type: 'steady', name: `s${schedule}`, rate: 60 * second, overlap: 'bufferAll', bufferLimit: 5 },
    input: { call: null, ms: 4 * second, failures: 0 },
  };
  const trigger = { do: 'trigger', schedule, allow: false, hasInput: false } as const;
  const create = { ...plainCreate, task: 'quick', delayMs: 4 * second, ms: 0, count: 1 } as const;
  return {
    steps: [
      { atMs, by: by(), do: 'put', definition },
      ...[1, 2].map((i): Step => ({ atMs: atMs + i * 300, by: by(), ...trigger })),
      { atMs: atMs + 1_500, by: by(), do: 'remove', schedule },
      { atMs: atMs + 2_000, by: by(), ...create, twinMs: second },
      { atMs: atMs + 2_100, by: by(), do: 'delete', job: -1 },
    ],
  };
}
