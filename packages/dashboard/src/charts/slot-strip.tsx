import type { LedgerSlot } from '../api/schedules.ts';
import { fullInstant } from '../time/format.ts';
import { useZone } from '../time/zone.tsx';
import { slotStyle } from '../ui/slot-status.tsx';

/** The last slots as bars, oldest first; what became of each, and why, on hover. */
export function SlotStrip({ slots, timezone }: { slots: readonly LedgerSlot[]; timezone: string }) {
  const { name } = useZone();
  const shown = [...slots].reverse();
  return (
    <ol aria-label="The last slots, oldest first" className="flex h-6 items-end gap-px">
      {shown.map((slot) => {
        const { word, className, barClassName } = slotStyle(slot.status, slot.runs[0]?.status);
        const text = `${fullInstant(Date.parse(slot.slot), timezone)}${timezone === name ? '' : ` (${fullInstant(Date.parse(slot.slot), name)})`}: ${word}${slot.reason === null ? '' : `, ${slot.reason}`}${(slot.count ?? 1) > 1 ? `, ${slot.count} slots` : ''}`;
        return (
          <li
            key={slot.slot}
            title={text}
            className={`w-1 rounded-sm ${barClassName} ${className === 'text-good' ? 'h-full' : className === 'text-ink-faint' ? 'h-2' : 'h-4/5'}`}
          >
            <span className="sr-only">{text}</span>
          </li>
        );
      })}
    </ol>
  );
}
