import type { JobPolicy, JsonText, ScheduleRecord } from '../../contract/engine.ts';
import type { Rule } from '../calendar/rule.ts';
import { withPendingSlot } from './pending-slot.ts';
import { type PlanRule, resolveStoredRule, type StoredRule } from './planned-rule.ts';
import type { ScheduleSpec } from './spec.ts';
import { createSpecReader } from './spec-reader.ts';
import { parseState, type ScheduleState } from './state.ts';

/** A stored schedule, read. */
export interface ParsedSchedule {
  readonly spec: ScheduleSpec;
  readonly state: ScheduleState;
  readonly rule: Rule;
  readonly planRule: PlanRule;
}

/** Reads stored schedules; remembers their rules, which are costly to resolve, for as long as their spec stays the same. */
export interface ParsedSchedules {
  /** Throws `store_corrupt` or `schema_too_new`, or what the rule throws here (an RRULE needs its library). */
  parse(record: ScheduleRecord): ParsedSchedule;
  /** Tells what was written as the state of a schedule that was read here: it comes back with the next claim, and is not read again. */
  wrote(id: string, state: ScheduleState, text: JsonText): void;
  /** Tells when a schedule that was read here is due again, in so many milliseconds; null: never. One that is far off is not remembered. */
  next(id: string, inMs: number | null): void;
}

interface Remembered extends ParsedSchedule {
  /** Without what an edit left undecided. */
  ownRule: PlanRule;
  planRule: PlanRule;
  text: JsonText;
  anchorAt: number;
  state: ScheduleState;
  stateText: JsonText;
}

// Some kilobytes each; a node that decides more schedules than this reads the others anew.
const rememberedCountMax = 20_000;
const forgottenAtOnce = 2_000;
// To keep a schedule of once a day costs more, each time that memory is tidied, than to read it once a day.
const rememberedMsMax = 10 * 60_000;
// Ten thousand tenants have ten thousand schedules and, as a rule, a few dozen rules.
const ruleCountMax = 5_000;

/** Whether two values that were read from JSON say the same, with their fields in one order. */
function isAlike(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const names = Object.keys(one);
  const others = Object.keys(other);
  return (
    names.length === others.length &&
    names.every(
      (name, i) => name === others[i] && isAlike(one[name as keyof object], other[name as keyof object]),
    )
  );
}

/** Makes the reader. */
export function createParsedSchedules(): ParsedSchedules {
  const remembered = new Map<string, Remembered>();
  const rules = new Map<string, StoredRule>();
  const policies = new Map<string, JobPolicy>();

  /** The same rule under the same policies is resolved once, whichever schedules it belongs to. */
  function ruleOf(spec: ScheduleSpec, anchorAt: number): StoredRule {
    const { rule, policies } = spec;
    const { startAt, endAt } = policies;
    // Only a rate counts from its anchor.
    const isAnchored = rule['rate'] !== undefined;
    if (lastRuled?.rule === rule && lastRuled.policies === policies && !isAnchored) return lastRuled.stored;
    const key = JSON.stringify([rule, startAt, endAt, isAnchored ? anchorAt : null]);
    let stored = rules.get(key);
    if (stored === undefined) {
      stored = resolveStoredRule(rule, policies, anchorAt);
      if (rules.size >= ruleCountMax) rules.clear();
      rules.set(key, stored);
    }
    lastRuled = { rule, policies, stored };
    return stored;
  }

  let lastPolicy: JobPolicy | null = null;
  /** Specs that are alike share these objects. */
  let lastRuled: (Pick<ScheduleSpec, 'rule' | 'policies'> & { stored: StoredRule }) | null = null;

  /** Schedules of one task have one policy: as one object it travels once for all jobs that are created together. */
  function sharePolicy({ job }: ScheduleSpec): void {
    // Schedules that fall due together are of one task as a rule.
    if (lastPolicy === null || !isAlike(lastPolicy, job.policy)) {
      const key = JSON.stringify(job.policy);
      lastPolicy = policies.get(key) ?? job.policy;
      if (policies.size >= ruleCountMax) policies.clear();
      policies.set(key, lastPolicy);
    }
    job.policy = lastPolicy;
  }

  const readSpec = createSpecReader(sharePolicy);

  function read(text: JsonText, state: ScheduleState, stateText: JsonText): Remembered {
    const spec = readSpec(text);
    const { anchorAt } = state;
    const { rule, planRule } = ruleOf(spec, anchorAt);
    return { text, anchorAt, state, stateText, spec, rule, planRule, ownRule: planRule };
  }

  return {
    parse({ id, spec: text, state: stateText }) {
      const before = remembered.get(id);
      const state = before?.stateText === stateText ? before.state : parseState(stateText);
      const isSame = before !== undefined && before.text === text && before.anchorAt === state.anchorAt;
      const known = isSame ? before : read(text, state, stateText);
      known.state = state;
      known.stateText = stateText;
      known.planRule = withPendingSlot(known.ownRule, state.pendingSlot);
      // To the end of the map: its beginning is what was not used for the longest time.
      remembered.delete(id);
      remembered.set(id, known);
      if (remembered.size > rememberedCountMax) forgetOldest(remembered);
      return known;
    },
    wrote(id, state, stateText) {
      const known = remembered.get(id);
      if (known === undefined) return;
      known.state = state;
      known.stateText = stateText;
    },
    next(id, inMs) {
      if (inMs === null || inMs > rememberedMsMax) remembered.delete(id);
    },
  };
}

/** Many at once: a map keeps the places of what was deleted for a while, and who asks for its first key walks over them. */
function forgetOldest(remembered: Map<string, Remembered>): void {
  let left = forgottenAtOnce;
  for (const id of remembered.keys()) {
    remembered.delete(id);
    left -= 1;
    if (left === 0) return;
  }
}
