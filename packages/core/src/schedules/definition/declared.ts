/** What a set of declarations means for the schedules that are stored. Pure: facts in, plan out. */
import { isDeepStrictEqual } from 'node:util';
import type { NodeInfo, ScheduleRecord } from '../../contract/engine.ts';
import { compareReleases } from './app-release.ts';
import { isRefused, type ScheduleDraft } from './definition.ts';
import { scheduleIdOf } from './identity.ts';
import { type Changed, changeableJobFields, fieldOf, withChanges } from './override.ts';
import { hasSameRule, type ScheduleSpec } from './spec.ts';
import type { ScheduleState } from './state.ts';

/** A stored schedule of the app, read. */
export interface StoredSchedule {
  record: Pick<ScheduleRecord, 'id' | 'name' | 'tenant' | 'version'>;
  spec: ScheduleSpec;
  state: Pick<ScheduleState, 'pause'>;
}

/** What is compared. */
export interface DeclaredInput {
  /** The release of the process that declares; null: none was given. */
  release: string | null;
  declared: readonly ScheduleDraft[];
  /** All stored schedules of the app. */
  stored: readonly StoredSchedule[];
  /** The other live nodes of the app: what they declare is not for an equal release to take away. */
  elsewhere: readonly Pick<NodeInfo, 'release' | 'declares'>[];
  /** Remove what is not declared instead of disabling it. */
  prune: boolean;
  now: number;
}

/** What is to be done about one schedule. */
export type DeclaredStep = {
  id: string;
  name: string;
  tenant: string | null;
  /** Fields that differ, as stored and as declared. */
  fields: { field: string; stored: unknown; declared: unknown }[];
  /** Why, where the step alone does not say. */
  note: string | null;
} & (
  | { step: 'add'; spec: ScheduleSpec }
  /** `from`: the stored spec that was compared; the step holds only as long as it stands. `enables`: it was disabled and is declared again. */
  | { step: 'edit'; from: ScheduleSpec; spec: ScheduleSpec; enables: boolean; isSameRule: boolean }
  | { step: 'none' }
  /** As declared, or as undeclared, as it was; only the release that says so last is another one now. */
  | { step: 'release'; from: ScheduleSpec; spec: ScheduleSpec }
  /** The release that declared it is not for this process to overrule: left alone. */
  | { step: 'keep' }
  | { step: 'disable'; from: ScheduleSpec; spec: ScheduleSpec }
  /** No longer declared here, and shown as such; nothing else changes. */
  | { step: 'drift'; from: ScheduleSpec; spec: ScheduleSpec }
  | { step: 'remove'; from: ScheduleSpec }
);

/** Compares the declared set with the stored one: docs/reference/semantics.md#declared-sets. In the order of the declarations, then of the stored. */
export function planDeclared(input: DeclaredInput): DeclaredStep[] {
  const stored = new Map(input.stored.map((one) => [one.record.id, one]));
  const steps: DeclaredStep[] = [];
  for (const draft of input.declared) {
    const id = scheduleIdOf(draft);
    const known = stored.get(id);
    stored.delete(id);
    steps.push(known === undefined ? add(id, draft, input) : compare(known, draft, input));
  }
  for (const known of stored.values()) steps.push(undeclared(known, input));
  return steps;
}

function add(id: string, draft: ScheduleDraft, { release }: DeclaredInput): DeclaredStep {
  if (draft.refusal !== null) throw draft.refusal;
  const spec = specOf(draft, { release, override: null, drift: null });
  return { step: 'add', id, name: draft.name, tenant: draft.tenant, spec, fields: [], note: null };
}

