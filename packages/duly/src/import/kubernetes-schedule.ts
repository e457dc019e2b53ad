// The rule of a CronJob, and the definition that an export left in it.

import { explain, type RuleInput, resolveRule } from '@duly/core';
import { commandTaskName } from '@duly/core/internal';
import { type ContainerRun, commandOf } from './kubernetes-command.ts';
import { type Fields, fieldsOf, flagOf, isFields, textOf, unreadable } from './kubernetes-manifests.ts';
import type { Mapping, PlannedCronJob } from './kubernetes-plan.ts';
import { policiesOf } from './kubernetes-policies.ts';
import type { CommandInput } from './shell-command.ts';

/** Under this annotation an export of ours keeps what a manifest cannot say. */
export const definitionAnnotation = 'duly/definition';

/** The rule of a CronJob. */
export function scheduleOf(source: string, manifest: Fields, run: ContainerRun): PlannedCronJob {
  const metadata = fieldsOf(manifest, 'metadata');
  const spec = fieldsOf(manifest, 'spec');
  const cron = textOf(spec, 'schedule');
  const name = textOf(metadata, 'name');
  const namespace = textOf(metadata, 'namespace');
  if (cron === null) throw unreadable('It has no "spec.schedule".');
  if (name === null) throw unreadable('It has no "metadata.name".');
  const zoneInCron = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(cron);
  const ownZone = textOf(spec, 'timeZone');
  const timezone = ownZone ?? zoneInCron?.[1] ?? 'UTC';
  const rule = ruleIn((zoneInCron?.[2] ?? cron).trim(), timezone);
  resolveRule(rule);
  const suspended = flagOf(spec, 'suspend');
  const mappings: Mapping[] = [
    { from: `schedule: ${cron}`, to: 'rate' in rule ? `rate: ${rule.rate}` : `cron: ${rule.cron}` },
    zoneMapping(ownZone, zoneInCron?.[1] ?? null),
    ...(suspended ? [{ from: 'suspend: true', to: 'paused' }] : []),
  ];
  const existing = storedDefinition(fieldsOf(metadata, 'annotations'));
  if (existing !== null) {
    const definition = { ...existing, ...rule } as PlannedCronJob['definition'];
    mappings.push({ from: `annotation ${definitionAnnotation}`, to: 'everything else, as it was exported' });
    const argv = (existing.input as CommandInput | undefined)?.command?.argv ?? null;
    return {
      source,
      name: definition.name,
      namespace,
      definition,
      suspended,
      words: explain(rule),
      mappings,
      argv,
      hazards: [],
    };
  }
  const policies = policiesOf(spec, mappings);
  const { command, hazards } = commandOf(spec, run);
  const definition = {
    type: commandTaskName,
    name,
    ...rule,
    ...policies,
    input: { command } satisfies CommandInput,
    metadata: { kubernetes: { name, ...(namespace === null ? {} : { namespace }) } },
  } as PlannedCronJob['definition'];
  return {
    source,
    name,
    namespace,
    definition,
    suspended,
    words: explain(rule),
    mappings,
    argv: command.argv,
    hazards,
  };
}

function zoneMapping(own: string | null, inCron: string | null): Mapping {
  if (own !== null) return { from: `timeZone: ${own}`, to: `timezone: ${own}` };
  if (inCron !== null) return { from: 'no timeZone, but one in its schedule', to: `timezone: ${inCron}` };
  return { from: 'no timeZone', to: 'timezone: UTC, as the clusters of most have it' };
}

/** `@every 1h30m` is a fixed rate, and no cron. */
function ruleIn(schedule: string, timezone: string): RuleInput & { timezone: string } {
  const every = /^@every\s+(\S+)$/.exec(schedule)?.[1];
  return every === undefined ? { cron: schedule, timezone } : { rate: every, timezone };
}

function storedDefinition(annotations: Fields): (Fields & { name: string }) | null {
  const text = annotations[definitionAnnotation];
  if (typeof text !== 'string') return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(`Its annotation "${definitionAnnotation}" is no JSON.`);
  }
  if (isFields(value) && typeof value.name === 'string') return value as Fields & { name: string };
  throw unreadable(`Its annotation "${definitionAnnotation}" is no definition of a schedule.`);
}
