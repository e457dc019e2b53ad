import type { JobStatus } from '@duly/core';
import {
  Ban,
  CalendarClock,
  CircleCheck,
  CircleDot,
  CircleX,
  Hourglass,
  type LucideIcon,
  RotateCw,
  TimerOff,
} from 'lucide-react';

/** The statuses of a job, as everywhere in Duly. */
export type Status = JobStatus;

interface StatusStyle {
  icon: LucideIcon;
  word: string;
  className: string;
  /** Colour of a line or bar in a chart. */
  colour: string;
}

/** Status by colour and icon and word, in this order wherever statuses are listed. */
export const statusStyle: Readonly<Record<Status, StatusStyle>> = {
  RUNNING: { icon: CircleDot, word: 'Running', className: 'bg-run-soft text-run', colour: 'var(--run)' },
  PENDING: { icon: Hourglass, word: 'Pending', className: 'bg-wait-soft text-wait', colour: 'var(--wait)' },
  SCHEDULED: {
    icon: CalendarClock,
    word: 'Scheduled',
    className: 'bg-accent-soft text-accent',
    colour: 'var(--accent)',
  },
  BLOCKED: { icon: Ban, word: 'Blocked', className: 'bg-warn-soft text-warn', colour: 'var(--warn)' },
  RETRYING: { icon: RotateCw, word: 'Retrying', className: 'bg-warn-soft text-warn', colour: 'var(--warn)' },
  COMPLETED: {
    icon: CircleCheck,
    word: 'Completed',
    className: 'bg-good-soft text-good',
    colour: 'var(--good)',
  },
  FAILED: { icon: CircleX, word: 'Failed', className: 'bg-bad-soft text-bad', colour: 'var(--bad)' },
  CANCELLED: { icon: Ban, word: 'Cancelled', className: 'bg-wait-soft text-wait', colour: 'var(--wait)' },
  EXPIRED: { icon: TimerOff, word: 'Expired', className: 'bg-wait-soft text-wait', colour: 'var(--wait)' },
};

/** All statuses, in the order of `statusStyle`. */
export const statuses = Object.keys(statusStyle) as Status[];

/** A job's status. */
export function StatusBadge({ status }: { status: Status }) {
  const { icon: Icon, word, className } = statusStyle[status];
  return (
    <span
      className={`inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium ${className}`}
    >
      <Icon aria-hidden className="size-3.5" />
      {word}
    </span>
  );
}
