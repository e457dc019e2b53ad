import { TriangleAlert } from 'lucide-react';
import { type Queue, useWorkers } from '../../api/operations.ts';
import { countText } from '../../api/page.ts';
import { useNow } from '../../time/time.tsx';

/** Long enough for a worker that is just being started. */
const patienceMs = 10_000;

/** Only what a person can do something about. */
export function Warnings({ queues }: { queues: readonly Queue[] }) {
  const workers = useWorkers();
  const now = useNow();
  if (workers.data === undefined) return null;
  const handled = new Set(
    workers.data.data.filter(({ silent }) => !silent).flatMap(({ tasks }) => tasks.map(({ type }) => type)),
  );
  const warnings = queues.flatMap(({ lanes }) =>
    lanes
      .filter(
        ({ type, oldest_due_at }) =>
          !handled.has(type) && oldest_due_at !== null && now - Date.parse(oldest_due_at) > patienceMs,
      )
      .map(
        ({ type, ready }) =>
          `No worker handles ${type}: ${countText(ready)} wait. Start one that defines the task.`,
      ),
  );
  for (const { host, pid, not_ready, roles } of workers.data.data) {
    if (not_ready !== null && roles.includes('worker'))
      warnings.push(`The worker on ${host} (pid ${pid}) takes no work: ${not_ready}`);
  }
  return warnings.map((text) => (
    <p
      key={text}
      role="status"
      className="mb-2 flex items-start gap-2 rounded-lg border border-warn/40 bg-warn-soft px-3 py-2 text-sm text-warn"
    >
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
      {text}
    </p>
  ));
}
