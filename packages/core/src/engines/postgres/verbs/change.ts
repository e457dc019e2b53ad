import type {
  CancelInput,
  ChangedItem,
  ChangedReply,
  ChangeInput,
  ChangeReply,
  RescheduleInput,
  RetryInput,
} from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import { checkedDue } from '../job-columns.ts';
import { type AnsweredGroup, eachGroup, keepable, type Work } from '../work.ts';
import { pageOfIds } from './list.ts';

type Answer = { groups: AnsweredGroup<ChangedItem>[] };

/** See the contract. */
export function cancel(work: Work, input: CancelInput): Promise<ChangedReply> {
  return eachGroup(
    input.groups,
    (group) => ({ ...group, note: keepable(group.note) }),
    (groups) => work.call<Answer>(statements.call.cancel, [input.now ?? null, JSON.stringify(groups)]),
  );
}

/** See the contract. */
export function reschedule(work: Work, input: RescheduleInput): Promise<ChangedReply> {
  return eachGroup(
    input.groups,
    (group) => ({ ...group, due: checkedDue(group.due) }),
    (groups) => work.call<Answer>(statements.call.reschedule, [input.now ?? null, JSON.stringify(groups)]),
  );
}

/** See the contract. */
export function retry(work: Work, input: RetryInput): Promise<ChangedReply> {
  return eachGroup(
    input.groups,
    (group) => ({ ...group, note: keepable(group.note) }),
    (groups) => work.call<Answer>(statements.call.retry, [input.now ?? null, JSON.stringify(groups)]),
  );
}

/** See the contract. The page is read first; what each of its jobs allows is asked again when it is locked. */
export async function change(work: Work, input: ChangeInput): Promise<ChangeReply> {
  const page = await pageOfIds(work, input);
  const { now, ids } = await work.call<{ ids: string[] }>(statements.call.change, [
    input.now ?? null,
    JSON.stringify(page.ids),
    input.action,
    input.actor,
    keepable(input.note),
    input.dryRun,
  ]);
  return {
    now,
    changed: ids.length,
    refused: page.ids.length - ids.length,
    ids,
    nextCursor: page.nextCursor,
  };
}
