/** What is said about schedules that cannot be found or changed. */

import { dulyError } from '../base/errors.ts';
import type { ScheduleRecord } from '../contract/engine.ts';
import { nameOf, type ScheduleIdentity } from './definition/identity.ts';
import type { Deleted } from './history.ts';

/** How a missing schedule is told. */
export function missingSchedule(reference: string | ScheduleIdentity, near?: string) {
  const name = typeof reference === 'string' ? `"${reference}"` : nameOf(reference);
  return dulyError('schedule_not_found', {
    message: `There is no schedule ${name}.`,
    hint: near === undefined ? 'List them: duly.schedules.list().' : `Did you mean "${near}"?`,
    details: { reference: typeof reference === 'string' ? reference : reference.name },
  });
}

/** How one that was deleted is told to whoever wants to change it. */
export function wasDeleted({ record, deleted }: Deleted) {
  const { id, name } = record;
  const note = deleted.note === null ? '' : ` ("${deleted.note}")`;
  return dulyError('schedule_not_found', {
    message: `The schedule ${nameOf(record)} was deleted at ${deleted.at.toISOString()} by ${deleted.by}${note}.`,
    hint: `See it and its ledger: duly.schedules.get({ id: "${id}" }, { deleted: true }) and duly.schedules.slots({ id: "${id}" }).`,
    details: { reference: name, id, deletedAt: deleted.at.toISOString(), deletedBy: deleted.by },
  });
}

/** Several schedules have the name that was given. */
export function ambiguous(name: string, schedules: readonly ScheduleRecord[]) {
  return dulyError('schedule_ambiguous', {
    message: `Several schedules are named "${name}": ${schedules.map(nameOf).join(', ')}.`,
    hint: 'Name it by { name, tenant, app } (app: null for one that is not declared) or by { id }.',
    details: { schedules: schedules.map(({ id, app, tenant }) => ({ id, app, tenant })) },
  });
}

/** A resume of a schedule that its app no longer declares. */
export function isDisabled(identity: ScheduleIdentity, note: string | null) {
  return dulyError('schedule_disabled', {
    message: `The schedule ${nameOf(identity)} is disabled${note === null ? '' : `: ${note}`}. A resume does not bring it back.`,
    hint: 'Declare it again in the code, with a release that is not lower, or delete it.',
    details: { name: identity.name },
  });
}

/** Two rules for one schedule in one process. */
export function secondRule(identity: ScheduleIdentity) {
  return dulyError('schedule_conflict', {
    message: `The schedule ${nameOf(identity)} was given another rule by this process before.`,
    hint: 'Give each schedule its own "name". To change the rule of one that exists, edit it.',
    details: { name: identity.name },
  });
}

/** Two types for one schedule in one process. */
export function secondType(identity: ScheduleIdentity, type: string) {
  return dulyError('schedule_conflict', {
    message: `The schedule ${nameOf(identity)} was given to the task "${type}" by this process before.`,
    hint: 'Give each schedule its own "name"; the name of the task is the default.',
    details: { name: identity.name },
  });
}

/** Two declarations of one schedule. */
export function declaredTwice(identity: ScheduleIdentity) {
  return dulyError('schedule_conflict', {
    message: `The schedule ${nameOf(identity)} is declared twice.`,
    hint: 'Give each of them its own "name"; the name of the task is the default.',
    details: { name: identity.name },
  });
}
