import { isDulyError, type ScheduleDefinition } from '@duly/core';
import type { ContainerRun } from './kubernetes-command.ts';
import { isFields, manifestsOf } from './kubernetes-manifests.ts';
import { scheduleOf } from './kubernetes-schedule.ts';

/** One field of a manifest, and what became of it. */
export interface Mapping {
  /** As the manifest has it: `concurrencyPolicy: Forbid`. */
  from: string;
  /** As Duly has it: `overlap: skip`. */
  to: string;
}

/** A schedule that would be created from a CronJob. */
export interface PlannedCronJob {
  source: string;
  name: string;
  namespace: string | null;
  definition: ScheduleDefinition & { name: string; timezone: string };
  /** `suspend: true`: it begins paused, however the import is. */
  suspended: boolean;
  words: string;
  mappings: Mapping[];
  /** What is executed; null: a task of Duly's. */
  argv: string[] | null;
  /** What of the manifest is not taken along. */
  hazards: string[];
}

/** A manifest of which no schedule is created, and why. */
export interface LeftOutManifest {
  source: string;
  name: string;
  reason: string;
  kind: 'unreadable' | 'other';
}

/** What an import would do. */
export interface KubernetesPlan {
  schedules: PlannedCronJob[];
  leftOut: LeftOutManifest[];
}

/** Plans schedules from CronJob manifests. A manifest that cannot be read does not throw: it is reported. */
export function planManifests(
  files: readonly { name: string; text: string }[],
  run: ContainerRun,
): KubernetesPlan {
  const plan: KubernetesPlan = { schedules: [], leftOut: [] };
  for (const { name: source, text } of files) {
    for (const manifest of manifestsOf(source, text, plan.leftOut)) {
      const { kind, metadata } = manifest;
      const name = String((isFields(metadata) ? metadata.name : null) ?? '(without a name)');
      if (kind !== 'CronJob') {
        plan.leftOut.push({
          source,
          name,
          kind: 'other',
          reason: `It is a ${typeof kind === 'string' ? kind : 'document without a kind'}, and no CronJob.`,
        });
        continue;
      }
      try {
        plan.schedules.push(scheduleOf(source, manifest, run));
      } catch (error) {
        if (!isDulyError(error)) throw error;
        const reason = [error.message, error.hint ?? ''].join(' ').trim();
        plan.leftOut.push({ source, name, kind: 'unreadable', reason });
      }
    }
  }
  nameApart(plan.schedules);
  return plan;
}

function nameApart(schedules: PlannedCronJob[]): void {
  const counts = Map.groupBy(schedules, ({ name }) => name);
  for (const one of schedules) {
    if ((counts.get(one.name)?.length ?? 0) < 2 || one.namespace === null) continue;
    one.name = `${one.namespace}-${one.name}`;
    one.definition.name = one.name;
  }
  const taken = new Set<string>();
  for (const one of schedules) {
    let { name } = one;
    for (let n = 2; taken.has(name); n++) name = `${one.name}-${n}`;
    taken.add(name);
    one.name = name;
    one.definition.name = name;
  }
}
