import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Forecast, useForecast } from '../api/forecast.ts';
import { duration, fullInstant } from '../time/format.ts';
import { Instant } from '../time/time.tsx';
import { useZone } from '../time/zone.tsx';
import { ChoiceBar } from '../ui/choice-bar.tsx';
import { Field, Select, TextInput } from '../ui/field.tsx';
import { Fact, PageHead, Panel } from '../ui/panel.tsx';
import { NothingYet, QueryState, Trouble } from '../ui/states.tsx';
import { ClockChanges, Collisions, Overlaps } from './forecast/hazards.tsx';
import { JitterAdvice } from './forecast/jitter-advice.tsx';
import { LoadCharts } from './forecast/load-charts.tsx';

const spans = { '6': '6 hours', '24': '24 hours', '72': '3 days', '168': '7 days' } as const;
const latenesses = {
  '1s': '1 second',
  '10s': '10 seconds',
  '1m': '1 minute',
  '5m': '5 minutes',
  '15m': '15 minutes',
};

/** What the forecast is asked, as it is in the address. */
interface Question {
  hours?: string | undefined;
  concurrency?: string | undefined;
  lateness?: string | undefined;
}

type Ask = (changes: Question) => void;

/** Every schedule played forward: how much work there will be at a time, and what will go wrong. */
export function ForecastPage() {
  const search = useSearch({ strict: false }) as Question;
  const { hours = '24', concurrency, lateness = '1m' } = search;
  const navigate = useNavigate();
  const forecast = useForecast({ hours, lateness, ...(concurrency === undefined ? {} : { concurrency }) });
  const ask: Ask = (changes) =>
    void navigate({ to: '/forecast', search: { ...search, ...changes } as never, replace: true });
  const { data } = forecast;
  return (
    <>
      <PageHead
        title="Forecast"
        about="Every schedule played forward, with durations drawn from history."
        actions={
          <ChoiceBar
            label="How far ahead"
            choices={spans}
            chosen={hours}
            onChoose={(next) => ask({ hours: next })}
          />
        }
      />
      {data === undefined ? (
        <Panel>
          <QueryState query={forecast} />
        </Panel>
      ) : data.schedules === 0 ? (
        <Panel>
          <NothingYet
            title="No schedule yet."
            command={'duly schedules add nightly --type report --cron "0 2 * * *"'}
          >
            A forecast plays schedules forward.
          </NothingYet>
        </Panel>
      ) : (
        <div className={`space-y-4 ${forecast.isPlaceholderData ? 'opacity-60' : ''}`}>
          {forecast.isError && !forecast.isFetching && (
            <Panel>
              <Trouble error={forecast.error} onRetry={() => void forecast.refetch()} />
            </Panel>
          )}
          <Summary forecast={data} />
          <LoadCharts forecast={data} />
          <ConcurrencyPanel forecast={data} lateness={lateness} concurrency={concurrency} onAsk={ask} />
          {data.jitter !== null && <JitterAdvice forecast={data} jitter={data.jitter} />}
          <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
            <Collisions forecast={data} />
            <ClockChanges forecast={data} />
          </div>
          <Overlaps forecast={data} />
        </div>
      )}
    </>
  );
}

