import type { Forecast } from '../../api/forecast.ts';
import { duration } from '../../time/format.ts';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Table } from '../../ui/table.tsx';
import { ScheduleNames } from './hazards.tsx';

/** Which schedules to spread, and what it would bring. The load that it would give is drawn beside what stands. */
export function JitterAdvice({
  forecast,
  jitter,
}: {
  forecast: Forecast;
  jitter: NonNullable<Forecast['jitter']>;
}) {
  const { load } = forecast;
  const shown = jitter.schedules;
  return (
    <Panel title="Jitter that would spread the load">
      <p className="px-4 py-3 text-sm">
        {jitter.count === 1 ? 'One schedule begins' : `${jitter.count.toLocaleString('en')} schedules begin`}{' '}
        together with others. With the jitter below the most at a time would be{' '}
        <strong>{jitter.load.peak.toLocaleString('en')}</strong> instead of{' '}
        <strong>{load.peak.toLocaleString('en')}</strong>
        {jitter.load.workers_needed < load.workers_needed && (
          <>
            , and <strong>{jitter.load.workers_needed.toLocaleString('en')}</strong> instead of{' '}
            <strong>{load.workers_needed.toLocaleString('en')}</strong> workers would be enough
          </>
        )}
        .
      </p>
      <div className="max-h-80 overflow-y-auto border-t border-line">
        <Table label="Jitter that would spread the load" head={['Schedule', 'Jitter']}>
          {shown.map(({ name, jitter_ms }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: schedules of several tenants may have one name
            <tr key={at}>
              <Cell>
                <ScheduleNames names={[name]} />
              </Cell>
              <Cell className="tabular whitespace-nowrap">{duration(jitter_ms)}</Cell>
            </tr>
          ))}
        </Table>
      </div>
      {jitter.count > shown.length && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-faint">
          The first {shown.length} of {jitter.count.toLocaleString('en')}.
        </p>
      )}
    </Panel>
  );
}
