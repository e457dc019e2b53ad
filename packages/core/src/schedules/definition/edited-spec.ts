// What an edit by a person does to a spec, and what taking it back does.

import type { Actor } from '../../contract/engine.ts';
import { baseOf, declaredPart, specOf } from './declared.ts';
import { withChanges } from './override.ts';
import type { ScheduleSpec } from './spec.ts';

/** The spec after an edit; on a declared schedule the edit is a person's override. */
export function editedSpec(
  spec: ScheduleSpec,
  wanted: Record<string, unknown>,
  { isDeclared, by, now, note }: { isDeclared: boolean; by: Actor; now: number; note: string | null },
): ScheduleSpec {
  if (!isDeclared) return { ...spec, ...withChanges(spec, wanted, now) };
  const base = baseOf(spec);
  const changes = { ...spec.override?.changes, ...wanted };
  if (Object.keys(changes).length === 0) return spec;
  return {
    ...specOf(withChanges(base, changes, now), {
      release: spec.release,
      override: { changes, by, at: now, note },
      drift: {
        kind: spec.drift?.kind ?? 'overridden',
        declared: { ...declaredPart(base) },
      },
    }),
  };
}

/** The spec as the code declares it; null: nobody has overridden it. */
export function revertedSpec(spec: ScheduleSpec): ScheduleSpec | null {
  if (spec.override === null) return null;
  const drift = spec.drift?.kind === 'undeclared' ? { ...spec.drift, declared: null } : null;
  return specOf(baseOf(spec), { release: spec.release, override: null, drift });
}
