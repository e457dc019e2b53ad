import { DulyError, isDulyError, type Schedule } from '@duly/core';
import type { Caller } from '../auth/caller.ts';
import { sees } from '../auth/tenant.ts';
import type { ServerContext } from '../http/context.ts';

/** The schedule of this id or name, if the caller sees it. To others it does not exist. */
export async function findSchedule(
  { duly }: ServerContext,
  caller: Caller,
  name: string,
  options: { deleted?: boolean } = {},
): Promise<Schedule> {
  const isId = /^sch_[0-9a-z]{26}$/.test(name);
  const tenant = caller.tenant === null ? {} : { tenant: caller.tenant };
  const reference = isId ? { id: name } : { name, ...tenant };
  const schedule = await duly.schedules.get(reference, options).catch((error: unknown) => {
    if (isDulyError(error, 'schedule_ambiguous')) throw ambiguous(error);
    if (!isDulyError(error, 'schedule_not_found')) throw error;
    // Whose it was that is no more, and who deleted it, is not for other tenants to know.
    if (hasDeletion(error, caller)) throw deletedOne(error);
    return null;
  });
  if (schedule !== null && sees(caller, schedule.tenant)) return schedule;
  throw new DulyError('schedule_not_found', {
    message: `There is no schedule "${name.slice(0, 200)}".`,
    hint: 'GET /api/schedules lists them.',
    details: { reference: name.slice(0, 200) },
  });
}

function hasDeletion({ details }: DulyError, caller: Caller): boolean {
  return caller.tenant === null && details.deletedAt !== undefined;
}

/** The same, with what a caller of HTTP can do about it. */
function deletedOne({ message, details }: DulyError): DulyError {
  const address = `/api/schedules/${details.id}`;
  const hint = `See it and its ledger: GET ${address}?deleted=true and GET ${address}/slots.`;
  return new DulyError('schedule_not_found', { message, hint, details });
}

/** The same, with what a caller of HTTP can do about it. */
function ambiguous({ message, details }: DulyError): DulyError {
  const hint = 'Use the id of the one that is meant, instead of its name: "details" has them.';
  return new DulyError('schedule_ambiguous', { message, hint, details });
}
