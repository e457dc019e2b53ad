import type { Clock } from './clock.ts';
import type { Door } from './door.ts';
import type {
  CancelInput,
  ChangedItem,
  Engine,
  EnqueuedItem,
  GroupReply,
  JobRecord,
  JobSpec,
  ReplayInput,
  RescheduleInput,
} from './engine.ts';
import { fromPlainError } from './errors.ts';
import { createPipe, type Pipe } from './pipe.ts';
import type { Random } from './random.ts';

/** What a store says about one job id, and when. */
export interface JobAnswer {
  job: JobRecord | null;
  now: number;
}

/** What everything in one Duly shares once its store is open: the door, and the pipes in which calls travel together. */
export interface Parts {
  readonly engine: Engine;
  readonly door: Door;
  readonly enqueue: Pipe<JobSpec[], GroupReply<EnqueuedItem>>;
  readonly get: Pipe<string, JobAnswer>;
  readonly cancel: Pipe<CancelInput['groups'][number], GroupReply<ChangedItem>>;
  readonly reschedule: Pipe<RescheduleInput['groups'][number], GroupReply<ChangedItem>>;
  readonly replay: Pipe<ReplayInput['groups'][number], GroupReply<ChangedItem>>;
  /** Resolves once every call that was handed to a pipe is answered. */
  drained(): Promise<void>;
}

// A transaction of 2,000 rows takes some ten milliseconds; more would make others wait for the store without a gain.
const groupCountMax = 2_000;
// Bytes of input in one call: bounded so that a burst of large inputs does not become one huge message.
const callBytesMax = 8 * 1024 * 1024;
// What a job weighs beside its input.
const jobBytes = 512;
const readCountMax = 500;

/** Lays the pipes over a door. */
export function createParts(door: Door, { clock, random }: { clock: Clock; random: Random }): Parts {
  const { engine } = door;
  const shared = { clock, random };
  const enqueue = createPipe<JobSpec[], GroupReply<EnqueuedItem>>({
    ...shared,
    maxItems: groupCountMax,
    maxWeight: callBytesMax,
    weigh: (jobs) => jobs.reduce((bytes, job) => bytes + job.input.length + jobBytes, 0),
    async send(groups, { repeat }) {
      const input = { groups: groups.map((jobs) => ({ jobs })) };
      return (await engine.enqueue(repeat ? { ...input, repeat } : input)).groups;
    },
  });
  const get = createPipe<string, JobAnswer>({
    ...shared,
    maxItems: readCountMax,
    async send(ids) {
      const { jobs, now } = await engine.get({ ids });
      return jobs.map((job) => ({ job, now }));
    },
  });
  const changing = { ...shared, maxItems: readCountMax };
  const cancel = createPipe<CancelInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.cancel({ groups })).groups,
  });
  const reschedule = createPipe<RescheduleInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.reschedule({ groups })).groups,
  });
  const replay = createPipe<ReplayInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.replay({ groups })).groups,
  });
  return {
    engine,
    door,
    enqueue,
    get,
    cancel,
    reschedule,
    replay,
    async drained() {
      await Promise.all([enqueue, get, cancel, reschedule, replay].map((pipe) => pipe.drained()));
    },
  };
}

/** The items of a group, or the error that refused it. */
export function groupItems<Item>(group: GroupReply<Item>): Item[] {
  if (!group.ok) throw fromPlainError(group.error);
  return group.items;
}
