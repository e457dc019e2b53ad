/** Failing scripts as JSON files, so that a failure stays playable after the generator of scripts has changed. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { roles } from '../../packages/core/src/options.ts';
import { invariants } from '../checker/index.ts';
import { seedMax } from './commit-seeds.ts';
import type { Act, Script, ScriptNode, Step } from './script.ts';
import type { SimulatedEngine } from './seeds.ts';
import { taskNames } from './tasks.ts';
import type { Weather } from './wire.ts';

/** The content of a stored script. */
export interface StoredScript {
  /** The invariant that the script broke when it was found. */
  invariant: string;
  seed: number;
  /** The engine that it failed on; left out: `sqlite`. */
  engine?: SimulatedEngine;
  /** ISO date. */
  foundAt: string;
  script: Script;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const regressions = join(root, 'proof/regressions');

const fileOf = ({ invariant, seed }: StoredScript, folder: string): string =>
  join(folder, `${invariant}-${seed}.json`);

/** Where a failing script is stored, relative to the repository. */
export function storedPath(stored: StoredScript): string {
  return relative(root, fileOf(stored, regressions));
}

/** Writes a failing script, by default to `proof/regressions/`, and returns its path, relative to the repository. */
export function storeScript(stored: StoredScript, folder = regressions): string {
  const path = fileOf(stored, folder);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, `${JSON.stringify(stored, null, 2)}\n`);
  return relative(root, path);
}

/** What is wrong with a value that was read from a file. */
export interface Problem {
  /** Where it is, for example `script.steps[2].do`. Empty: the value as a whole. */
  path: string;
  expected: string;
  got: unknown;
}

/** Says what is wrong with a value, or null. */
export type Check = (value: unknown, path: string) => Problem | null;

/** A check for each field of an object. The compiler sees to it that none is missing. */
export type ChecksOf<Fields> = { [Field in keyof Fields]-?: Check };

const must =
  (expected: string, accepts: (value: unknown) => boolean): Check =>
  (value, path) =>
    accepts(value) ? null : { path, expected, got: value };

