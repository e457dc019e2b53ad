import { Link } from '@tanstack/react-router';
import type { Forecast } from '../../api/forecast.ts';
import { duration } from '../../time/format.ts';
import { Instant } from '../../time/time.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Table } from '../../ui/table.tsx';

/** Schedules by name, each leading to those of that name. */
export function ScheduleNames({ names, more = 0 }: { names: readonly string[]; more?: number }) {
  return (
    <>
      {names.map((name, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: schedules of several tenants may have one name
        <span key={at}>
          {at > 0 && ', '}
          <Link to="/schedules" search={{ q: name }} className="hover:underline">
            {name}
          </Link>
        </span>
      ))}
      {more > 0 && <span className="text-ink-faint"> and {more.toLocaleString('en')} more</span>}
    </>
  );
}

function Quiet({ children }: { children: string }) {
  return <p className="px-4 py-6 text-center text-sm text-ink-faint">{children}</p>;
}

/** The seconds in which most begin. */
export function Collisions({ forecast: { collisions } }: { forecast: Forecast }) {
  return (
    <Panel title="Collisions">
      {collisions.length === 0 ? (
        <Quiet>No two schedules begin in the same second.</Quiet>
      ) : (
        <Table label="Collisions" head={['When', 'Runs', 'Schedules']}>
          {collisions.map(({ at, runs, names }) => (
            <tr key={at}>
              <Cell className="whitespace-nowrap">
                <Instant at={at} />
              </Cell>
              <Cell className="tabular">{runs.toLocaleString('en')}</Cell>
              <Cell isLong>
                <ScheduleNames names={names} more={Math.max(0, runs - names.length)} />
              </Cell>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** Times that schedules name and that clocks skip, or show twice, within a year. */
export function ClockChanges({ forecast: { clock_changes: changes } }: { forecast: Forecast }) {
  return (
    <Panel title="Changes of the clocks, within a year">
      {changes.length === 0 ? (
        <Quiet>No schedule names a time that the clocks skip or show twice.</Quiet>
      ) : (
        <Table label="Changes of the clocks" head={['When', 'What', 'Schedules']}>
          {changes.map(({ at, kind, timezone, date, time, names, schedules }) => (
            <tr key={`${at} ${timezone} ${time} ${kind}`}>
              <Cell className="whitespace-nowrap">
                <Instant at={at} />
              </Cell>
              <Cell>
                <span className="text-warn">
                  {time} {kind === 'gap' ? 'does not exist' : 'happens twice'}
                </span>
                <span className="block text-xs text-ink-faint">
                  on {date} in {timezone}
                </span>
              </Cell>
              <Cell isLong>
                <ScheduleNames names={names} more={schedules - names.length} />
              </Cell>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** Schedules whose runs take longer than the time between them. */
export function Overlaps({ forecast: { overlaps } }: { forecast: Forecast }) {
  if (overlaps.length === 0) return null;
  return (
    <Panel title="Slots lost to the run before">
      <Table
        label="Slots lost to the run before"
        head={['Schedule', 'Slots lost', 'Runs', 'A run usually takes']}
      >
        {overlaps.map(({ name, left_out, runs, usual_ms, without_history }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: schedules of several tenants may have one name
          <tr key={at}>
            <Cell isLong>
              <ScheduleNames names={[name]} />
            </Cell>
            <Cell className="tabular text-warn">{left_out.toLocaleString('en')}</Cell>
            <Cell className="tabular">{runs.toLocaleString('en')}</Cell>
            <Cell className="tabular">{without_history ? 'not known' : duration(usual_ms)}</Cell>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
