import { useEffect, useId, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clockTime, dayName } from '../time/format.ts';
import { useZone } from '../time/zone.tsx';
import { Cell, Table } from '../ui/table.tsx';

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
  /** Only whole numbers stand at the axis. */
  whole?: boolean;
  /** Steps that were not looked at whole. */
  sampled?: readonly boolean[];
}

const height = 152;

/**
 * Values over time. The pointer or the arrow keys choose a step, whose values are then told beside it; the same figures can be read as a
 * table.
 */
export function TimeChart(props: TimeChartProps) {
  const { title, times, stepMs, series, text, sampled } = props;
  const { name: zone } = useZone();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [chosen, setChosen] = useState<{ at: number; left: number } | null>(null);
  const [isTable, setTable] = useState(false);
  const tipId = useId();
  const theme = useThemeMark();
  const isEmpty = isEmptyOf(series);
  const data = useMemo(() => dataOf(props), [props]);
  // Everything but the values: the chart is made anew only when one of these changes.
  const shape = JSON.stringify([
    theme,
    zone,
    props.kind,
    props.whole,
    isEmpty,
    series.map(({ name }) => name),
  ]);
  const latest = useRef(props);
  latest.current = props;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for what the chart is made of; the values are set below
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const created = new uPlot(
      optionsOf(latest.current, element.clientWidth, zone, (at, left) =>
        setChosen(at === null ? null : { at, left }),
      ),
      dataOf(latest.current),
      element,
    );
    plot.current = created;
    const resized = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      created.destroy();
      plot.current = null;
    };
  }, [shape, isTable]);
  useEffect(() => plot.current?.setData(data), [data]);

  const choose = (at: number) => {
    const created = plot.current;
    const time = times[at];
    if (created === null || time === undefined) return;
    const left = created.valToPos(time / 1_000, 'x');
    created.setCursor({ left, top: height / 3 });
    setChosen({ at, left });
  };
  const timeText = (at: number): string => {
    const from = times[at] as number;
    const day = stepMs >= 6 * 3_600_000 || (times.at(-1) as number) - (times[0] as number) > 86_400_000;
    const short = { seconds: stepMs < 60_000 };
    return `${day ? `${dayName(from, zone)}, ` : ''}${clockTime(from, zone, short)} – ${clockTime(from + stepMs, zone, short)}`;
  };
  const shown = chosen !== null && chosen.at < times.length ? chosen : null;

  return (
    <figure className="min-w-0" aria-label={title}>
      <figcaption className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs">
        <span className="text-sm font-medium">{title}</span>
        {series.map(({ name, colour, dash }) => (
          <span key={name} className="inline-flex items-center gap-1 text-ink-soft">
            <svg aria-hidden="true" width="18" height="8">
              <line
                x1="0"
                x2="18"
                y1="4"
                y2="4"
                strokeWidth={props.kind === 'bars' ? 8 : 2}
                strokeDasharray={dash?.join(' ')}
                style={{ stroke: `var(--${colour})` }}
              />
            </svg>
            {name}
          </span>
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
      {isTable ? (
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
      ) : (
        <div className="relative mt-1">
          <div
            ref={box}
            role="slider"
            tabIndex={0}
            aria-label={`${title}: step`}
            aria-valuemin={0}
            aria-valuemax={Math.max(0, times.length - 1)}
            aria-valuenow={shown?.at ?? Math.max(0, times.length - 1)}
            aria-valuetext={
              shown === null
                ? 'Arrow keys choose a step'
                : `${timeText(shown.at)}: ${series.map(({ name, values }) => `${name} ${values[shown.at] == null ? 'none' : text(values[shown.at] as number)}`).join(', ')}`
            }
            onKeyDown={(event) => {
              const from = shown?.at ?? times.length;
              if (event.key === 'ArrowLeft') choose(Math.max(0, from - 1));
              else if (event.key === 'ArrowRight') choose(Math.min(times.length - 1, from + 1));
              else if (event.key === 'Home') choose(0);
              else if (event.key === 'End') choose(times.length - 1);
              else if (event.key === 'Escape') setChosen(null);
              else return;
              event.preventDefault();
            }}
            onBlur={() => setChosen(null)}
            className="rounded"
            style={{ height }}
          />
          {isEmpty && (
            <p className="pointer-events-none absolute inset-x-0 top-14 text-center text-xs text-ink-faint">
              Nothing in this time.
            </p>
          )}
          {shown !== null && !isEmpty && (
            <div
              id={tipId}
              aria-hidden
              className="pointer-events-none absolute top-0 z-10 rounded-md border border-line-strong bg-surface px-2 py-1 text-xs shadow-md"
              style={
                shown.left > (box.current?.clientWidth ?? 0) / 2
                  ? { right: `calc(100% - ${shown.left + axisWidth - 8}px)` }
                  : { left: shown.left + axisWidth + 12 }
              }
            >
              <p className="tabular font-medium whitespace-nowrap">{timeText(shown.at)}</p>
              {series.map(({ name, colour, values }) => (
                <p key={name} className="tabular flex justify-between gap-4">
                  <span className="inline-flex items-center gap-1 text-ink-soft">
                    <span className="size-2 rounded-sm" style={{ background: `var(--${colour})` }} />
                    {name}
                  </span>
                  {values[shown.at] == null ? '–' : text(values[shown.at] as number)}
                </p>
              ))}
              {sampled?.[shown.at] === true && <p className="text-ink-faint">by sample</p>}
            </div>
          )}
        </div>
      )}
    </figure>
  );
}

const axisWidth = 56;

function isEmptyOf(series: readonly Series[]): boolean {
  return series.every(({ values }) => values.every((value) => value === null));
}

/** Bars are stacked by adding up: the first layer stands at the bottom and is drawn last. */
function dataOf({ times, series, kind }: TimeChartProps): uPlot.AlignedData {
  const seconds = times.map((time) => time / 1_000);
  if (kind === 'lines') return [seconds, ...series.map(({ values }) => [...values])];
  const sums: number[] = times.map(() => 0);
  const layers = series.map(({ values }) =>
    values.map((value, at) => {
      sums[at] = (sums[at] as number) + (value ?? 0);
      return sums[at] as number;
    }),
  );
  return [seconds, ...layers.reverse()];
}

function optionsOf(
  { series, kind, text, whole = false, stepMs }: TimeChartProps,
  width: number,
  zone: string,
  onChoose: (at: number | null, left: number) => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const drawn = kind === 'bars' ? [...series].reverse() : series;
  const axis = {
    stroke: colour('ink-faint'),
    font: '11px ui-sans-serif, system-ui, sans-serif',
    ticks: { show: false },
    grid: { stroke: colour('line'), width: 1 },
  };
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), zone),
    cursor: { y: false, points: { show: kind === 'lines' }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: (_u, min, max) => [min, max + (kind === 'bars' ? stepMs / 1_000 : 0)] },
      y: { range: (_u, _min, max) => [0, max === null || max <= 0 ? 1 : max * 1.1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 64,
        values: (_u, splits) =>
          splits.map((second) => {
            const isMidnight = clockTime(second * 1_000, zone, { seconds: false }) === '00:00';
            return isMidnight || (splits[1] as number) - (splits[0] as number) >= 86_400
              ? dayName(second * 1_000, zone)
              : clockTime(second * 1_000, zone, { seconds: false });
          }),
      },
      {
        ...axis,
        size: axisWidth,
        space: 36,
        ...(whole
          ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7] }
          : {}),
        // Without a value nothing is measured.
        values: (_u, splits) => splits.map((value) => (isEmptyOf(series) ? '' : text(value))),
      },
    ],
    series: [
      {},
      ...drawn.map(
        ({ name, colour: token, dash }): uPlot.Series =>
          kind === 'bars'
            ? {
                label: name,
                fill: colour(token),
                stroke: colour(token),
                width: 0,
                points: { show: false },
                ...(uPlot.paths.bars === undefined
                  ? {}
                  : { paths: uPlot.paths.bars({ size: [0.8, 24], align: 1, gap: 1 }) }),
              }
            : {
                label: name,
                stroke: colour(token),
                width: 1.75,
                ...(dash === undefined ? {} : { dash: [...dash] }),
                spanGaps: false,
                points: { show: (u, at) => isLonely(u.data[at]), size: 5, fill: colour(token) },
              },
      ),
    ],
    hooks: {
      setCursor: [
        (u) => {
          const { idx, left } = u.cursor;
          if (idx == null || left === undefined || left < 0) onChoose(null, 0);
          else onChoose(idx, left);
        },
      ],
    },
  };
}

/** Whether a line has so few values that only their points show them. */
function isLonely(values: uPlot.AlignedData[number] | undefined): boolean {
  let count = 0;
  for (const value of values ?? []) if (value !== null && value !== undefined) count += 1;
  return count <= 12;
}

/** Changes when the theme does: colours of a canvas do not follow by themselves. */
function useThemeMark(): string {
  const [mark, setMark] = useState(document.documentElement.dataset['theme'] ?? '');
  useEffect(() => {
    const watch = new MutationObserver(() => setMark(document.documentElement.dataset['theme'] ?? ''));
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => watch.disconnect();
  }, []);
  return mark;
}
