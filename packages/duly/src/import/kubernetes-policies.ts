// What the settings of a CronJob become.

import type { ScheduleDefinition } from '@duly/core';
import { nearest } from '@duly/core/internal';
import { count, type Fields, fieldsOf, unreadable } from './kubernetes-manifests.ts';
import type { Mapping } from './kubernetes-plan.ts';

const overlaps = { Allow: 'allow', Forbid: 'skip', Replace: 'terminateOther' } as const;

/** What a CronJob makes Jobs of, and a Job pods. */
export function templatesOf(spec: Fields): { job: Fields; pod: Fields } {
  const job = fieldsOf(fieldsOf(spec, 'jobTemplate'), 'spec');
  return { job, pod: fieldsOf(fieldsOf(job, 'template'), 'spec') };
}

/** What CronJob and Job say about time and failure, in our words; what they leave out has Kubernetes' default. */
export function policiesOf(spec: Fields, mappings: Mapping[]): Partial<ScheduleDefinition> {
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
