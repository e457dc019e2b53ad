/** What a set of declarations means for the schedules that are stored. Pure: facts in, plan out. */
import { isDeepStrictEqual } from 'node:util';
import type { ScheduleRecord } from '../engine.ts';
import type { ScheduleDraft } from './definition.ts';
import { scheduleIdOf } from './identity.ts';
import { type Changed, fieldOf, withChanges } from './override.ts';
import { compareReleases } from './release.ts';
import { hasSameRule, type ScheduleSpec } from './schedule-spec.ts';
import type { ScheduleState } from './schedule-state.ts';

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
  /** Tasks that other live nodes of the app have: what they may still declare is not for an equal release to take away. */
  tasksElsewhere: ReadonlySet<string>;
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
  /** `enables`: it was disabled and is declared again. */
  | { step: 'edit'; spec: ScheduleSpec; enables: boolean; isSameRule: boolean }
  | { step: 'none' }
  /** Declared otherwise by a newer release: left alone. */
  | { step: 'keep' }
  | { step: 'disable'; spec: ScheduleSpec }
  /** No longer declared here, and shown as such; nothing else changes. */
  | { step: 'drift'; spec: ScheduleSpec }
  | { step: 'remove' }
);

/** Compares the declared set with the stored one: SEMANTICS §5, declared sets. In the order of the declarations, then of the stored. */
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
  const spec = specOf(draft, { release, override: null, drift: null });
  return { step: 'add', id, name: draft.name, tenant: draft.tenant, spec, fields: [], note: null };
}

function compare(known: StoredSchedule, draft: ScheduleDraft, input: DeclaredInput): DeclaredStep {
  const { record, spec, state } = known;
  const of = { id: record.id, name: record.name, tenant: record.tenant };
  const fields = differences(baseOf(spec), draft);
  const isOlder =
    input.release !== null && spec.release !== null && compareReleases(input.release, spec.release) < 0;
  if (isOlder) {
    const note = `release "${spec.release}" declared it, and this is release "${input.release}"`;
    return fields.length === 0
      ? { ...of, step: 'none', fields, note }
      : { ...of, step: 'keep', fields, note };
  }
  const next = declaredAgain(spec, draft, input);
  const enables = state.pause?.cause === 'disabled';
  if (!enables && isDeepStrictEqual(plain(next), plain(spec)))
    return { ...of, step: 'none', fields, note: null };
  const note = enables ? 'declared again' : spec.override === null ? null : `changed by ${spec.override.by}`;
  return { ...of, step: 'edit', spec: next, enables, isSameRule: hasSameRule(spec, next), fields, note };
}

/** The spec after a new declaration: a person's override stands above it, and the drift says what the code wants. */
function declaredAgain(
  spec: ScheduleSpec,
  draft: ScheduleDraft,
  { release, now }: DeclaredInput,
): ScheduleSpec {
  const { override } = spec;
  if (override === null) return specOf(draft, { release, override: null, drift: null });
  try {
    return specOf(
      { ...draft, ...withChanges(draft, override.changes, now) },
      { release, override, drift: { kind: 'overridden', declared: { ...declaredPart(draft) } } },
    );
  } catch {
    // The override does not go together with what the code declares now: the person's rule and policies stay as they are.
    return { ...spec, release, drift: { kind: 'overridden', declared: { ...declaredPart(draft) } } };
  }
}

function undeclared(known: StoredSchedule, input: DeclaredInput): DeclaredStep {
  const { record, spec, state } = known;
  const of = { id: record.id, name: record.name, tenant: record.tenant, fields: [] };
  if (input.prune) return { ...of, step: 'remove', note: 'no longer declared' };
  if (state.pause?.cause === 'disabled') {
    return { ...of, step: 'none', note: 'disabled: no longer declared' };
  }
  const drifted: ScheduleSpec = { ...spec, drift: { kind: 'undeclared', declared: null } };
  const isPaused = state.pause !== null;
  const reason = isPaused ? 'it is paused, and stays so' : reasonToKeep(spec, input);
  if (reason === null) {
    const note = `release "${input.release}" no longer declares it`;
    // From here on the release that took it away rules: an older one that still declares it does not bring it back.
    return { ...of, step: 'disable', spec: { ...drifted, release: input.release }, note };
  }
  if (spec.drift?.kind === 'undeclared') return { ...of, step: 'none', note: `not declared here: ${reason}` };
  // What a person changed stays known; that nothing declares it here is only shown.
  if (spec.override !== null) return { ...of, step: 'none', note: `not declared here: ${reason}` };
  return { ...of, step: 'drift', spec: drifted, note: `not declared here: ${reason}` };
}

/** Why a schedule that this process does not declare is left running; null: it may be disabled. */
function reasonToKeep(spec: ScheduleSpec, { release, tasksElsewhere }: DeclaredInput): string | null {
  if (release === null) return 'without a release nothing is disabled';
  if (spec.release === null) return null;
  const order = compareReleases(release, spec.release);
  if (order < 0) return `release "${spec.release}" declared it, and this is release "${release}"`;
  if (order === 0 && tasksElsewhere.has(spec.job.type))
    return 'another node of the same release has its task';
  return null;
}

/** What a declaration says, without what names it. */
export function declaredPart({ rule, written, policies, job, note }: Changed): Changed {
  return { rule, written, policies, job, note };
}

/** What the code declares: below an override it is kept with the drift. */
export function baseOf(spec: ScheduleSpec): Changed {
  const declared = spec.drift?.kind === 'overridden' ? spec.drift.declared : null;
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
    'input',
    'queue',
    'priority',
    'metadata',
    'serial',
    'note',
  ]);
  const fields = [...names].flatMap((field) => {
    const [was, is] = [fieldOf(stored, field), fieldOf(declared, field)];
    return isDeepStrictEqual(plain(was), plain(is)) ? [] : [{ field, stored: was, declared: is }];
  });
  const [a, b] = [stored.job, declared.job];
  if (a.type !== b.type) fields.push({ field: 'task', stored: a.type, declared: b.type });
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
