import { useMemo } from 'react';
import type { Forecast } from '../../api/forecast.ts';
import { countText } from '../../charts/count-text.ts';
import { stepName } from '../../charts/step-name.ts';
import { TimeChart } from '../../charts/time-chart.tsx';
import { Panel } from '../../ui/panel.tsx';

/** The load over time, with what the advised jitter would make of it; and how many runs begin. */
export function LoadCharts({ forecast }: { forecast: Forecast }) {
  const { load, jitter } = forecast;
  const shared = useMemo(
    () => ({ times: load.steps.map(({ at }) => Date.parse(at)), stepMs: load.step_ms }),
    [load],
  );
  return (
    <Panel title="Load">
      <div className="grid grid-cols-1 gap-x-6 gap-y-4 px-4 py-3 md:grid-cols-2">
        <TimeChart
          {...shared}
          title="Runs at a time"
          kind="lines"
          whole
          text={countText}
          series={[
            { name: 'most', colour: 'bad', values: load.steps.map(({ peak }) => peak) },
            { name: 'on average', colour: 'run', dash: [6, 4], values: load.steps.map(({ mean }) => mean) },
            ...(jitter === null
              ? []
              : [
                  {
                    name: 'most, with jitter',
                    colour: 'good',
                    dash: [2, 3],
                    values: jitter.load.steps.map(({ peak }) => peak),
                  } as const,
                ]),
          ]}
        />
        <TimeChart
          {...shared}
          title={`Starts per ${stepName(load.step_ms)}`}
          kind="bars"
          whole
          text={countText}
          series={[{ name: 'starts', colour: 'accent', values: load.steps.map(({ starts }) => starts) }]}
        />
      </div>
    </Panel>
  );
}
