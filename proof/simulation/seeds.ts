/** Plays seeds, and tells of one that fails so that somebody can see why. */
import { check, type Violation } from '../checker/index.ts';
import type { Evidence } from '../history.ts';
import { drawScript, type Script } from './script.ts';
import { shrink } from './shrink.ts';
import { type SimulateOptions, simulate } from './simulate.ts';
import { describe, trace } from './trace.ts';
import { watched } from './watchdog.ts';

/** A seed that was played. */
export interface Played {
  seed: number;
  script: Script;
  evidence: Evidence;
  violations: Violation[];
}

/** Plays one seed and judges it. */
export async function playSeed(seed: number, options: SimulateOptions = {}): Promise<Played> {
  const script = drawScript(seed);
  const evidence = await watched(seed, () => simulate(script, options));
  return { seed, script, evidence, violations: check(evidence) };
}

/** The command that plays a seed again. */
export function replayCommand(seed: number): string {
  return `npm run simulate -- --seed ${seed} --trace`;
}

// Of a world that did not come to rest, what it turns in.
const lastEventCount = 30;

/** What is broken and how to play it again: known at once, before anything smaller is looked for. */
export function headlineOf({ seed, violations }: Played): string {
  return [
    `Seed ${seed} breaks ${violations.length} promise${violations.length === 1 ? '' : 's'}:`,
    ...violations.slice(0, 5).map(({ invariant, message }) => `  ${invariant}: ${message}`),
    `Play it again: ${replayCommand(seed)}`,
  ].join('\n');
}

/** A failure in words: what is broken, what happened around it, and how to see it again. `headline: false`: it was told already. */
export async function describeFailure(
  played: Played,
  options: SimulateOptions & { headline?: boolean } = {},
): Promise<string> {
  const [first] = played.violations;
  if (first === undefined) return '';
  const small = await shrink(played.script, first.invariant, options);
  const evidence = await simulate(small, options);
  const violations = check(evidence);
  const [shown] = violations;
  const steps = small.steps.map(({ atMs, by: _by, do: what, ...rest }) => {
    const details = JSON.stringify(rest);
    return `  ${(atMs / 1_000).toFixed(3).padStart(7)} s  ${what} ${details === '{}' ? '' : details}`;
  });
  return [
    ...(options.headline === false ? [] : [headlineOf(played)]),
    `The same with ${small.steps.length} of ${played.script.steps.length} steps (${small.nodes.length} nodes, lease ${small.leaseMs} ms):`,
    ...steps,
    ...(shown === undefined
      ? []
      : [`  ${shown.invariant}: ${shown.message}`, ...trace(evidence, shown.subjects)]),
    ...(evidence.restless === undefined
      ? []
      : ['The last events:', ...evidence.events.slice(-lastEventCount).map(describe)]),
  ].join('\n');
}

/** Plays a range of seeds; stops at the first that fails, tells of it at once, and answers with its description. */
export async function playSeeds(
  from: number,
  count: number,
  onSeed?: (seed: number) => void,
): Promise<string | null> {
  for (let seed = from; seed < from + count; seed++) {
    const played = await playSeed(seed);
    if (played.violations.length > 0) {
      console.error(headlineOf(played));
      return describeFailure(played, { headline: false });
    }
    onSeed?.(seed);
  }
  return null;
}
