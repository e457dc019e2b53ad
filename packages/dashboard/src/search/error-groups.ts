/** Jobs that failed for the same cause. */
export interface ErrorGroup<Failed> {
  /** What they have in common: the task, and the error without what differs from job to job. */
  cause: string;
  type: string;
  name: string;
  example: string;
  jobs: Failed[];
}

interface Failed {
  type: string;
  error: { name: string; message: string } | null;
}

/** The message without what differs from one job to the next: ids, numbers, quoted values, addresses. */
export function causeOf(message: string): string {
  return message
    .replace(/\n.*/s, '')
    .replace(/https?:\/\/\S+/g, '<url>')
    .replace(/"[^"]*"|'[^']*'|“[^”]*”/g, '<…>')
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/gi, '<id>')
    .replace(/\b(?=\w*\d)\w{16,}\b/g, '<id>')
    .replace(/\d+(\.\d+)?/g, '<n>')
    .slice(0, 200);
}

/** Groups by task and cause; the largest first. */
export function groupByCause<One extends Failed>(jobs: readonly One[]): ErrorGroup<One>[] {
  const groups = new Map<string, ErrorGroup<One>>();
  for (const job of jobs) {
    const message = job.error?.message ?? 'no error was recorded';
    const name = job.error?.name ?? 'Unknown';
    const cause = `${job.type}\n${name}\n${causeOf(message)}`;
    const group = groups.get(cause) ?? { cause, type: job.type, name, example: message, jobs: [] };
    group.jobs.push(job);
    groups.set(cause, group);
  }
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}
