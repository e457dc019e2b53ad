import { DulyError, explain, isDulyError, resolveRule, type ScheduleDefinition } from '@duly/core';
import { isAlias, parseAllDocuments } from 'yaml';
import { type CommandInput, commandTaskName } from './shell-command.ts';

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

/** A schedule that would be made of a CronJob. */
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

/** A manifest of which no schedule is made, and why. */
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

/** Makes schedules of CronJob manifests. Nothing throws for a manifest that cannot be read: it is told. */
export function planManifests(
  files: readonly { name: string; text: string }[],
  run: ContainerRun,
): KubernetesPlan {
  const plan: KubernetesPlan = { schedules: [], leftOut: [] };
  for (const { name: source, text } of files) {
    for (const manifest of manifestsOf(source, text, plan.leftOut)) {
      const { kind, metadata } = manifest as { kind?: string; metadata?: Fields };
      const name = String(metadata?.name ?? '(without a name)');
      if (kind !== 'CronJob') {
        plan.leftOut.push({
          source,
          name,
          kind: 'other',
          reason: `It is a ${kind ?? 'document without a kind'}, and no CronJob.`,
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
  const documents = parseAllDocuments(text, { merge: true });
  for (const document of Array.isArray(documents) ? documents : []) {
    const [error] = document.errors;
    if (error !== undefined) {
      leftOut.push({
        source,
        name: '',
        kind: 'unreadable',
        reason: `It is no YAML: ${error.message.split('\n')[0]}`,
      });
      continue;
    }
    if (isAlias(document.contents)) continue;
    const value = document.toJS({ maxAliasCount: 100 }) as Fields | null;
    if (value === null || typeof value !== 'object') continue;
    if (Array.isArray(value.items)) manifests.push(...(value.items as Fields[]));
    else manifests.push(value);
  }
  return manifests;
}

function scheduleOf(source: string, manifest: Fields, run: ContainerRun): PlannedCronJob {
  const metadata = (manifest.metadata ?? {}) as { name?: string; namespace?: string; annotations?: Fields };
  const spec = (manifest.spec ?? {}) as Fields;
  const cron = spec.schedule;
  if (typeof cron !== 'string') throw unreadable('It has no "spec.schedule".');
  if (metadata.name === undefined) throw unreadable('It has no "metadata.name".');
  const zoneInCron = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(cron);
  const timezone = String(spec.timeZone ?? zoneInCron?.[1] ?? 'UTC');
  const rule = { cron: (zoneInCron?.[2] ?? cron).trim(), timezone };
  resolveRule(rule);
  const suspended = spec.suspend === true;
  const mappings: Mapping[] = [
    { from: `schedule: ${cron}`, to: `cron: ${rule.cron}` },
    spec.timeZone === undefined
      ? { from: 'no timeZone', to: `timezone: ${timezone}, as the clusters of most have it` }
      : { from: `timeZone: ${timezone}`, to: `timezone: ${timezone}` },
    ...(suspended ? [{ from: 'suspend: true', to: 'paused' }] : []),
  ];
  const kept = keptDefinition(metadata.annotations);
  const { name, namespace = null } = metadata;
  if (kept !== null) {
    const definition = { ...kept, ...rule } as PlannedCronJob['definition'];
    mappings.push({ from: `annotation ${definitionAnnotation}`, to: 'everything else, as it was exported' });
    const argv = (kept.input as CommandInput | undefined)?.command?.argv ?? null;
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
    task: commandTaskName,
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

function keptDefinition(annotations: Fields | undefined): (Fields & { name: string }) | null {
  const text = annotations?.[definitionAnnotation];
  if (typeof text !== 'string') return null;
  try {
    return JSON.parse(text) as Fields & { name: string };
  } catch {
    throw unreadable(`Its annotation "${definitionAnnotation}" is no JSON.`);
  }
}

const overlaps = { Allow: 'allow', Forbid: 'skip', Replace: 'terminateOther' } as const;

/** What CronJob and Job say about time and failure, in our words; what they leave out has Kubernetes' default. */
function policiesOf(spec: Fields, mappings: Mapping[]): Partial<ScheduleDefinition> {
  const job = (((spec.jobTemplate ?? {}) as Fields).spec ?? {}) as Fields;
  const pod = (((job.template ?? {}) as Fields).spec ?? {}) as Fields;
  const concurrency = String(spec.concurrencyPolicy ?? 'Allow') as keyof typeof overlaps;
  const overlap = overlaps[concurrency];
  if (overlap === undefined) throw unreadable(`It has an unknown concurrencyPolicy "${concurrency}".`);
  const note = (field: string, value: unknown, fallback: unknown): string =>
    value === undefined ? `${field} left out (${fallback})` : `${field}: ${value}`;
  mappings.push({
    from: note('concurrencyPolicy', spec.concurrencyPolicy, 'Allow'),
    to: `overlap: ${overlap}`,
  });
  mappings.push({ from: 'missed starts: the last one only', to: 'missed: latest' });
  const startSeconds = count(spec.startingDeadlineSeconds, 'startingDeadlineSeconds');
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
  );
  mappings.push({
    from: note('activeDeadlineSeconds', activeSeconds ?? undefined, 'no end'),
    to: activeSeconds === null ? 'timeout: none' : `timeout: ${activeSeconds}s for each attempt`,
  });
  const kept = [
    note('successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit, 3),
    note('failedJobsHistoryLimit', spec.failedJobsHistoryLimit, 1),
    ...(job.ttlSecondsAfterFinished === undefined
      ? []
      : [`ttlSecondsAfterFinished: ${job.ttlSecondsAfterFinished}`]),
  ];
  mappings.push({
    from: kept.join(', '),
    to: 'kept by time instead: 7 days, failed ones 90 days, the ledger 400 days',
  });
  return {
    overlap,
    missed: 'latest',
    ...(startSeconds === null ? {} : { startDeadline: `${startSeconds}s` }),
    retry: { attempts: backoffLimit + 1, delay: '10s', maxDelay: '6m' },
    timeout: activeSeconds === null ? 'none' : `${activeSeconds}s`,
  };
}

function count(value: unknown, field: string): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw unreadable(`Its "${field}" is no whole number.`);
}

interface Container {
  name?: string;
  image?: string;
  command?: unknown[];
  args?: unknown[];
  workingDir?: string;
  env?: { name: string; value?: unknown; valueFrom?: Fields }[];
  envFrom?: unknown[];
  volumeMounts?: unknown[];
  resources?: Fields;
}

function commandOf(spec: Fields, run: ContainerRun): { command: CommandInput['command']; hazards: string[] } {
  const job = (((spec.jobTemplate ?? {}) as Fields).spec ?? {}) as Fields;
  const pod = (((job.template ?? {}) as Fields).spec ?? {}) as Fields;
  const containers = (pod.containers ?? []) as Container[];
  const [container] = containers;
  if (container === undefined) throw unreadable('It has no container.');
  const known = (container.env ?? []).filter((one) => one.valueFrom === undefined);
  const env = Object.fromEntries(known.map(({ name, value }) => [name, String(value ?? '')]));
  const words = (list: unknown[] | undefined): string[] =>
    (list ?? []).map((word) => expand(String(word), env));
  const argv = [...words(container.command), ...words(container.args)];
  const hazards = hazardsOf({ container, containers, pod, job, run });
  if (run === 'docker') {
    if (container.image === undefined) throw unreadable('Its container has no image.');
    const [entry, ...rest] = words(container.command);
    const options = [
      ...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      ...(container.workingDir === undefined ? [] : ['-w', container.workingDir]),
      ...(entry === undefined ? [] : ['--entrypoint', entry]),
    ];
    const all = ['docker', 'run', '--rm', ...options, container.image, ...rest, ...words(container.args)];
    return { command: { argv: all, placeholders: false, stdin: '' }, hazards };
  }
  if (container.command === undefined) {
    throw new DulyError('crontab_unreadable', {
      message: `Its container has no "command": what it runs is written in the image ${container.image ?? ''}.`,
      hint: 'Write the command into the manifest, or use --run docker.',
    });
  }
  const hasEnv = Object.keys(env).length > 0;
  return {
    command: {
      argv,
      placeholders: false,
      stdin: '',
      ...(hasEnv ? { env } : {}),
      ...(container.workingDir === undefined ? {} : { cwd: container.workingDir }),
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
  containers,
  pod,
  job,
  run,
}: {
  container: Container;
  containers: readonly Container[];
  pod: Fields;
  job: Fields;
  run: ContainerRun;
}): string[] {
  const secrets = (container.env ?? []).filter((one) => one.valueFrom !== undefined).map(({ name }) => name);
  const isSet = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined);
  const parallel = Math.max(Number(job.parallelism ?? 1), Number(job.completions ?? 1));
  return [
    ...(run === 'docker'
      ? []
      : [`it runs where its node runs, not in the image ${container.image ?? '(none)'}`]),
    ...(secrets.length === 0
      ? []
      : [`${secrets.join(', ')} came from secrets, config maps or the pod: the program does not get them`]),
    ...(isSet(container.envFrom) ? ['envFrom is not taken along'] : []),
    ...(isSet(container.volumeMounts) || isSet(pod.volumes) ? ['volumes are not taken along'] : []),
    ...(container.resources === undefined ? [] : ['requests and limits of resources are not taken along']),
    ...(containers.length > 1 ? [`only the first of ${containers.length} containers is run`] : []),
    ...(isSet(pod.initContainers) ? ['init containers are not run'] : []),
    ...(parallel > 1 ? [`one run instead of ${parallel} (parallelism, completions)`] : []),
  ];
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

function unreadable(message: string): DulyError {
  return new DulyError('crontab_unreadable', { message });
}
