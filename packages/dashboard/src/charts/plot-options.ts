import uPlot from 'uplot';
import { clockTime, dayName } from '../time/format.ts';
import type { Series, TimeChartProps } from './time-chart.tsx';

/** The height of a plot in pixels. */
export const plotHeight = 152;
/** The width of the labels left of a plot, in pixels. */
export const axisWidth = 56;

// A line with at most this many values is drawn with its points, because it may have no two neighbours to connect.
const pointCountMax = 12;

/** Whether there is no value to draw. */
export function isEmpty(series: readonly Series[]): boolean {
  return series.every(({ values }) => values.every((value) => value === null));
}

/** The values as uPlot reads them. Bars are stacked by adding up: the first layer is at the bottom and drawn last. */
export function plotData({ times, series, kind }: TimeChartProps): uPlot.AlignedData {
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

/** How uPlot draws a chart. `onPoint` is called with the step under the pointer, or null when the pointer leaves. */
export function plotOptions(
  chart: TimeChartProps,
  { width, zone, onPoint }: { width: number; zone: string; onPoint(at: number | null, left: number): void },
): uPlot.Options {
  const { series, kind, stepMs } = chart;
  const drawn = kind === 'bars' ? [...series].reverse() : series;
  return {
    width,
    height: plotHeight,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), zone),
    cursor: { y: false, points: { show: kind === 'lines' }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: (_u, min, max) => [min, max + (kind === 'bars' ? stepMs / 1_000 : 0)] },
      y: { range: (_u, _min, max) => [0, max === null || max <= 0 ? 1 : max * 1.1] },
    },
    axes: [timeAxis(zone), valueAxis(chart)],
    series: [{}, ...drawn.map(kind === 'bars' ? barLayer : line)],
    hooks: {
      setCursor: [
        (u) => {
          const { idx, left } = u.cursor;
          if (idx == null || left === undefined || left < 0) onPoint(null, 0);
          else onPoint(idx, left);
        },
      ],
    },
  };
}

function timeAxis(zone: string): uPlot.Axis {
  return {
    ...axisStyle(),
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
  };
}

function valueAxis({ series, text, whole = false }: TimeChartProps): uPlot.Axis {
  return {
    ...axisStyle(),
    size: axisWidth,
    space: 36,
    ...(whole
      ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7] }
      : {}),
    // Without a value there is no scale to label.
    values: (_u, splits) => splits.map((value) => (isEmpty(series) ? '' : text(value))),
  };
}

function axisStyle() {
  return {
    stroke: colourOf('ink-faint'),
    font: '11px ui-sans-serif, system-ui, sans-serif',
    ticks: { show: false },
    grid: { stroke: colourOf('line'), width: 1 },
  };
}

function barLayer({ name, colour }: Series): uPlot.Series {
  return {
    label: name,
    fill: colourOf(colour),
    stroke: colourOf(colour),
    width: 0,
    points: { show: false },
    ...(uPlot.paths.bars === undefined
      ? {}
      : { paths: uPlot.paths.bars({ size: [0.8, 24], align: 1, gap: 1 }) }),
  };
}

function line({ name, colour, dash }: Series): uPlot.Series {
  return {
    label: name,
    stroke: colourOf(colour),
    width: 1.75,
    ...(dash === undefined ? {} : { dash: [...dash] }),
    spanGaps: false,
    points: { show: (u, at) => hasFewValues(u.data[at]), size: 5, fill: colourOf(colour) },
  };
}

function hasFewValues(values: uPlot.AlignedData[number] | undefined): boolean {
  let count = 0;
  for (const value of values ?? []) if (value !== null && value !== undefined) count += 1;
  return count <= pointCountMax;
}

/** The value of a colour token in the current theme. */
function colourOf(token: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim();
}
