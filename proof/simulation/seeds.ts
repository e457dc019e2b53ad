/** Plays seeds, and tells of one that fails so that somebody can see why. */
import { check, type ExerciseCounts, invariants, type Violation } from '../checker/index.ts';
import type { Evidence } from '../history.ts';
import { drawScript, type Script } from './script.ts';
import { shrink } from './shrink.ts';
import { type SimulateOptions, simulate } from './simulate.ts';
import { scriptCommand } from './stored-script.ts';
import { describe, trace } from './trace.ts';
import { watched } from './watchdog.ts';

/** A world that was played. */
export interface Played {
  seed: number;
  script: Script;
  /** The stored script that it was read from, whose seed may mean another world by now; null: it was drawn from its seed. */
  path: string | null;
  evidence: Evidence;
  violations: Violation[];
  engine: SimulatedEngine;
  /** How often each invariant compared something that could have broken it. */
  counts: ExerciseCounts;
}

/** The engine that a world is played on. */
export type SimulatedEngine = 'sqlite' | 'postgres';

/** Plays one seed and judges it. */
export async function playSeed(seed: number, options: SimulateOptions = {}): Promise<Played> {
  return playScript(drawScript(seed), options);
}

/** Plays a script and judges it; `path` is that of a stored one. */
export async function playScript(
  script: Script,
  options: SimulateOptions = {},
  path: string | null = null,
): Promise<Played> {
  const { seed } = script;
  const engine = options.open === undefined ? 'sqlite' : 'postgres';
  const origin = { seed, path, engine } as const;
  const counts: ExerciseCounts = new Map();
  try {
    const evidence = await watched(nameOf(origin), commandOf(origin), () => simulate(script, options));
    const violations = check(evidence, invariants, counts);
    return { ...origin, script, evidence, violations, counts };
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const violations = [{ invariant: throwing, message, subjects: [] }];
    return { ...origin, script, evidence: nothing, violations, counts };
  }
}

// What a world breaks that cannot be played or judged to its end.
const throwing = 'does-not-throw';
const nothing: Evidence = {
  events: [],
  final: { at: 0, jobs: [], schedules: [], ledger: {}, audit: [] },
  isComplete: true,
  isSettled: false,
};

/** The command that plays a seed again. */
export function replayCommand(seed: number, engine: SimulatedEngine = 'sqlite'): string {
  const chosen = engine === 'sqlite' ? '' : `--engine ${engine} `;
  return `npm run simulate -- ${chosen}--seed ${seed} --trace`;
}

type Origin = Pick<Played, 'seed' | 'path' | 'engine'>;

const nameOf = ({ seed, path }: Origin): string => path ?? `Seed ${seed}`;

function commandOf({ seed, path, engine }: Origin): string {
  return path === null ? replayCommand(seed, engine) : scriptCommand(path, engine);
}

// Of a world that did not come to rest, what it turns in.
const lastEventCount = 30;

/** What is broken and how to play it again: known at once, before anything smaller is looked for. */
export function headlineOf(played: Played): string {
  const { violations } = played;
  return [
    `${nameOf(played)} breaks ${violations.length} promise${violations.length === 1 ? '' : 's'}:`,
    ...violations.slice(0, 5).map(({ invariant, message }) => `  ${invariant}: ${message}`),
    `Play it again: ${commandOf(played)}`,
  ].join('\n');
}

/** The smallest script found that breaks the same invariant, and its description. */
export interface ShrunkenFailure {
  script: Script;
  text: string;
}

/** Shrinks a failure, until the signal is aborted, and describes what happens in the smaller world. */
export async function shrinkFailure(
  played: Played,
  options: SimulateOptions = {},
  signal?: AbortSignal,
): Promise<ShrunkenFailure> {
  const [first] = played.violations;
  if (first === undefined) throw new Error(`Expected a world that fails, but ${nameOf(played)} does not.`);
  const play = (script: Script, given: SimulateOptions) => playScript(script, given, played.path);
  const small = await shrink(played.script, first.invariant, play, options, signal);
  const isInterrupted = signal?.aborted === true;
  const { evidence, violations } = small === played.script ? played : await play(small, options);
  const [shown] = violations;
  const steps = small.steps.map(({ atMs, by: _by, do: what, ...rest }) => {
    const details = JSON.stringify(rest);
    return `  ${(atMs / 1_000).toFixed(3).padStart(7)} s  ${what} ${details === '{}' ? '' : details}`;
  });
  const text = [
    `The same with ${small.steps.length} of ${played.script.steps.length} steps (${small.nodes.length} nodes, lease ${small.leaseMs} ms${isInterrupted ? '; shrinking was interrupted' : ''}):`,
    ...steps,
    ...(shown === undefined
      ? []
      : [`  ${shown.invariant}: ${shown.message}`, ...trace(evidence, shown.subjects)]),
    ...(evidence.restless === undefined
      ? []
      : ['The last events:', ...evidence.events.slice(-lastEventCount).map(describe)]),
  ].join('\n');
  return { script: small, text };
}

/** Describes a failure: what is broken, how to play it again, and what happens in the smallest world that shows it. */
export async function describeFailure(played: Played, options: SimulateOptions = {}): Promise<string> {
  if (played.violations.length === 0) return '';
  const { text } = await shrinkFailure(played, options);
  return `${headlineOf(played)}\n${text}`;
}
