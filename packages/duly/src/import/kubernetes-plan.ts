import {
  DulyError,
  explain,
  isDulyError,
  type RuleInput,
  resolveRule,
  type ScheduleDefinition,
} from '@duly/core';
import { commandTaskName, nearest } from '@duly/core/internal';
import { isAlias, parseAllDocuments } from 'yaml';
import type { CommandInput } from './shell-command.ts';

/** Under this annotation an export of ours keeps what a manifest cannot say. */
export const definitionAnnotation = 'duly/definition';

/** How the container of a CronJob becomes a command. */
export const containerRuns = ['command', 'docker'] as const;
/** One of them. */
export type ContainerRun = (typeof containerRuns)[number];

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

type Fields = Record<string, unknown>;

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

function manifestsOf(source: string, text: string, leftOut: LeftOutManifest[]): Fields[] {
  const manifests: Fields[] = [];
  const report = (reason: string): void =>
    void leftOut.push({ source, name: '', kind: 'unreadable', reason });
  const documents = parseAllDocuments(text, { merge: true });
  for (const document of Array.isArray(documents) ? documents : []) {
    const [error] = document.errors;
    if (error !== undefined) report(`It is no YAML: ${error.message.split('\n')[0]}`);
    else if (!isAlias(document.contents)) {
      try {
        manifests.push(...manifestsIn(document.toJS({ maxAliasCount: 100 }), report));
      } catch (cause) {
        // An alias without its anchor, or aliases of aliases without end.
        report(`It is no YAML: ${(cause as Error).message}.`);
      }
    }
  }
  return manifests;
}

/** The manifests of a document: itself, or what its list holds. */
function manifestsIn(value: unknown, report: (reason: string) => void): Fields[] {
  if (value === null || value === undefined) return [];
  if (!isFields(value)) {
    report(`Expected a map of fields, got ${kindOf(value)}.`);
    return [];
  }
  if (!Array.isArray(value.items)) return [value];
  return value.items.flatMap((item) => {
    if (item === null) report('An item of its list is empty.');
    return manifestsIn(item, report);
  });
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  return Array.isArray(value)
    ? 'a list'
    : typeof value === 'object'
      ? 'a map'
      : `"${String(value).slice(0, 40)}"`;
}

/** The fields below a name; what is left out has none. */
function fieldsOf(parent: Fields, name: string): Fields {
  const value = parent[name] ?? {};
  if (isFields(value)) return value;
  throw unreadable(`Its "${name}" is ${kindOf(value)}, and no map of fields.`);
}

/** A list below a name; what is left out is empty. */
function listOf(parent: Fields, name: string): unknown[] {
  const value = parent[name] ?? [];
  if (Array.isArray(value)) return value;
  throw unreadable(`Its "${name}" is ${kindOf(value)}, and no list.`);
}

/** A text below a name; null: it is left out. */
function textOf(parent: Fields, name: string): string | null {
  const value = parent[name] ?? null;
  if (value === null || typeof value === 'string') return value;
  throw unreadable(`Its "${name}" is ${kindOf(value)}, and no text.`, `Write it in quotes.`);
}

/** Yes or no below a name; a text like "true" is neither, as Kubernetes has it too. */
function flagOf(parent: Fields, name: string): boolean {
  const value = parent[name] ?? false;
  if (typeof value === 'boolean') return value;
  throw unreadable(
    `Its "${name}" is ${kindOf(value)}, and neither true nor false.`,
    'Write it without quotes.',
  );
}

