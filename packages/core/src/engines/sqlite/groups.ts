import { isDulyError, toPlainError } from '../../base/errors.ts';
import type { GroupReply } from '../../contract/engine.ts';
import type { Work } from './work.ts';

/**
 * Does each group all or nothing. One that is refused fails alone; a store that is full or broken fails the whole call.
 * `cannotBeHalf` says of a group that it needs no savepoint.
 */
export function eachGroup<Group, Item>(
  work: Work,
  groups: Group[],
  fn: (group: Group) => Item[],
  cannotBeHalf: (group: Group) => boolean = () => false,
): GroupReply<Item>[] {
  return groups.map((group) => {
    try {
      return { ok: true, items: cannotBeHalf(group) ? fn(group) : work.attempt(() => fn(group)) };
    } catch (error) {
      const isRefusal = isDulyError(error, 'group_refused') || isDulyError(error, 'records_conflict');
      if (isRefusal) return { ok: false, error: toPlainError(error) };
      throw error;
    }
  });
}