const whole = (min: number, max = Number.MAX_SAFE_INTEGER): Check => {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} up` : `from ${min} to ${max}`;
  const expected = min === -max ? 'a whole number' : `a whole number ${range}`;
  return must(
    expected,
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
  );
};
const integer = whole(-Number.MAX_SAFE_INTEGER);
const count = whole(0);
const share = must('a number from 0 to 1', (value) => typeof value === 'number' && value >= 0 && value <= 1);
const truth = must('true or false', (value) => typeof value === 'boolean');
const text = must('a text', (value) => typeof value === 'string');
const object = must('an object', isObject);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One of these values. */
export function oneOf(values: readonly unknown[]): Check {
  return must(`${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`, (value) => values.includes(value));
}

/** A check of a field that may be left out. */
export function optional(check: Check): Check {
  return (value, path) => (value === undefined ? null : check(value, path));
}

function orNull(check: Check): Check {
  return (value, path) => {
    const problem = value === null ? null : check(value, path);
    return problem?.path === path ? { ...problem, expected: `${problem.expected}, or null` } : problem;
  };
}

function listOf(check: Check, min = 0): Check {
  const expected = min === 0 ? 'a list' : 'a list that is not empty';
  return (value, path) => {
    if (!Array.isArray(value) || value.length < min) return { path, expected, got: value };
    for (const [i, item] of value.entries()) {
      const problem = check(item, `${path}[${i}]`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** An object whose keys are names. */
function mapOf(check: Check, key: Check = text): Check {
  return (value, path) => {
    if (!isObject(value)) return object(value, path);
    for (const [name, item] of Object.entries(value)) {
      const problem = key(name, `the key ${fieldOf(path, name)}`) ?? check(item, fieldOf(path, name));
      if (problem !== null) return problem;
    }
    return null;
  };
}

/** An object with these fields and no others. */
export function fields(checks: Record<string, Check>): Check {
  return (value, path) => {
    if (!isObject(value)) return object(value, path);
    for (const [name, check] of Object.entries(checks)) {
      const problem = check(value[name], fieldOf(path, name));
      if (problem !== null) return problem;
    }
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(checks, name));
    if (unknown === undefined) return null;
    return {
      path: fieldOf(path, unknown),
      expected: 'left out: there is no such field',
      got: value[unknown],
    };
  };
}

const fieldOf = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** Throws an error that says what was expected where, and what was found. */
export function assertRead(check: Check, value: unknown, place: string): void {
  const problem = check(value, '');
  if (problem === null) return;
  const { path, expected, got } = problem;
  const whole = JSON.stringify(got) ?? 'nothing';
  const shown = whole.length > 60 ? `${whole.slice(0, 60)}…` : whole;
  throw new Error(`Expected ${path === '' ? place : `${path} in ${place}`} to be ${expected}, got ${shown}.`);
}

/** An ISO date, with or without a time. */
export const isoDate = must('an ISO date', (value) => {
  const [, day] = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/.exec(String(value)) ?? [];
  if (typeof value !== 'string' || day === undefined || Number.isNaN(Date.parse(value))) return false;
  return new Date(day).toISOString().startsWith(day);
});

/** The engines that worlds are played on. */
export const engineNames = Object.keys({
  sqlite: true,
  postgres: true,
} satisfies Record<SimulatedEngine, true>) as readonly SimulatedEngine[];
/** The name of an engine. */
export const engineName = oneOf(engineNames);
/** The name of an invariant, or what a world breaks that throws. */
export const invariantName = must('the name of an invariant', (value) =>
  [...invariants.map(({ name }) => name), 'does-not-throw'].includes(value as string),
);

const taskName = oneOf(taskNames);
// What else schedules are defined with is the engine's to refuse: worlds try that too.
const definition: Check = (value, path) =>
  object(value, path) ??
  taskName((value as Record<string, unknown>)['type'], `${path}.type`) ??
  text((value as Record<string, unknown>)['name'], `${path}.name`);
const target: Check = (value, path) => {
  const [field, ...others] = isObject(value) ? Object.keys(value) : [];
  const isTarget = others.length === 0 && ['queue', 'type', 'all'].includes(field ?? '');
  return isTarget ? null : { path, expected: 'an object with one of queue, type and all', got: value };
};
const weather = fields({
  ...{ replyLost: share, slow: share, crash: share, notificationLost: share },
} satisfies ChecksOf<Weather>);

type ActOf<Kind, Any = Act> = Any extends { do: infer Kinds } ? (Kind extends Kinds ? Any : never) : never;
type ActChecks = { [Kind in Act['do']]: ChecksOf<Omit<ActOf<Kind>, 'do'>> };

/** Every act with its fields. The compiler sees to it that none is missing. */
const acts: ActChecks = {
  create: {
    ...{ task: taskName, delayMs: orNull(count), isInstant: truth, ms: count, failures: count },
    ...{ serial: orNull(text), dedupe: orNull(oneOf(['drop', 'replace', 'extend'])) },
    ...{ dedupeForMs: orNull(count), maxWaitMs: orNull(count), queue: orNull(text), tenant: orNull(text) },
    ...{ priority: integer, count, twinMs: optional(count) },
    ...{ attempts: optional(whole(1)), timeoutMs: optional(whole(1)) },
  },
  cancel: { job: integer },
  cancelKey: { task: taskName, tenant: orNull(text) },
  terminate: { job: integer },
  retry: { job: integer },
  delete: { job: integer },
  reschedule: { job: integer, delayMs: count },
  put: { definition },
  edit: { schedule: count, changes: object },
  pause: { schedule: count, forMs: orNull(count) },
  resume: { schedule: count },
  skipNext: { schedule: count },
  remove: { schedule: count },
  trigger: { schedule: count, allow: truth, hasInput: truth },
  backfill: { schedule: count, backMs: count, concurrency: whole(1), reprocess: truth, allow: truth },
  lock: { name: text, ttlMs: count, ms: count },
  acquire: { name: text, ttlMs: count, ms: count },
  transact: { count, forMs: count, end: oneOf(['commit', 'rollBack', 'crash']), isKeyed: truth },
  once: { key: text, ms: count },
  value: { op: oneOf(['put', 'extend', 'delete', 'get']), key: text, forMs: count },
  pauseClaims: { target, forMs: count },
  resumeClaims: { target },
  crash: {},
  restart: {},
  freeze: { forMs: count },
  block: { forMs: count },
  nodeClock: { byMs: integer },
  storeClock: { byMs: integer },
  refuse: { forMs: count },
  weather: { forMs: count, weather },
  deploy: { release: text, forMs: count },
};

const kind = oneOf(Object.keys(acts));
const step: Check = (value, path) => {
  if (!isObject(value)) return object(value, path);
  const problem = kind(value['do'], `${path}.do`);
  if (problem !== null) return problem;
  const act: Record<string, Check> = acts[value['do'] as Act['do']];
  return fields({ ...stepChecks, ...act })(value, path);
};
const stepChecks = { atMs: count, by: count, do: kind } satisfies ChecksOf<Pick<Step, 'atMs' | 'by' | 'do'>>;
const node = fields({
  ...{ roles: listOf(oneOf(roles)), concurrency: whole(1), release: orNull(text) },
  ...{ queues: optional(orNull(listOf(text))), versionOf: optional(mapOf(whole(1), taskName)) },
} satisfies ChecksOf<ScriptNode>);

/** Whether a value is a script that can be played. */
export const scriptCheck: Check = fields({
  ...{ seed: whole(0, seedMax), startAt: count, lastsMs: whole(1), leaseMs: whole(1) },
  ...{
    nodes: listOf(node, 1),
    declared: mapOf(mapOf(object, taskName)),
    steps: listOf(step),
    hasFile: truth,
  },
} satisfies ChecksOf<Script>);

const storedCheck = fields({
  ...{ invariant: invariantName, seed: whole(0, seedMax), engine: optional(engineName) },
  ...{ foundAt: isoDate, script: scriptCheck },
} satisfies ChecksOf<StoredScript>);

/** Reads a stored script. Throws an error with the path if the file is not one. */
export function readStoredScript(path: string): StoredScript {
  const stored = parseFile(path);
  assertRead(storedCheck, stored, `"${path}"`);
  const { seed, script } = stored as StoredScript;
  assertRead(oneOf([script.seed]), seed, `the seed of "${path}"`);
  return stored as StoredScript;
}

function parseFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`Expected "${path}" to be a stored script: ${(error as Error).message}`);
  }
}

/** The paths of all stored scripts, relative to the repository, in order. */
export function listStoredScripts(): string[] {
  try {
    const names = readdirSync(regressions).filter((name) => name.endsWith('.json'));
    return names.sort().map((name) => relative(root, join(regressions, name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The command that plays a stored script. */
export function scriptCommand(path: string, engine: SimulatedEngine = 'sqlite'): string {
  const chosen = engine === 'sqlite' ? '' : `--engine ${engine} `;
  const quoted = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
  return `npm run simulate -- ${chosen}--script ${quoted} --trace`;
}
