import { createHash } from 'node:crypto';

/** What names a schedule: whose it is, for whom, and its name. */
export interface ScheduleIdentity {
  /** The app that declares it; null: dynamic. */
  app: string | null;
  tenant: string | null;
  name: string;
}

// Crockford's alphabet in lower case, as in every other id.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const idLength = 26;

/**
 * The id of a schedule: `sch_` and 26 characters. A hash of its identity, so that five processes that create the same schedule
 * create one, without asking each other.
 */
export function scheduleIdOf({ app, tenant, name }: ScheduleIdentity): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([app, tenant, name]))
    .digest();
  let text = '';
  // Five bits of each byte: 130 of the hash's 256.
  for (let i = 0; i < idLength; i++) text += alphabet[(hash[i] as number) & 31];
  return `sch_${text}`;
}

/** How messages name a schedule. */
export function nameOf({ app, tenant, name }: ScheduleIdentity): string {
  const whose = [
    ...(app === null ? [] : [`of app "${app}"`]),
    ...(tenant === null ? [] : [`for tenant "${tenant}"`]),
  ];
  return whose.length === 0 ? `"${name}"` : `"${name}" (${whose.join(' ')})`;
}
