import type { Forecast } from '@duly/server/client';
import { useQuery } from '@tanstack/react-query';
import { get } from './request.ts';

export type { Forecast } from '@duly/server/client';

/** What is asked of a forecast; what is left empty has the server's default. */
export type ForecastQuestion = { hours: string; concurrency?: string; lateness?: string };

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
