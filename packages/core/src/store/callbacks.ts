import type {
  Actor,
  ApplySchedulesInput,
  Engine,
  EnqueueInput,
  UserTransaction,
} from '../contract/engine.ts';
import { groupItems } from './session.ts';

/** The field of a job's metadata that names the address which is told of its end. */
export const callbackField = 'callback_url';

/**
 * The record that says whether any job of the store ever had such an address. Whoever tells them looks at every job that ends only where it is
 * there: reading them all costs more than half as much as running them.
 */
export const callbacksRecord = { kind: 'webhook-setting', key: 'callbacks' } as const;

/**
 * The same engine, which notes that jobs have callback URLs before it stores the first of them, whatever creates it: a call, a schedule, a
 * transaction of the user's own.
 */
export function notingCallbacks(engine: Engine, actor: () => Actor): Engine {
  let isNoted = false;

  async function isThere(): Promise<boolean> {
    const ops = [{ op: 'get' as const, ...callbacksRecord }];
    const { groups } = await engine.records({ groups: [{ actor: actor(), ops }] });
    return groups.flatMap((group) => groupItems(group)).some((records) => records.length > 0);
  }

  async function note(userTransaction: UserTransaction | null): Promise<void> {
    if (!(await isThere())) {
      const ops = [{ op: 'put' as const, ...callbacksRecord, value: 'true' }];
      const { groups } = await (userTransaction?.records ?? engine.records)({
        groups: [{ actor: actor(), ops }],
      });
      for (const group of groups) groupItems(group);
      // Not remembered if they may still roll it back.
      if (userTransaction?.records !== undefined) return;
    }
    isNoted = true;
  }

  function noting<Verbs extends Pick<Engine, 'enqueue' | 'applySchedules'>>(
    verbs: Verbs,
    userTransaction: UserTransaction | null,
  ): Verbs {
    return {
      ...verbs,
      enqueue: (input) =>
        isNoted || !hasCallback(input)
          ? verbs.enqueue(input)
          : note(userTransaction).then(() => verbs.enqueue(input)),
      applySchedules: (input) =>
        isNoted || !mayCreateCallbacks(input)
          ? verbs.applySchedules(input)
          : note(userTransaction).then(() => verbs.applySchedules(input)),
    };
  }

  const { userTransaction: open } = engine;
  const noted = noting(engine, null);
  if (open === undefined) return noted;
  return {
    ...noted,
    userTransaction: async (tx) => {
      const userTransaction = await open(tx);
      return noting(userTransaction, userTransaction);
    },
  };
}

// What is kept is JSON text, and nearly always none: looked through, not parsed. A word too many costs one record.
function hasCallback({ groups }: EnqueueInput): boolean {
  return groups.some(({ jobs }) => jobs.some(({ metadata }) => metadata?.includes(callbackField) === true));
}

function mayCreateCallbacks({ groups }: ApplySchedulesInput): boolean {
  return groups.some(({ changes }) =>
    changes.some((change) => change.op === 'put' && change.spec.includes(callbackField)),
  );
}
