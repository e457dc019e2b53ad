import { type KeyboardEvent, type RefObject, useEffect, useId, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useZone } from '../time/zone.tsx';
import { axisWidth, isEmpty, plotData, plotHeight, plotOptions } from './plot-options.ts';
import type { Series, TimeChartProps } from './time-chart.tsx';

/** The step under the pointer or chosen by the keyboard, and how far from the left it is drawn. */
interface ChosenStep {
  at: number;
  left: number;
}

interface PlotProps {
  chart: TimeChartProps;
  /** When a step was, as text. */
  timeText: (at: number) => string;
}

/** The drawn chart. The pointer or the arrow keys choose a step, and a tooltip shows its values. */
export function Plot({ chart, timeText }: PlotProps) {
  const { title, times, series, text } = chart;
  const box = useRef<HTMLDivElement>(null);
  const { chosen, choose, unchoose } = useUPlot(chart, box);
  const last = times.length - 1;
  const onKeyDown = (event: KeyboardEvent) => {
    const from = chosen?.at ?? times.length;
    if (event.key === 'ArrowLeft') choose(Math.max(0, from - 1));
    else if (event.key === 'ArrowRight') choose(Math.min(last, from + 1));
    else if (event.key === 'Home') choose(0);
    else if (event.key === 'End') choose(last);
    else if (event.key === 'Escape') unchoose();
    else return;
    event.preventDefault();
  };
  const stepText = (at: number): string =>
    `${timeText(at)}: ${series.map(({ name, values }) => `${name} ${values[at] == null ? 'none' : text(values[at])}`).join(', ')}`;

  return (
    <div className="relative mt-1">
      <div
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={`${title}: step`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={chosen?.at ?? Math.max(0, last)}
        aria-valuetext={chosen === null ? 'Arrow keys choose a step' : stepText(chosen.at)}
        onKeyDown={onKeyDown}
        onBlur={unchoose}
        className="rounded"
        style={{ height: plotHeight }}
      />
      {isEmpty(series) ? (
        <p className="pointer-events-none absolute inset-x-0 top-14 text-center text-xs text-ink-faint">
          Nothing in this time.
        </p>
      ) : (
        chosen !== null && (
          <Tooltip
            chart={chart}
            timeText={timeText}
            step={chosen}
            plotWidth={box.current?.clientWidth ?? 0}
          />
        )
      )}
    </div>
  );
}

/** Draws the chart into an element with uPlot and follows the step that is chosen on it. */
function useUPlot(chart: TimeChartProps, box: RefObject<HTMLDivElement | null>) {
  const { times, series, kind, whole } = chart;
  const { name: zone } = useZone();
  const theme = useThemeMark();
  const plot = useRef<uPlot | null>(null);
  const [chosen, setChosen] = useState<ChosenStep | null>(null);
  const data = useMemo(() => plotData(chart), [chart]);
  // Everything but the values: the plot is created again only when one of these changes.
  const shape = JSON.stringify([theme, zone, kind, whole, isEmpty(series), series.map(({ name }) => name)]);
  const latest = useRef(chart);
  latest.current = chart;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` represents what the plot is created from; the values are set below
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const onPoint = (at: number | null, left: number) => setChosen(at === null ? null : { at, left });
    const options = plotOptions(latest.current, { width: element.clientWidth, zone, onPoint });
    const created = new uPlot(options, plotData(latest.current), element);
    plot.current = created;
    const resized = new ResizeObserver(() =>
      created.setSize({ width: element.clientWidth, height: plotHeight }),
    );
    resized.observe(element);
    return () => {
      resized.disconnect();
      created.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [data]);

  const choose = (at: number) => {
    const created = plot.current;
    const time = times[at];
    if (created === null || time === undefined) return;
    const left = created.valToPos(time / 1_000, 'x');
    created.setCursor({ left, top: plotHeight / 3 });
    setChosen({ at, left });
  };
  return {
    chosen: chosen !== null && chosen.at < times.length ? chosen : null,
    choose,
    unchoose: () => setChosen(null),
  };
}

/** The values of a step, on the side of it that has more room. */
function Tooltip({
  chart: { series, text, sampled },
  timeText,
  step: { at, left },
  plotWidth,
}: PlotProps & { step: ChosenStep; plotWidth: number }) {
  const id = useId();
  return (
    <div
      id={id}
      aria-hidden
      className="pointer-events-none absolute top-0 z-10 rounded-md border border-line-strong bg-surface px-2 py-1 text-xs shadow-md"
      style={
        left > plotWidth / 2
          ? { right: `calc(100% - ${left + axisWidth - 8}px)` }
          : { left: left + axisWidth + 12 }
      }
    >
      <p className="tabular font-medium whitespace-nowrap">{timeText(at)}</p>
      {series.map((one) => (
        <TooltipValue key={one.name} series={one} at={at} text={text} />
      ))}
      {sampled?.[at] === true && <p className="text-ink-faint">by sample</p>}
    </div>
  );
}

function TooltipValue({
  series: { name, colour, values },
  at,
  text,
}: {
  series: Series;
  at: number;
  text: TimeChartProps['text'];
}) {
  return (
    <p className="tabular flex justify-between gap-4">
      <span className="inline-flex items-center gap-1 text-ink-soft">
        <span className="size-2 rounded-sm" style={{ background: `var(--${colour})` }} />
        {name}
      </span>
      {values[at] == null ? '–' : text(values[at])}
    </p>
  );
}

/** Changes with the theme, because the colours of a canvas do not follow it. */
function useThemeMark(): string {
  const [mark, setMark] = useState(document.documentElement.dataset['theme'] ?? '');
  useEffect(() => {
    const watch = new MutationObserver(() => setMark(document.documentElement.dataset['theme'] ?? ''));
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => watch.disconnect();
  }, []);
  return mark;
}