function scheduleOf(source: string, manifest: Fields, run: ContainerRun): PlannedCronJob {
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

const overlaps = { Allow: 'allow', Forbid: 'skip', Replace: 'terminateOther' } as const;

/** What a CronJob makes Jobs of, and a Job pods. */
function templatesOf(spec: Fields): { job: Fields; pod: Fields } {
  const job = fieldsOf(fieldsOf(spec, 'jobTemplate'), 'spec');
  return { job, pod: fieldsOf(fieldsOf(job, 'template'), 'spec') };
}

/** What CronJob and Job say about time and failure, in our words; what they leave out has Kubernetes' default. */
function policiesOf(spec: Fields, mappings: Mapping[]): Partial<ScheduleDefinition> {
  const { job, pod } = templatesOf(spec);
  const concurrency = String(spec.concurrencyPolicy ?? 'Allow') as keyof typeof overlaps;
  const overlap = overlaps[concurrency];
  if (overlap === undefined) {
    const near = nearest(concurrency, Object.keys(overlaps));
    throw unreadable(
      `It has an unknown concurrencyPolicy "${concurrency}".`,
      near === undefined ? undefined : `Did you mean "${near}"?`,
    );
  }
  const note = (field: string, value: unknown, fallback: unknown): string =>
    value === undefined ? `${field} left out (${fallback})` : `${field}: ${value}`;
  mappings.push({
    from: note('concurrencyPolicy', spec.concurrencyPolicy, 'Allow'),
    to: `overlap: ${overlap}`,
  });
  mappings.push({ from: 'missed starts: the last one only', to: 'missed: latest' });
  const startSeconds = count(spec.startingDeadlineSeconds, 'startingDeadlineSeconds', 1);
  if (startSeconds !== null) {
    mappings.push({
      from: `startingDeadlineSeconds: ${startSeconds}`,
      to: `startDeadline: ${startSeconds}s`,
    });
  }
  const backoffLimit = count(job.backoffLimit, 'backoffLimit') ?? 6;
  mappings.push({
    from: note('backoffLimit', job.backoffLimit, 6),
    to: `retry: ${backoffLimit + 1} attempts, from 10s to 6m apart`,
  });
  const activeSeconds = count(
    job.activeDeadlineSeconds ?? pod.activeDeadlineSeconds,
    'activeDeadlineSeconds',
    1,
  );
  mappings.push({
    from: note('activeDeadlineSeconds', activeSeconds ?? undefined, 'no end'),
    to: activeSeconds === null ? 'timeout: none' : `timeout: ${activeSeconds}s for each attempt`,
  });
  const limits = [
    note('successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit, 3),
    note('failedJobsHistoryLimit', spec.failedJobsHistoryLimit, 1),
    ...(job.ttlSecondsAfterFinished === undefined
      ? []
      : [`ttlSecondsAfterFinished: ${job.ttlSecondsAfterFinished}`]),
  ];
  mappings.push({
    from: limits.join(', '),
    to: 'retained by time instead: 7 days, failed ones 90 days, the ledger 400 days',
  });
  return {
    overlap,
    missed: 'latest',
    ...(startSeconds === null ? {} : { startDeadline: `${startSeconds}s` }),
    retry: { attempts: backoffLimit + 1, delay: '10s', maxDelay: '6m' },
    timeout: activeSeconds === null ? 'none' : `${activeSeconds}s`,
  };
}

function count(value: unknown, field: string, min = 0): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min) return value;
  throw unreadable(`Its "${field}" is ${kindOf(value)}, and no whole number from ${min} up.`);
}

interface Variable {
  name: string;
  /** null: it comes from a secret, a config map or the pod. */
  value: string | null;
}

/** The variables of a container; a value may name those above it. */
function variablesOf(container: Fields): Variable[] {
  const known: Record<string, string> = {};
  return listOf(container, 'env').map((one) => {
    const name = isFields(one) ? textOf(one, 'name') : null;
    if (name === null) throw unreadable('One of its variables has no name.');
    const { value, valueFrom } = one as Fields;
    if (valueFrom !== undefined && valueFrom !== null) return { name, value: null };
    known[name] = expand(String(value ?? ''), known);
    return { name, value: known[name] };
  });
}

