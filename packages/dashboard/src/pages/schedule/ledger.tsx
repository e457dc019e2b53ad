import { Link } from '@tanstack/react-router';
import { type LedgerSlot, type Schedule, useLedger } from '../../api/schedules.ts';
import { SlotStrip } from '../../charts/slot-strip.tsx';
import { duration, fullInstant } from '../../time/format.ts';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { slotStyle } from '../../ui/slot-status.tsx';
import { NothingYet } from '../../ui/states.tsx';
import { Cell, Table } from '../../ui/table.tsx';

/** One decision per slot, newest first, with its reason. */
export function Ledger({ schedule }: { schedule: Schedule }) {
  const slots = useLedger(schedule.id);
  const rows = slots.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Panel title="Ledger" actions={<SlotStrip slots={rows.slice(0, 50)} timezone={schedule.timezone} />}>
      {slots.data !== undefined && rows.length === 0 ? (
        <NothingYet title="No slot has come yet." />
      ) : (
        <Table label="Ledger" head={['Slot', 'Decision', 'Why', 'Run']}>
          {rows.map((slot) => (
            <LedgerRow key={`${slot.slot}/${slot.decided_at}`} slot={slot} timezone={schedule.timezone} />
          ))}
        </Table>
      )}
      {slots.hasNextPage && (
        <p className="border-t border-line px-4 py-2">
          <Button kind="quiet" disabled={slots.isFetchingNextPage} onClick={() => void slots.fetchNextPage()}>
            Show older slots
          </Button>
        </p>
      )}
    </Panel>
  );
}

function LedgerRow({ slot, timezone }: { slot: LedgerSlot; timezone: string }) {
  const run = slot.runs[0];
  const { icon: Icon, word, className } = slotStyle(slot.status, run?.status);
  return (
    <tr>
      <Cell className="whitespace-nowrap">
        <span className="tabular">{fullInstant(Date.parse(slot.slot), timezone)}</span>
        {(slot.count ?? 1) > 1 && (
          <span className="block text-xs text-ink-faint">
            to {fullInstant(Date.parse(slot.to), timezone)}, {slot.count?.toLocaleString('en')} slots
          </span>
        )}
      </Cell>
      <Cell>
        <span className={`inline-flex items-center gap-1 ${className}`}>
          <Icon aria-hidden className="size-4" />
          {word}
        </span>
      </Cell>
      <Cell isLong className="text-ink-soft">
        {slot.reason ?? ''}
      </Cell>
      <Cell>
        {slot.runs.map(({ id, origin, lateness_ms }) => (
          <Link
            key={id}
            to="/jobs/$id"
            params={{ id }}
            className="block font-mono text-xs text-accent hover:underline"
          >
            {id.slice(0, 16)}…
            <span className="ml-2 font-sans text-ink-faint">
              {origin !== 'schedule' && origin}{' '}
              {lateness_ms !== null && lateness_ms >= 1_000 && `${duration(lateness_ms)} late`}
            </span>
          </Link>
        ))}
      </Cell>
    </tr>
  );
}
