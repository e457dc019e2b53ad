import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { failureShare, type TrendStep, useTrend } from '../api/stats.ts';
import { duration } from '../time/format.ts';
import { ChoiceBar } from '../ui/choice-bar.tsx';
import { Panel } from '../ui/panel.tsx';
import { QueryState } from '../ui/states.tsx';
import { countText } from './count-text.ts';
import { stepName } from './step-name.ts';
import { TimeChart, type TimeChartProps } from './time-chart.tsx';

const ranges = { '1h': '1 hour', '6h': '6 hours', '24h': '24 hours', '7d': '7 days' } as const;
type Range = keyof typeof ranges;

/** Throughput, failure rate, wait and lateness over a range of time, which is part of the address. */
export function OverTime({ type }: { type?: string }) {
  const { range: given } = useSearch({ strict: false }) as { range?: string };
  const navigate = useNavigate();
  const range: Range = given !== undefined && given in ranges ? (given as Range) : '1h';
  const trend = useTrend({ since: range, type });
  const choose = (next: Range) =>
    void navigate({
      to: '.',
      search: (before: Record<string, string>) => ({ ...before, range: next }),
      replace: true,
    } as never);
  return (
    <Panel
      title="Over time"
      className="mb-4"
      actions={<ChoiceBar label="How far back" choices={ranges} chosen={range} onChoose={choose} />}
    >
      {trend.data === undefined && (trend.error ?? trend.failureReason) !== null ? (
        <QueryState query={trend} />
      ) : (
        <Charts
          steps={trend.data?.data ?? []}
          stepMs={trend.data?.step_ms ?? 60_000}
          isOfTask={type !== undefined}
        />
      )}
    </Panel>
  );
}

const p50 = { name: 'p50', colour: 'good' } as const;
const p95 = { name: 'p95', colour: 'run', dash: [6, 4] } as const;
const p99 = { name: 'p99', colour: 'bad', dash: [2, 3] } as const;

/** What each chart is drawn from. */
interface ChartProps {
  steps: readonly TrendStep[];
  /** The steps in time, which the charts share. */
  axis: Pick<TimeChartProps, 'times' | 'sampled' | 'stepMs'>;
}

function Charts({
  steps,
  stepMs,
  isOfTask,
}: {
  steps: readonly TrendStep[];
  stepMs: number;
  isOfTask: boolean;
}) {
  const axis = useMemo(
    () => ({
      times: steps.map(({ from }) => Date.parse(from)),
      sampled: steps.map(({ sampled }) => sampled),
      stepMs,
    }),
    [steps, stepMs],
  );
  return (
    <div className="grid grid-cols-1 gap-x-6 gap-y-4 px-4 py-3 md:grid-cols-2">
      <EndedChart steps={steps} axis={axis} />
      <FailureRateChart steps={steps} axis={axis} />
      <WaitChart steps={steps} axis={axis} />
      {isOfTask ? <DurationChart steps={steps} axis={axis} /> : <LatenessChart steps={steps} axis={axis} />}
    </div>
  );
}

function EndedChart({ steps, axis }: ChartProps) {
  return (
    <TimeChart
      {...axis}
      title={`Ended per ${stepName(axis.stepMs)}`}
      kind="bars"
      whole
      text={countText}
      series={[
        { name: 'failed', colour: 'bad', values: steps.map(({ failed }) => failed) },
        {
          name: 'cancelled or expired',
          colour: 'wait',
          values: steps.map(({ cancelled, expired }) => cancelled + expired),
        },
        { name: 'completed', colour: 'good', values: steps.map(({ completed }) => completed) },
      ]}
    />
  );
}

function FailureRateChart({ steps, axis }: ChartProps) {
  const percents = steps.map((step) => {
    const share = failureShare(step);
    return share === null ? null : share * 100;
  });
  return (
    <TimeChart
      {...axis}
      title="Failure rate"
      kind="lines"
      text={(value) => `${Math.round(value * 10) / 10} %`}
      series={[{ name: 'failed of those that ran', colour: 'bad', values: percents }]}
    />
  );
}

function WaitChart({ steps, axis }: ChartProps) {
  return (
    <TimeChart
      {...axis}
      title="Wait, from due to start"
      kind="lines"
      text={duration}
      series={[
        { ...p50, values: steps.map((step) => step.wait_ms_p50) },
        { ...p95, values: steps.map((step) => step.wait_ms_p95) },
        { ...p99, values: steps.map((step) => step.wait_ms_p99) },
      ]}
    />
  );
}

function DurationChart({ steps, axis }: ChartProps) {
  return (
    <TimeChart
      {...axis}
      title="Duration"
      kind="lines"
      text={duration}
      series={[
        { ...p50, values: steps.map((step) => step.duration_ms_p50) },
        { ...p95, values: steps.map((step) => step.duration_ms_p95) },
      ]}
    />
  );
}

function LatenessChart({ steps, axis }: ChartProps) {
  return (
    <TimeChart
      {...axis}
      title="Lateness of schedules"
      kind="lines"
      text={duration}
      series={[
        { ...p50, values: steps.map((step) => step.lateness_ms_p50) },
        { ...p95, values: steps.map((step) => step.lateness_ms_p95) },
        { ...p99, values: steps.map((step) => step.lateness_ms_p99) },
      ]}
    />
  );
}