function compare(known: StoredSchedule, draft: ScheduleDraft, input: DeclaredInput): DeclaredStep {
  const { record, spec, state } = known;
  const of = { id: record.id, name: record.name, tenant: record.tenant };
  const fields = differences(baseOf(spec), draft);
  const isDisabled = state.pause?.cause === 'disabled';
  const owner = ownerAbove(spec, input);
  if (owner !== null) {
    if (fields.length > 0) return { ...of, step: 'keep', fields, note: owner };
    // It may not overrule that release, but that the schedule is declared it does say.
    if (!isDisabled) {
      const note = input.release === null ? null : owner;
      if (spec.drift?.kind !== 'undeclared') return { ...of, step: 'none', fields, note };
      const declared: ScheduleSpec = { ...spec, drift: overriddenDrift(spec) };
      return {
        ...of,
        step: 'edit',
        from: spec,
        spec: declared,
        enables: false,
        isSameRule: true,
        fields,
        note: again,
      };
    }
    return { ...of, step: 'none', fields, note: owner };
  }
  const { next, isContrary } = declaredAgain(spec, draft, input);
  if (
    !isDisabled &&
    isDeepStrictEqual(plain({ ...next, release: null }), plain({ ...spec, release: null }))
  ) {
    if (next.release === spec.release) return { ...of, step: 'none', fields, note: null };
    return { ...of, step: 'release', from: spec, spec: next, fields, note: null };
  }
  if (isRefused(draft.refusal, spec, next)) throw draft.refusal;
  const isPaused = isDisabled && state.pause?.kept !== undefined;
  const isFound = isDisabled || spec.drift?.kind === 'undeclared';
  const changedBy =
    spec.override === null
      ? null
      : `changed by ${spec.override.by}${isContrary ? ', which contradicts what is declared now: it stays whole as it is until it is reverted' : ''}`;
  const note = isPaused ? `${again}, and paused as it was` : isFound ? again : changedBy;
  const isSameRule = hasSameRule(spec, next);
  return { ...of, step: 'edit', from: spec, spec: next, enables: isDisabled, isSameRule, fields, note };
}

const again = 'declared again';

/**
 * Why a schedule belongs to a release that this process may not overrule: a higher one, or any where this process has none. null:
 * it may be edited, disabled and removed.
 */
function ownerAbove(spec: ScheduleSpec, { release }: DeclaredInput): string | null {
  if (spec.release === null) return null;
  if (release === null) return `release "${spec.release}" declared it, and this process has no release`;
  if (compareReleases(release, spec.release) >= 0) return null;
  return `release "${spec.release}" declared it, and this is release "${release}"`;
}

/**
 * The spec after a new declaration: a person's override stands above it, and the drift says what the code wants. `isContrary`: the two do not go
 * together.
 */
function declaredAgain(
  spec: ScheduleSpec,
  draft: ScheduleDraft,
  { release, now }: DeclaredInput,
): { next: ScheduleSpec; isContrary: boolean } {
  const { override } = spec;
  if (override === null) {
    return { next: specOf(draft, { release, override: null, drift: null }), isContrary: false };
  }
  const drift: ScheduleSpec['drift'] = { kind: 'overridden', declared: { ...declaredPart(draft) } };
  try {
    const changed = { ...draft, ...withChanges(draft, override.changes, now) };
    return { next: specOf(changed, { release, override, drift }), isContrary: false };
  } catch {
    // The person's rule and policies stay as they are.
    return { next: { ...spec, release, drift }, isContrary: true };
  }
}

/** The drift of a schedule that is declared: what a person changed, if anybody did. */
function overriddenDrift(spec: ScheduleSpec): ScheduleSpec['drift'] {
  return spec.override === null ? null : { kind: 'overridden', declared: { ...baseOf(spec) } };
}

/** The drift of one that is not. What the code declared last below a person's changes is kept, for a revert. */
function undeclaredDrift(spec: ScheduleSpec): ScheduleSpec['drift'] {
  return { kind: 'undeclared', declared: spec.override === null ? null : { ...baseOf(spec) } };
}

