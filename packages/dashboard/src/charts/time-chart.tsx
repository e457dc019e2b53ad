import { useState } from 'react';
import { clockTime, dayName } from '../time/format.ts';
import { useZone } from '../time/zone.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { Plot } from './plot.tsx';

/** One line, or one layer of the bars. */
export interface Series {
  name: string;
  /** A colour token, without its dashes: `good`. */
  colour: 'good' | 'bad' | 'warn' | 'run' | 'wait' | 'accent';
  /** How the line is drawn, so that lines differ without their colours. */
  dash?: readonly number[];
  values: readonly (number | null)[];
}

/** What is drawn. */
export interface TimeChartProps {
  title: string;
  /** Where each step begins, epoch milliseconds. */
  times: readonly number[];
  stepMs: number;
  series: readonly Series[];
  kind: 'lines' | 'bars';
  /** A value as text, for the axis, the tooltip and the table. */
  text: (value: number) => string;
  /** Only whole numbers are on the axis. */
  whole?: boolean;
  /** Steps whose values come from a sample. */
  sampled?: readonly boolean[];
}

/** Values over time, as a plot or as a table. */
export function TimeChart(props: TimeChartProps) {
  const { title, series, kind } = props;
  const { name: zone } = useZone();
  const [isTable, setTable] = useState(false);
  const timeText = (at: number): string => stepTimeText(props, at, zone);

  return (
    <figure className="min-w-0" aria-label={title}>
      <figcaption className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs">
        <span className="text-sm font-medium">{title}</span>
        {series.map((one) => (
          <LegendEntry key={one.name} series={one} kind={kind} />
        ))}
        <button
          type="button"
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
          className="ml-auto rounded px-1.5 py-0.5 text-ink-faint hover:bg-raised hover:text-ink"
        >
          {isTable ? 'As a chart' : 'As a table'}
        </button>
      </figcaption>
      {isTable ? <StepTable chart={props} timeText={timeText} /> : <Plot chart={props} timeText={timeText} />}
    </figure>
  );
}

/** From when to when a step lasts, with the day if the chart or a step is long. */
function stepTimeText({ times, stepMs }: TimeChartProps, at: number, zone: string): string {
  const from = times[at] as number;
  const day = stepMs >= 6 * 3_600_000 || (times.at(-1) as number) - (times[0] as number) > 86_400_000;
  const short = { seconds: stepMs < 60_000 };
  return `${day ? `${dayName(from, zone)}, ` : ''}${clockTime(from, zone, short)} – ${clockTime(from + stepMs, zone, short)}`;
}

function LegendEntry({
  series: { name, colour, dash },
  kind,
}: {
  series: Series;
  kind: TimeChartProps['kind'];
}) {
  return (
    <span className="inline-flex items-center gap-1 text-ink-soft">
      <svg aria-hidden="true" width="18" height="8">
        <line
          x1="0"
          x2="18"
          y1="4"
          y2="4"
          strokeWidth={kind === 'bars' ? 8 : 2}
          strokeDasharray={dash?.join(' ')}
          style={{ stroke: `var(--${colour})` }}
        />
      </svg>
      {name}
    </span>
  );
}

/** The values of every step, newest first. */
function StepTable({
  chart: { title, times, series, text, sampled },
  timeText,
}: {
  chart: TimeChartProps;
  timeText: (at: number) => string;
}) {
  return (
    <div className="mt-2 max-h-72 overflow-y-auto">
      <Table label={title} head={['Time', ...series.map(({ name }) => name)]}>
        {times
          .map((time, at) => (
            <tr key={time}>
              <Cell className="tabular whitespace-nowrap">
                {timeText(at)}
                {sampled?.[at] === true && <span title="By sample"> ≈</span>}
              </Cell>
              {series.map(({ name, values }) => (
                <Cell key={name} className="tabular">
                  {values[at] == null ? '–' : text(values[at])}
                </Cell>
              ))}
            </tr>
          ))
          .reverse()}
      </Table>
    </div>
  );
}
