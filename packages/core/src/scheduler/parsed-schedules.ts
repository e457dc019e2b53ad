import type { ScheduleRecord } from '../engine.ts';
import type { PlanRule } from '../schedule/plan-rule.ts';
import { resolveStoredRule, type StoredRule } from '../schedule/plan-rule-of.ts';
import type { Rule } from '../schedule/rule.ts';
import { parseSpec, type ScheduleSpec } from '../schedule/schedule-spec.ts';
import { parseState, type ScheduleState } from '../schedule/schedule-state.ts';

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
}

interface Remembered extends Omit<ParsedSchedule, 'state'> {
  text: string;
  anchorAt: number;
}

// Some kilobytes each; a node that decides more schedules than this reads the others anew.
const rememberedCountMax = 20_000;
// Ten thousand tenants have ten thousand schedules and, as a rule, a few dozen rules.
const ruleCountMax = 5_000;

/** Makes the reader. */
export function createParsedSchedules(): ParsedSchedules {
  const remembered = new Map<string, Remembered>();
  const rules = new Map<string, StoredRule>();

  /** The same rule under the same policies is resolved once, whichever schedules it belongs to. */
  function ruleOf({ rule, policies }: ScheduleSpec, anchorAt: number): StoredRule {
    const { startAt, endAt } = policies;
    // Only a rate counts from its anchor.
    const key = JSON.stringify([rule, startAt, endAt, rule['rate'] === undefined ? null : anchorAt]);
    const known = rules.get(key);
    if (known !== undefined) return known;
    const resolved = resolveStoredRule(rule, policies, anchorAt);
    if (rules.size >= ruleCountMax) rules.clear();
    rules.set(key, resolved);
    return resolved;
  }

  return {
    parse({ id, spec: text, state: stateText }) {
      const state = parseState(stateText);
      let known = remembered.get(id);
      if (known === undefined || known.text !== text || known.anchorAt !== state.anchorAt) {
        const spec = parseSpec(text);
        known = { text, anchorAt: state.anchorAt, spec, ...ruleOf(spec, state.anchorAt) };
      }
      // To the end of the map: its beginning is what was not used for the longest time.
      remembered.delete(id);
      remembered.set(id, known);
      if (remembered.size > rememberedCountMax) remembered.delete(remembered.keys().next().value as string);
      return { spec: known.spec, rule: known.rule, planRule: known.planRule, state };
    },
  };
}
