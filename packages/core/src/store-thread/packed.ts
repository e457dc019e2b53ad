/**
 * Lists on their way between the threads. Jobs of one message differ in little, and to copy a thousand objects field by field costs more
 * than to run them: what all of them have in common travels once, the rest by columns.
 */

import type {
  ClaimedJob,
  EngineVerb,
  EnqueuedItem,
  EnqueueInput,
  EnqueueReply,
  ExchangeInput,
  ExchangeReply,
  GroupReply,
  JobSpec,
  Settlement,
} from '../engine.ts';

/** A list of objects of one shape, by columns. */
export interface Packed {
  count: number;
  /** One of them; the fields that have columns are null in it. */
  shared: Record<string, unknown>;
  columns: Record<string, unknown[]>;
}

/** So few are not worth it. */
const packedMin = 4;

/** Packs a list; as it is where it is short, or where its objects have not all the same fields. */
export function packList<Item extends object>(list: readonly Item[]): Packed | readonly Item[] {
  if (list.length < packedMin) return list;
  const shared: Record<string, unknown> = { ...(list[0] as Record<string, unknown>) };
  const keys = Object.keys(shared);
  if (!list.every((item) => hasFields(item, keys))) return list;
  const columns: Record<string, unknown[]> = {};
  for (const key of keys) {
    const first = shared[key];
    const field = key as keyof Item;
    if (list.every((item) => item[field] === first)) continue;
    columns[key] = list.map((item) => item[field]);
    shared[key] = null;
  }
  return { count: list.length, shared, columns };
}

function hasFields(item: object, keys: readonly string[]): boolean {
  let count = 0;
  for (const key in item)
    if (key === keys[count]) count++;
    else return false;
  return count === keys.length;
}

/** The list that was packed. */
export function unpackList<Item extends object>(packed: Packed | readonly Item[]): Item[] {
  if (!('columns' in packed)) return packed as Item[];
  const { count, shared, columns } = packed;
  const keys = Object.keys(columns);
  const list: Item[] = [];
  for (let i = 0; i < count; i++) {
    const item = { ...shared };
    for (const key of keys) item[key] = (columns[key] as unknown[])[i];
    list.push(item as Item);
  }
  return list;
}

/** Groups of such objects as one list, and where each group ends. */
interface PackedGroups {
  sizes: number[];
  items: Packed | readonly object[];
}

function packGroups(groups: readonly (readonly object[])[]): PackedGroups {
  const [only] = groups;
  const all = groups.length === 1 && only !== undefined ? only : groups.flat();
  return { sizes: groups.map(({ length }) => length), items: packList(all) };
}

function unpackGroups<Item extends object>({ sizes, items }: PackedGroups): Item[][] {
  const all = unpackList(items as Packed | readonly Item[]);
  if (sizes.length === 1) return [all];
  let from = 0;
  return sizes.map((size) => {
    from += size;
    return all.slice(from - size, from);
  });
}

/** What a verb is asked, as it travels. */
export function packInput(verb: EngineVerb, input: unknown): unknown {
  if (verb === 'exchange') {
    const { settle, ...rest } = input as ExchangeInput;
    return { ...rest, settle: packList(settle) };
  }
  if (verb === 'enqueue') {
    const { groups, ...rest } = input as EnqueueInput;
    return { ...rest, groups: packGroups(groups.map(({ jobs }) => jobs)) };
  }
  return input;
}

/** What `packInput` was given. */
export function unpackInput(verb: EngineVerb, input: unknown): unknown {
  if (verb === 'exchange') {
    const { settle, ...rest } = input as { settle: Packed };
    return { ...rest, settle: unpackList<Settlement>(settle) } as ExchangeInput;
  }
  if (verb === 'enqueue') {
    const { groups, ...rest } = input as { groups: PackedGroups };
    return { ...rest, groups: unpackGroups<JobSpec>(groups).map((jobs) => ({ jobs })) } as EnqueueInput;
  }
  return input;
}

/** What a verb answers, as it travels. */
export function packReply(verb: EngineVerb, reply: object): object {
  if (verb === 'exchange') {
    const { settled, claimed, ...rest } = reply as ExchangeReply;
    const lost: number[] = [];
    for (const [place, one] of settled.entries()) if (one === 'lost') lost.push(place);
    return { ...rest, settledCount: settled.length, lost, claimed: packList(claimed) };
  }
  if (verb === 'enqueue') {
    const { groups, claimed, ...rest } = reply as EnqueueReply;
    const items = packGroups(groups.map((group) => (group.ok ? group.items : [])));
    const refused = groups.map((group, place) => ({ place, group })).filter(({ group }) => !group.ok);
    return { ...rest, groups: items, refused, claimed: packList(claimed) };
  }
  return reply;
}

/** What `packReply` was given. */
export function unpackReply(verb: EngineVerb, reply: object): object {
  if (verb === 'exchange') {
    const { settledCount, lost, claimed, ...rest } = reply as {
      settledCount: number;
      lost: number[];
      claimed: Packed;
    };
    const settled = new Array<'done' | 'lost'>(settledCount).fill('done');
    for (const place of lost) settled[place] = 'lost';
    return { ...rest, settled, claimed: unpackList<ClaimedJob>(claimed) } as ExchangeReply;
  }
  if (verb === 'enqueue') {
    const { groups, refused, claimed, ...rest } = reply as {
      groups: PackedGroups;
      refused: { place: number; group: GroupReply<EnqueuedItem> }[];
      claimed: Packed;
    };
    const answered: GroupReply<EnqueuedItem>[] = unpackGroups<EnqueuedItem>(groups).map((items) => ({
      ok: true,
      items,
    }));
    for (const { place, group } of refused) answered[place] = group;
    return { ...rest, groups: answered, claimed: unpackList<ClaimedJob>(claimed) } as EnqueueReply;
  }
  return reply;
}
