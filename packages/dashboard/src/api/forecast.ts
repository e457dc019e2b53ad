import { useQuery } from '@tanstack/react-query';
import { get } from './request.ts';

/** What the runs come to if none has to wait. */
export interface ForecastLoad {
  peak: number;
  peak_at: string | null;
  step_ms: number;
  steps: { at: string; starts: number; peak: number; mean: number }[];
  /** The fewest with which no run starts later than asked for. */
  workers_needed: number;
}

/** What is to come, if all goes as it went. */
export interface Forecast {
  from: string;
  to: string;
  is_shortened: boolean;
  schedules: number;
  idle: number;
  unreadable: number;
  runs: number;
  left_out: number;
  without_history: number;
  takes_ms: number;
  lateness_ms: number;
  work_ms: number;
  load: ForecastLoad;
  with_workers: {
    workers: number;
    wait_ms_p50: number;
    wait_ms_p95: number;
    wait_ms_max: number;
    late: number;
    done_at: string | null;
  } | null;
  collisions: { at: string; runs: number; names: string[] }[];
  overlaps: { name: string; left_out: number; runs: number; usual_ms: number }[];
  clock_changes: {
    at: string;
    kind: 'gap' | 'repeat';
    timezone: string;
    schedules: number;
    names: string[];
    date: string;
    time: string;
  }[];
  jitter: {
    schedules: { id: string; name: string; jitter_ms: number }[];
    count: number;
    load: ForecastLoad;
  } | null;
}

/** What is asked of a forecast; what is left empty has the server's default. */
export type ForecastQuestion = { hours: string; workers?: string; lateness?: string };

/** Every schedule played forward. That is much work for the server, so a forecast is good for a minute and is not read again with every change. */
export function useForecast(question: ForecastQuestion) {
  return useQuery({
    queryKey: ['forecast', question],
    queryFn: ({ signal }) => get<Forecast>('api/forecast', question, signal),
    placeholderData: (before) => before,
    meta: { pace: 'own' },
    staleTime: 60_000,
  });
}
