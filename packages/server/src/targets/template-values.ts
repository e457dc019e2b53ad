import type { TaskContext } from '@duly/core';
import type { TemplateValues } from './template.ts';

/** What the placeholders of a target may name in this attempt. */
export function templateValuesOf(
  { job, attempt, slot }: Pick<TaskContext<unknown>, 'job' | 'attempt' | 'slot'>,
  input: unknown,
): TemplateValues {
  return {
    input,
    job: { id: job.id, type: job.type, tenant: job.tenant, attempt, metadata: job.metadata },
    slot:
      slot === null
        ? null
        : { at: slot.at.toISOString(), date: slot.date, timezone: slot.timezone, schedule: slot.schedule },
  };
}
