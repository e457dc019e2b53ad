import type { ScheduleStats, Trend, TypeStats } from '@duly/server/client';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useSeesAll } from '../shell/caller.tsx';
import type { Page } from './page.ts';
import { get, type Query } from './request.ts';

export type { ScheduleStats, Trend, TrendStep, TypeStats } from '@duly/server/client';

/** Figures over many jobs are read at their own pace and not with every change, for those who see the whole store. */
function usePace() {
  return { meta: { pace: 'own' }, refetchInterval: 10_000, enabled: useSeesAll() } as const;
}

/** The types of which a job ended since then. */
export function useStats(since: string) {
  return useQuery({
    queryKey: ['stats', since],
    queryFn: ({ signal }) => get<Page<TypeStats>>('api/stats', { since }, signal),
    placeholderData: (before) => before,
    ...usePace(),
  });
}

/** What became of the last runs of one schedule. */
export function useScheduleStats(schedule: string) {
  return useQuery({
    queryKey: ['stats', 'schedules', schedule],
    queryFn: ({ signal }) => get<Page<ScheduleStats>>('api/stats/schedules', { schedule }, signal),
    ...usePace(),
  });
}

/** What became of the last runs of the schedules of some pages, by id. */
export function useStatsOfPages(pages: readonly (readonly string[])[]): ReadonlyMap<string, ScheduleStats> {
  const pace = usePace();
  return useQueries({
    queries: pages.map((ids) => ({
      queryKey: ['stats', 'schedules', ids],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get<Page<ScheduleStats>>('api/stats/schedules', { ids }, signal),
      ...pace,
    })),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }) => data?.data ?? []).map((one) => [one.schedule_id, one])),
  });
}

/** What ended over time. */
export function useTrend(query: Query) {
  return useQuery({
    queryKey: ['stats', 'trend', query],
    queryFn: ({ signal }) => get<Trend>('api/stats/trend', query, signal),
    placeholderData: (before) => before,
    ...usePace(),
  });
}

/** How many of those that ran failed, 0 to 1; null: none ran. */
export function failureShare({ completed, failed }: Pick<TypeStats, 'completed' | 'failed'>): number | null {
  const ended = completed + failed;
  return ended === 0 ? null : failed / ended;
}

/** `0 %`, `0.4 %`, `12 %`. */
export function shareText(share: number | null): string {
  if (share === null) return '–';
  const percent = share * 100;
  return `${percent === 0 || percent >= 10 ? Math.round(percent) : percent.toFixed(1)} %`;
}
