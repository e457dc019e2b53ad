import type { ResolvedTask, TaskContext } from './task-definition.ts';
import { type Tracing, traceparentField } from './tracing.ts';

/** The task whose handler is followed where somebody follows; else the task as it is. */
export function tracedTask(task: ResolvedTask, tracing: Tracing | null): ResolvedTask {
  if (tracing === null) return task;
  return Object.freeze({
    ...task,
    run: (context: TaskContext<unknown>) => {
      const { id, type, queue, metadata } = context.job;
      const created = metadata[traceparentField];
      const traceparent = typeof created === 'string' ? created : null;
      const call = { id, type, queue, attempt: context.attempt, traceparent };
      return tracing.attempt(call, async () => task.run(context));
    },
  });
}
