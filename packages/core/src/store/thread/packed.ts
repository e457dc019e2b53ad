/**
 * Lists on their way between the threads. Jobs of one message differ in little, and to copy a thousand objects field by field costs more
 * than to run them: what all of them have in common travels once, the rest by columns.
 */

import type {
  ClaimedJob,
  ClaimedSchedule,
  ClaimSchedulesReply,
  Engine,
  EngineVerb,
  EnqueuedItem,
  EnqueueInput,
  EnqueueReply,
  ExchangeInput,
  ExchangeReply,
  FireGroup,
  FireInput,
  FireReply,
  GroupReply,
  JobSpec,
  Settlement,
  SlotRow,
} from '../../contract/engine.ts';

/** A list of objects of one shape, by columns. */
export interface Packed {
  count: number;
  /** One of them; the fields that have columns are null in it. */
  shared: Record<string, unknown>;
  /** A field that is an object of one shape in all of them (a slot, a due time) is packed itself. */
  columns: Record<string, unknown[] | Packed>;
}

/** So few are not worth it. */
const packedMin = 4;

/** Packs a list; as it is where it is short, or where its objects have not all the same fields. */
export function packList<Item extends object>(list: readonly Item[]): Packed | readonly Item[] {
  if (list.length < packedMin) return list;
  const shared: Record<string, unknown> = { ...(list[0] as Record<string, unknown>) };
  const keys = Object.keys(shared);
  if (!list.every((item) => hasFields(item, keys))) return list;
  const columns: Packed['columns'] = {};
  for (const key of keys) {
    const first = shared[key];
    const field = key as keyof Item;
    if (list.every((item) => item[field] === first)) continue;
    const column: unknown[] = list.map((item) => item[field]);
    columns[key] = column.every(isPlainObject) ? (packList(column) as Packed | object[]) : column;
    shared[key] = null;
  }
  return { count: list.length, shared, columns };
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
  const values = Object.values(columns).map((column) =>
    Array.isArray(column) ? column : unpackList<object>(column),
  );
  const list: Item[] = [];
  for (let i = 0; i < count; i++) {
    const item = { ...shared };
    for (let k = 0; k < keys.length; k++) item[keys[k] as string] = (values[k] as unknown[])[i];
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

/** How the input or the reply of a verb travels. */
interface Packing<Value extends object> {
  pack(value: Value): object;
  unpack(packed: object): Value;
}

/** Inputs with long lists. The others travel as they are. */
const inputs: { [Verb in EngineVerb]?: Packing<Parameters<Engine[Verb]>[0]> } = {
  exchange: {
    pack: ({ settle, ...rest }) => ({ ...rest, settle: packList(settle) }),
    unpack(packed) {
      const { settle, ...rest } = packed as Omit<ExchangeInput, 'settle'> & { settle: Packed };
      return { ...rest, settle: unpackList<Settlement>(settle) };
    },
  },
  enqueue: {
    pack: ({ groups, ...rest }) => ({ ...rest, groups: packGroups(groups.map(({ jobs }) => jobs)) }),
    unpack(packed) {
      const { groups, ...rest } = packed as Omit<EnqueueInput, 'groups'> & { groups: PackedGroups };
      return { ...rest, groups: unpackGroups<JobSpec>(groups).map((jobs) => ({ jobs })) };
    },
  },
  fire: {
    pack({ groups, ...rest }) {
      const packed: PackedFire = {
        groups: packList(groups.map(({ jobs: _jobs, slots: _slots, ...group }) => group)),
        jobs: packGroups(groups.map(({ jobs }) => jobs)),
        slots: packGroups(groups.map(({ slots }) => slots)),
      };
      return { ...rest, packed };
    },
    unpack(travelled) {
      const { packed, ...rest } = travelled as Omit<FireInput, 'groups'> & { packed: PackedFire };
      const jobs = unpackGroups<JobSpec>(packed.jobs).values();
      const slots = unpackGroups<SlotRow>(packed.slots).values();
      const groups = unpackList(packed.groups as Packed | readonly FireGroup[]).map((group) => ({
        ...group,
        slots: slots.next().value as SlotRow[],
        jobs: jobs.next().value as JobSpec[],
      }));
      return { ...rest, groups };
    },
  },
};

interface PackedFire {
  groups: Packed | readonly object[];
  jobs: PackedGroups;
  slots: PackedGroups;
}

/** Replies with long lists. The others travel as they are. */
const replies: { [Verb in EngineVerb]?: Packing<Awaited<ReturnType<Engine[Verb]>>> } = {
  exchange: {
    pack({ settled, claimed, ...rest }) {
      const lost: number[] = [];
      for (const [place, one] of settled.entries()) if (one === 'lost') lost.push(place);
      return { ...rest, settledCount: settled.length, lost, claimed: packList(claimed) };
    },
    unpack(packed) {
      const { settledCount, lost, claimed, ...rest } = packed as PackedExchangeReply;
      const settled = new Array<'done' | 'lost'>(settledCount).fill('done');
      for (const place of lost) settled[place] = 'lost';
      return { ...rest, settled, claimed: unpackList<ClaimedJob>(claimed) };
    },
  },
  enqueue: {
    pack({ groups, claimed, ...rest }) {
      const items = packGroups(groups.map((group) => (group.ok ? group.items : [])));
      const refused = groups.map((group, place) => ({ place, group })).filter(({ group }) => !group.ok);
      return { ...rest, groups: items, refused, claimed: packList(claimed) };
    },
    unpack(packed) {
      const { groups, refused, claimed, ...rest } = packed as PackedEnqueueReply;
      const answered: GroupReply<EnqueuedItem>[] = unpackGroups<EnqueuedItem>(groups).map((items) => ({
        ok: true,
        items,
      }));
      for (const { place, group } of refused) answered[place] = group;
      return { ...rest, groups: answered, claimed: unpackList<ClaimedJob>(claimed) };
    },
  },
  fire: {
    pack: (reply) => ({ ...reply, claimed: packList(reply.claimed) }),
    unpack(packed) {
      const reply = packed as Omit<FireReply, 'claimed'> & { claimed: Packed };
      return { ...reply, claimed: unpackList<ClaimedJob>(reply.claimed) };
    },
  },
  claimSchedules: {
    pack: (reply) => ({ ...reply, schedules: packList(reply.schedules) }),
    unpack(packed) {
      const reply = packed as Omit<ClaimSchedulesReply, 'schedules'> & { schedules: Packed };
      return { ...reply, schedules: unpackList<ClaimedSchedule>(reply.schedules) };
    },
  },
};

type PackedExchangeReply = Omit<ExchangeReply, 'settled' | 'claimed'> & {
  settledCount: number;
  /** Positions of the settlements that were refused. */
  lost: number[];
  claimed: Packed;
};

type PackedEnqueueReply = Omit<EnqueueReply, 'groups' | 'claimed'> & {
  groups: PackedGroups;
  refused: { place: number; group: GroupReply<EnqueuedItem> }[];
  claimed: Packed;
};

/** The input of a verb, as it travels. */
export function packInput(verb: EngineVerb, input: object): object {
  return inputs[verb]?.pack(input as never) ?? input;
}

/** The input that `packInput` was given. */
export function unpackInput(verb: EngineVerb, packed: object): object {
  return inputs[verb]?.unpack(packed) ?? packed;
}

/** The reply of a verb, as it travels. */
export function packReply(verb: EngineVerb, reply: object): object {
  return replies[verb]?.pack(reply as never) ?? reply;
}

/** The reply that `packReply` was given. */
export function unpackReply(verb: EngineVerb, packed: object): object {
  return replies[verb]?.unpack(packed) ?? packed;
}
