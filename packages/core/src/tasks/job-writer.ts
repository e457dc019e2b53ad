import type { EnqueuedItem, JobSpec } from '../contract/engine.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import { type Tracing, withTraceparent } from '../jobs/tracing.ts';
import { groupItems, type StoreSession } from '../store/session.ts';
import { userTransactionOf } from '../store/user-transaction.ts';

/** Writes the jobs of one call to the store, all or none. */
export interface JobWriter {
  /** `tx`: a transaction of the caller's own. `isRepeat`: an earlier call may have created them. */
  write(specs: JobSpec[], tx: unknown, isRepeat: boolean): Promise<WrittenJobs>;
}

/** The store's answer to one call. */
export interface WrittenJobs {
  items: EnqueuedItem[];
  now: number;
}

/** Creates the writer of a task's jobs. */
export function createJobWriter(
  task: Pick<ResolvedTask, 'name' | 'queue'>,
  { session, tracing }: { session(): Promise<StoreSession>; tracing: Tracing | null },
): JobWriter {
  /** Through the batcher, together with other calls, or in the caller's transaction. */
  async function create(specs: JobSpec[], tx: unknown, isRepeat: boolean): Promise<WrittenJobs> {
    const { enqueue, engine } = await session();
    if (tx === undefined && !isRepeat) {
      const group = await enqueue.push(specs);
      return { items: groupItems(group), now: group.now };
    }
    const userTransaction = tx === undefined ? engine : await userTransactionOf(engine, tx);
    const { groups, now } = await userTransaction.enqueue({
      groups: [{ jobs: specs }],
      ...(isRepeat ? { repeat: isRepeat } : {}),
    });
    return { items: groupItems(groups[0] as (typeof groups)[number]), now };
  }

  return {
    write(specs, tx, isRepeat) {
      if (tracing === null) return create(specs, tx, isRepeat);
      const call = {
        type: task.name,
        queue: specs[0]?.queue ?? task.queue,
        ids: specs.map(({ id }) => id),
      };
      return tracing.enqueue(call, (traceparent) => {
        if (traceparent !== null)
          for (const spec of specs) spec.metadata = withTraceparent(spec.metadata, traceparent);
        return create(specs, tx, isRepeat);
      });
    },
  };
}
