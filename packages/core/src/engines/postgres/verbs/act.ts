import type {
  ActInput,
  CancelInput,
  ChangedItem,
  ChangedReply,
  RescheduleInput,
  RetryInput,
} from '../../../contract/engine.ts';
import { checkAction } from '../../shared/check-action.ts';
import { statements } from '../generated.ts';
import { checkedDue } from '../job-columns.ts';
import { type AnsweredGroup, eachGroup, keepable, type Work } from '../work.ts';

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

/** See the contract. */
export function act(work: Work, input: ActInput): Promise<ChangedReply> {
  return eachGroup(
    input.groups,
    (group) => {
      checkAction(group.action);
      return { ...group, note: keepable(group.note) };
    },
    (groups) => work.call<Answer>(statements.call.act, [input.now ?? null, JSON.stringify(groups)]),
  );
}
