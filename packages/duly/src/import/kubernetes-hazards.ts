// What of a manifest is not taken along.

import { nearest } from '@duly/core/internal';
import type { ContainerRun } from './kubernetes-command.ts';
import type { Fields } from './kubernetes-manifests.ts';

/** What of a CronJob is not taken along. */
export function hazardsOf({
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
export function unknownFields(spec: Fields, job: Fields): string[] {
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
