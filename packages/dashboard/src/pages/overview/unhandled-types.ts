import type { Count } from '../../api/page.ts';

/** A task whose jobs wait and that nobody handles. */
export interface UnhandledType {
  type: string;
  ready: Count;
  queueCount: number;
}

interface Lanes {
  lanes: readonly { type: string; ready: Count; oldest_due_at: string | null }[];
}

/** The tasks that nobody handles, of which a job was due before then: each once, in however many queues its jobs wait. */
export function unhandledTypes(
  queues: readonly Lanes[],
  handled: ReadonlySet<string>,
  dueBeforeAt: number,
): UnhandledType[] {
  const found = new Map<string, UnhandledType>();
  for (const { type, ready, oldest_due_at } of queues.flatMap(({ lanes }) => lanes)) {
    if (handled.has(type) || oldest_due_at === null || Date.parse(oldest_due_at) >= dueBeforeAt) continue;
    const before = found.get(type);
    found.set(type, {
      type,
      ready: {
        count: ready.count + (before?.ready.count ?? 0),
        capped: ready.capped || before?.ready.capped === true,
      },
      queueCount: 1 + (before?.queueCount ?? 0),
    });
  }
  return [...found.values()];
}
