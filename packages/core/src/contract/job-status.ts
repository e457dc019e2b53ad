/** Every status a job can have, in the order of its life. */
export const jobStatuses = [
  'SCHEDULED',
  'PENDING',
  'BLOCKED',
  'RUNNING',
  'RETRYING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'EXPIRED',
] as const;

/** Where a job stands. `FAILED` is the dead-letter state. */
export type JobStatus = (typeof jobStatuses)[number];

/** Statuses that only a retry by a person leaves again. */
export const terminalStatuses = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'] as const;

/** A status that ends a job. */
export type TerminalStatus = (typeof terminalStatuses)[number];

const terminal: ReadonlySet<JobStatus> = new Set(terminalStatuses);

/** Whether a job in this status is over. */
export function isTerminal(status: JobStatus): status is TerminalStatus {
  return terminal.has(status);
}

/** What moves a job from one status to another. */
export type JobEvent =
  | 'created'
  | 'due'
  | 'gate-shut'
  | 'gate-open'
  | 'claimed'
  | 'returned'
  | 'failed'
  | 'snoozed'
  | 'lost'
  | 'released'
  | 'cancelled'
  | 'expired'
  | 'rescheduled'
  | 'retried';

/** One allowed step of a job's life; `from: null` is its birth. */
export interface JobTransition {
  readonly from: JobStatus | null;
  readonly event: JobEvent;
  readonly to: JobStatus;
}

/**
 * Every allowed transition, and the only place that says so: engines refuse what is not here, the conformance
 * suite tries every pair that is missing, and the docs print this table.
 */
export const jobTransitions: readonly JobTransition[] = [
  { from: null, event: 'created', to: 'SCHEDULED' },
  { from: null, event: 'created', to: 'PENDING' },
  { from: null, event: 'created', to: 'BLOCKED' },

  { from: 'SCHEDULED', event: 'due', to: 'PENDING' },
  // A serial place (later: a limit) is looked at when the job falls due, not when it is created: until then
  // it does not compete for the place.
  { from: 'SCHEDULED', event: 'gate-shut', to: 'BLOCKED' },
  { from: 'BLOCKED', event: 'gate-open', to: 'PENDING' },
  { from: 'BLOCKED', event: 'gate-open', to: 'SCHEDULED' },

  { from: 'PENDING', event: 'claimed', to: 'RUNNING' },
  { from: 'RETRYING', event: 'claimed', to: 'RUNNING' },

  { from: 'RUNNING', event: 'returned', to: 'COMPLETED' },
  { from: 'RUNNING', event: 'failed', to: 'RETRYING' },
  { from: 'RUNNING', event: 'failed', to: 'FAILED' },
  { from: 'RUNNING', event: 'snoozed', to: 'SCHEDULED' },
  { from: 'RUNNING', event: 'lost', to: 'RETRYING' },
  { from: 'RUNNING', event: 'lost', to: 'FAILED' },
  { from: 'RUNNING', event: 'released', to: 'PENDING' },
  { from: 'RUNNING', event: 'cancelled', to: 'CANCELLED' },

  { from: 'SCHEDULED', event: 'cancelled', to: 'CANCELLED' },
  { from: 'PENDING', event: 'cancelled', to: 'CANCELLED' },
  { from: 'BLOCKED', event: 'cancelled', to: 'CANCELLED' },
  { from: 'RETRYING', event: 'cancelled', to: 'CANCELLED' },

  { from: 'SCHEDULED', event: 'expired', to: 'EXPIRED' },
  { from: 'PENDING', event: 'expired', to: 'EXPIRED' },
  { from: 'BLOCKED', event: 'expired', to: 'EXPIRED' },
  { from: 'RETRYING', event: 'expired', to: 'EXPIRED' },

  // Moving a job that is due but not yet taken (a person's reschedule, a dedupe `replace` or `extend`).
  { from: 'PENDING', event: 'rescheduled', to: 'SCHEDULED' },

  { from: 'FAILED', event: 'retried', to: 'PENDING' },
  { from: 'CANCELLED', event: 'retried', to: 'PENDING' },
  { from: 'EXPIRED', event: 'retried', to: 'PENDING' },
  // The same retry when another job of its serial key holds the place.
  { from: 'FAILED', event: 'retried', to: 'BLOCKED' },
  { from: 'CANCELLED', event: 'retried', to: 'BLOCKED' },
  { from: 'EXPIRED', event: 'retried', to: 'BLOCKED' },
];

/** Every action that can be done to many jobs at once. */
export const jobActions = ['cancel', 'terminate', 'retry', 'discard', 'delete'] as const;

/** An action on a job that exists. */
export type JobAction = (typeof jobActions)[number];

/** Whether an action may be done to a job as it stands. */
export function allowsAction(
  action: JobAction,
  { status, dead }: { status: JobStatus; dead: boolean },
): boolean {
  switch (action) {
    case 'cancel':
    case 'terminate':
      return !isTerminal(status);
    case 'retry':
      return isTerminal(status) && status !== 'COMPLETED';
    case 'discard':
      return dead;
    // A running job belongs to a worker: it is cancelled first, then deleted.
    case 'delete':
      return status !== 'RUNNING';
  }
}

const allowed: ReadonlySet<string> = new Set(jobTransitions.map(({ from, to }) => `${from}>${to}`));

/** Whether a job may go from one status to another by any event at all. */
export function canTransition(from: JobStatus | null, to: JobStatus): boolean {
  return allowed.has(`${from}>${to}`);
}

/** A job is ended by its third loss after a written beginning: by then it is sure that it takes its process down. */
export const begunLossesMax = 3;

/** Whether nothing else may run in the process meanwhile: the next loss would end the job, so blame must be sure. */
export function mustRunAlone(job: { begunLosses: number }): boolean {
  return job.begunLosses >= begunLossesMax - 1;
}

/** Whether a claim that takes it takes nothing else, and its beginning is written first: it was lost before. */
export function isSuspect(job: { losses: number }): boolean {
  return job.losses > 0;
}