function Summary({ forecast }: { forecast: Forecast }) {
  const { name: zone } = useZone();
  const { load, schedules, idle, unreadable, without_history, left_out } = forecast;
  const notes = [
    ...(forecast.is_shortened
      ? [
          `So many runs fall due that only the time until ${fullInstant(Date.parse(forecast.to), zone)} was played.`,
        ]
      : []),
    ...(without_history > 0
      ? [
          `Of ${without_history.toLocaleString('en')} ${without_history === 1 ? 'schedule' : 'schedules'} no run is known yet: ${duration(forecast.takes_ms)} each was taken.`,
        ]
      : []),
    ...(unreadable > 0
      ? [`The rules of ${unreadable.toLocaleString('en')} cannot be read by this server and are left out.`]
      : []),
  ];
  return (
    <Panel>
      <dl className="grid grid-cols-2 gap-x-4 gap-y-3 px-4 py-3 sm:grid-cols-3 lg:grid-cols-6">
        <Fact name="Schedules">
          {schedules.toLocaleString('en')}
          {idle > 0 && <span className="text-ink-faint">, {idle.toLocaleString('en')} idle</span>}
        </Fact>
        <Fact name="Runs">{forecast.runs.toLocaleString('en')}</Fact>
        <Fact name="Work in all">{duration(forecast.work_ms)}</Fact>
        <Fact name="Most at a time">
          <strong>{load.peak.toLocaleString('en')}</strong>
          {load.peak_at !== null && (
            <span className="block text-xs text-ink-faint">
              <Instant at={load.peak_at} />
            </span>
          )}
        </Fact>
        <Fact name="Concurrency needed">
          <strong>{load.concurrency_needed.toLocaleString('en')}</strong>
          <span className="block text-xs text-ink-faint">
            none later than {duration(forecast.lateness_ms)}
          </span>
        </Fact>
        <Fact name="Slots without a run">
          <span className={left_out > 0 ? 'text-warn' : ''}>{left_out.toLocaleString('en')}</span>
        </Fact>
      </dl>
      {notes.map((note) => (
        <p key={note} className="border-t border-line px-4 py-2 text-xs text-ink-soft">
          {note}
        </p>
      ))}
    </Panel>
  );
}

/** Asks how late a run may start and what a given concurrency would do. */
function ConcurrencyPanel({
  forecast,
  lateness,
  concurrency = '',
  onAsk,
}: {
  forecast: Forecast;
  lateness: string;
  concurrency: string | undefined;
  onAsk: Ask;
}) {
  return (
    <Panel title="Concurrency">
      <form
        className="grid items-end gap-3 px-4 py-3 sm:grid-cols-[12rem_12rem_1fr]"
        onSubmit={(event) => {
          event.preventDefault();
          const given = String(new FormData(event.currentTarget).get('concurrency') ?? '').trim();
          onAsk({ concurrency: given === '' ? undefined : given });
        }}
      >
        <Field name="A run may start late by">
          <Select value={lateness} onChange={(event) => onAsk({ lateness: event.target.value })}>
            {Object.entries(latenesses).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </Select>
        </Field>
        <Field name="With a concurrency of">
          <TextInput
            key={concurrency}
            name="concurrency"
            type="number"
            min={1}
            defaultValue={concurrency}
            placeholder={String(forecast.load.concurrency_needed)}
            onBlur={(event) => {
              if (event.target.value.trim() !== concurrency) event.target.form?.requestSubmit();
            }}
          />
        </Field>
        <WithConcurrency forecast={forecast} />
      </form>
    </Panel>
  );
}

/** How long runs wait with the given concurrency. */
function WithConcurrency({ forecast }: { forecast: Forecast }) {
  const one = forecast.with_concurrency;
  if (one === null) {
    const needed = forecast.load.concurrency_needed;
    return (
      <p className="text-sm text-ink-soft sm:pb-1.5">
        {needed === 0
          ? 'Nothing is to be done in this time.'
          : `${needed.toLocaleString('en')} ${needed === 1 ? 'is' : 'are'} enough. Give a number to see what fewer, or more, would do.`}
      </p>
    );
  }
  return (
    <dl className="grid grid-cols-2 gap-x-4 gap-y-2 lg:grid-cols-4">
      <Fact name="Waits, p50 · p95">
        {duration(one.wait_ms_p50)} · {duration(one.wait_ms_p95)}
      </Fact>
      <Fact name="Longest wait">{duration(one.wait_ms_max)}</Fact>
      <Fact name="Late runs">
        <span className={one.late > 0 ? 'text-warn' : 'text-good'}>{one.late.toLocaleString('en')}</span>
      </Fact>
      <Fact name="All done">
        <Instant at={one.done_at} />
      </Fact>
    </dl>
  );
}
