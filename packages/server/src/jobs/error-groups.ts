/** What dead letters that failed for the same cause have in common. */
export interface ErrorCause {
  type: string;
  /** The name of the error. */
  name: string;
  /** Its message, without what differs from one job to the next. */
  pattern: string;
}

/** Jobs that failed for the same cause. */
export interface ErrorGroup<Failed> extends ErrorCause {
  example: string;
  /** In the order in which they were given. */
  jobs: Failed[];
}

interface Failed {
  type: string;
  error: { name: string; message: string } | null;
}

/** The first line of a message without what differs from one job to the next: ids, numbers, quoted values, addresses. */
export function patternOf(message: string): string {
  return message
    .replace(/\n.*/s, '')
    .replace(/https?:\/\/\S+/g, '<url>')
    .replace(/"[^"]*"|'[^']*'|“[^”]*”/g, '<…>')
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/gi, '<id>')
    .replace(/\b(?=\w*\d)\w{16,}\b/g, '<id>')
    .replace(/\d+(\.\d+)?/g, '<n>')
    .slice(0, 200);
}

const unknown = { name: 'Unknown', message: 'no error was recorded' };

/** Why a job failed. */
export function causeOf({ type, error }: Failed): ErrorCause {
  const { name, message } = error ?? unknown;
  return { type, name, pattern: patternOf(message) };
}

/** Whether a job failed for this cause. */
export function isCausedBy(job: Failed, { type, name, pattern }: ErrorCause): boolean {
  const cause = causeOf(job);
  return cause.type === type && cause.name === name && cause.pattern === pattern;
}

/** Groups by type and cause; the largest first. */
export function groupByCause<One extends Failed>(jobs: Iterable<One>): ErrorGroup<One>[] {
  const groups = new Map<string, ErrorGroup<One>>();
  for (const job of jobs) {
    const cause = causeOf(job);
    const key = `${cause.type}\n${cause.name}\n${cause.pattern}`;
    const group = groups.get(key) ?? { ...cause, example: job.error?.message ?? unknown.message, jobs: [] };
    group.jobs.push(job);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}
