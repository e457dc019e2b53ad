import {
  CalendarX,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleX,
  Clock,
  type LucideIcon,
  Merge,
  SkipForward,
} from 'lucide-react';

interface SlotStyle {
  icon: LucideIcon;
  word: string;
  className: string;
}

/** The colour of a bar that stands for a slot, by the colour of its word. */
const barColours: Readonly<Record<string, string>> = {
  'text-good': 'bg-good',
  'text-bad': 'bg-bad',
  'text-run': 'bg-run',
  'text-warn': 'bg-warn',
};

/** What became of a slot: by its run where there is one, else by the decision. */
const slotStyles: Readonly<Record<string, SlotStyle>> = {
  completed: { icon: CircleCheck, word: 'completed', className: 'text-good' },
  failed: { icon: CircleX, word: 'failed', className: 'text-bad' },
  fired: { icon: CircleDot, word: 'fired', className: 'text-run' },
  enqueued: { icon: CircleDot, word: 'enqueued', className: 'text-run' },
  late: { icon: Clock, word: 'late', className: 'text-warn' },
  pending: { icon: CircleDashed, word: 'pending', className: 'text-ink-faint' },
  merged: { icon: Merge, word: 'merged', className: 'text-ink-soft' },
  skipped: { icon: SkipForward, word: 'skipped', className: 'text-ink-soft' },
  missed: { icon: CalendarX, word: 'missed', className: 'text-warn' },
  expired: { icon: CalendarX, word: 'expired', className: 'text-warn' },
  excluded: { icon: SkipForward, word: 'excluded', className: 'text-ink-faint' },
  ended: { icon: CircleDashed, word: 'ended', className: 'text-ink-faint' },
};

const unknown: SlotStyle = { icon: CircleDashed, word: 'unknown', className: 'text-ink-faint' };

/** The icon, word and colours of a slot. */
export function slotStyle(status: string, runStatus?: string): SlotStyle & { barClassName: string } {
  const name = runStatus === 'FAILED' ? 'failed' : runStatus === 'COMPLETED' ? 'completed' : status;
  const style = slotStyles[name] ?? { ...unknown, word: name };
  return { ...style, barClassName: barColours[style.className] ?? 'bg-line-strong' };
}