function undeclared(known: StoredSchedule, input: DeclaredInput): DeclaredStep {
  const { record, spec, state } = known;
  const of = { id: record.id, name: record.name, tenant: record.tenant, fields: [] };
  const owner = ownerAbove(spec, input);
  if (input.prune) {
    if (owner !== null) return { ...of, step: 'keep', note: `not removed: ${owner}` };
    return { ...of, step: 'remove', from: spec, note: 'no longer declared' };
  }
  if (state.pause?.cause === 'disabled') {
    const note = 'disabled: no longer declared';
    const { release } = input;
    // A node that declares it came up in the moment in which it was disabled.
    if (isDeclaredElsewhere(known, input)) {
      const declared: ScheduleSpec = { ...spec, drift: overriddenDrift(spec) };
      return {
        ...of,
        step: 'edit',
        from: spec,
        spec: declared,
        enables: true,
        isSameRule: true,
        note: elsewhere,
      };
    }
    const isHigher =
      release !== null && (spec.release === null || compareReleases(release, spec.release) > 0);
    // The newest release that omits it rules: one between it and the release that disabled it does not bring it back.
    return isHigher
      ? { ...of, step: 'release', from: spec, spec: { ...spec, release }, note }
      : { ...of, step: 'none', note };
  }
  const drifted: ScheduleSpec = { ...spec, drift: undeclaredDrift(spec) };
  const reason = reasonToKeep(known, input);
  if (reason === null) {
    const isPaused = state.pause !== null;
    const note = `release "${input.release}" no longer declares it${isPaused ? '; it was paused' : ''}`;
    // From here on the release that took it away rules: an older one that still declares it does not bring it back.
    return { ...of, step: 'disable', from: spec, spec: { ...drifted, release: input.release }, note };
  }
  if (spec.drift?.kind === 'undeclared') return { ...of, step: 'none', note: `not declared here: ${reason}` };
  // What a person changed stays known; that nothing declares it here is only shown.
  if (spec.override !== null) return { ...of, step: 'none', note: `not declared here: ${reason}` };
  return { ...of, step: 'drift', from: spec, spec: drifted, note: `not declared here: ${reason}` };
}

/** Why a schedule that this process does not declare is left running; null: it may be disabled. */
function reasonToKeep(known: StoredSchedule, input: DeclaredInput): string | null {
  if (input.release === null) return 'without a release nothing is disabled';
  const owner = ownerAbove(known.spec, input);
  if (owner !== null) return owner;
  return isDeclaredElsewhere(known, input) ? elsewhere : null;
}

const elsewhere = 'another node of the same release declares it';

/** Whether a live node declares what this release declared last: a process that declares less takes nothing from it. */
function isDeclaredElsewhere({ record, spec }: StoredSchedule, input: DeclaredInput): boolean {
  const { release } = input;
  if (release === null || spec.release === null || compareReleases(release, spec.release) !== 0) return false;
  return input.elsewhere.some(
    (node) =>
      node.release !== null &&
      compareReleases(node.release, release) >= 0 &&
      (node.declares === null || node.declares.includes(record.id)),
  );
}

/** What a declaration says, without what names it. */
export function declaredPart({ rule, written, policies, job, note }: Changed): Changed {
  return { rule, written, policies, job, note };
}

/** What the code declares: below an override it is kept with the drift. */
export function baseOf(spec: ScheduleSpec): Changed {
  const declared = spec.drift?.declared ?? null;
  return declared === null ? declaredPart(spec) : (declared as unknown as Changed);
}

/** A spec from its parts. */
export function specOf(
  draft: Changed,
  { release, override, drift }: Pick<ScheduleSpec, 'release' | 'override' | 'drift'>,
): ScheduleSpec {
  return { ...declaredPart(draft), release, override, drift };
}

function differences(stored: Changed, declared: Changed): DeclaredStep['fields'] {
  const names = new Set([
    ...[stored, declared].flatMap((one) => [...Object.keys(one.rule), ...Object.keys(one.written)]),
    ...changeableJobFields,
  ]);
  const fields = [...names].flatMap((field) => {
    const [was, is] = [fieldOf(stored, field), fieldOf(declared, field)];
    return isDeepStrictEqual(plain(was), plain(is)) ? [] : [{ field, stored: was, declared: is }];
  });
  const [a, b] = [stored.job, declared.job];
  if (a.type !== b.type) fields.push({ field: 'type', stored: a.type, declared: b.type });
  if (a.version !== b.version) fields.push({ field: 'version', stored: a.version, declared: b.version });
  if (!isDeepStrictEqual(plain(a.policy), plain(b.policy))) {
    fields.push({ field: 'policy', stored: a.policy, declared: b.policy });
  }
  return fields;
}

/** As JSON keeps it: what was stored and what was just made compare alike. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