function commandOf(spec: Fields, run: ContainerRun): { command: CommandInput['command']; hazards: string[] } {
  const { job, pod } = templatesOf(spec);
  const containers = listOf(pod, 'containers');
  const [container] = containers;
  if (container === undefined) throw unreadable('It has no container.');
  if (!isFields(container))
    throw unreadable(`Its first container is ${kindOf(container)}, and no map of fields.`);
  const variables = variablesOf(container);
  const env = Object.fromEntries(
    variables.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])),
  );
  const words = (name: 'command' | 'args'): string[] =>
    listOf(container, name).map((word) => expand(String(word), env));
  const image = textOf(container, 'image');
  const cwd = textOf(container, 'workingDir');
  const argv = [...words('command'), ...words('args')];
  const secrets = variables.filter(({ value }) => value === null).map(({ name }) => name);
  const hazards = [
    ...hazardsOf({ container, image, secrets, containerCount: containers.length, pod, job, run }),
    ...unknownFields(spec, job),
  ];
  if (run === 'docker') {
    if (image === null) throw unreadable('Its container has no image.');
    const [entry, ...rest] = words('command');
    const options = [
      ...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      ...(cwd === null ? [] : ['-w', cwd]),
      ...(entry === undefined ? [] : ['--entrypoint', entry]),
    ];
    const all = ['docker', 'run', '--rm', ...options, image, ...rest, ...words('args')];
    return { command: { argv: all, placeholders: false, stdin: '' }, hazards };
  }
  if (words('command').length === 0) {
    throw unreadable(
      `Its container has no "command": what it runs is written in the image ${image ?? ''}.`,
      'Write the command into the manifest, or use --run docker.',
    );
  }
  const hasEnv = Object.keys(env).length > 0;
  return {
    command: {
      argv,
      placeholders: false,
      stdin: '',
      ...(hasEnv ? { env } : {}),
      ...(cwd === null ? {} : { cwd }),
    },
    hazards,
  };
}

/** `$(NAME)` of the container's own variables, as Kubernetes does it; `$$(NAME)` stays. */
function expand(text: string, env: Record<string, string>): string {
  return text.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name?: string) =>
    whole === '$$' ? '$' : name !== undefined && Object.hasOwn(env, name) ? (env[name] as string) : whole,
  );
}

function hazardsOf({
  container,
  image,
  secrets,
  containerCount,
  pod,
  job,
  run,
}: {
  container: Fields;
  image: string | null;
  secrets: readonly string[];
  containerCount: number;
  pod: Fields;
  job: Fields;
  run: ContainerRun;
}): string[] {
  const isSet = (value: unknown): boolean =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
  const parallel = Math.max(Number(job.parallelism ?? 1), Number(job.completions ?? 1));
  const notTaken = jobRules.filter((name) => isSet(job[name]));
  return [
    ...(run === 'docker' ? [] : [`it runs where its node runs, not in the image ${image ?? '(none)'}`]),
    ...(secrets.length === 0
      ? []
      : [`${secrets.join(', ')} came from secrets, config maps or the pod: the program does not get them`]),
    ...(isSet(container.envFrom) ? ['envFrom is not taken along'] : []),
    ...(isSet(container.volumeMounts) || isSet(pod.volumes) ? ['volumes are not taken along'] : []),
    ...(isSet(container.resources) ? ['requests and limits of resources are not taken along'] : []),
    ...(containerCount > 1 ? [`only the first of ${containerCount} containers is run`] : []),
    ...(isSet(pod.initContainers) ? ['init containers are not run'] : []),
    ...(parallel > 1 ? [`one run instead of ${parallel} (parallelism, completions)`] : []),
    ...(notTaken.length === 0 ? [] : [`${notTaken.join(', ')} of its Job is not taken along`]),
  ];
}

/** Rules of a Job about failure and success that have no counterpart. */
const jobRules = ['podFailurePolicy', 'successPolicy', 'backoffLimitPerIndex', 'maxFailedIndexes', 'suspend'];

const cronJobFields = [
  'schedule',
  'timeZone',
  'startingDeadlineSeconds',
  'concurrencyPolicy',
  'suspend',
  'jobTemplate',
  'successfulJobsHistoryLimit',
  'failedJobsHistoryLimit',
];
const jobFields = [
  ...jobRules,
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'selector',
  'manualSelector',
  'template',
  'ttlSecondsAfterFinished',
  'completionMode',
  'podReplacementPolicy',
  'managedBy',
];

/** A mistyped field would otherwise be the default of Kubernetes, and nobody would notice. */
function unknownFields(spec: Fields, job: Fields): string[] {
  const report = (of: string, fields: Fields, known: readonly string[]): string[] =>
    Object.keys(fields)
      .filter((name) => !known.includes(name))
      .map((name) => {
        const near = nearest(name, known);
        const guess = near === undefined ? '' : `; did you mean "${near}"?`;
        return `"${name}" is no field of a ${of} that is known here, and does nothing${guess}`;
      });
  return [...report('CronJob', spec, cronJobFields), ...report('Job', job, jobFields)];
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

function unreadable(message: string, hint?: string): DulyError {
  return new DulyError('crontab_unreadable', { message, ...(hint === undefined ? {} : { hint }) });
}
