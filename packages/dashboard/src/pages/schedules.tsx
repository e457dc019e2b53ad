import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useScheduleList } from '../api/schedules.ts';
import { useMay } from '../shell/caller.tsx';
import { useSettled } from '../time/settled.ts';
import { Button } from '../ui/button.tsx';
import { TextInput } from '../ui/field.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { FilteredAway, NothingYet, QueryState } from '../ui/states.tsx';
import { NewSchedule } from './schedules/new-schedule.tsx';
import { ScheduleTable } from './schedules/schedule-table.tsx';

/** As long as any name may be. */
const searchLengthMax = 200;

/** Every rule that makes jobs. */
export function SchedulesPage() {
  const { q = '' } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const may = useMay('operate');
  const [isCreating, setCreating] = useState(false);
  const sought = useSettled(q.trim().slice(0, searchLengthMax), 150);
  const list = useScheduleList(sought);
  const pages = list.data?.pages;
  const search = (text: string) =>
    void navigate({ to: '/schedules', search: text === '' ? {} : { q: text }, replace: true });
  return (
    <>
      <PageHead
        title="Schedules"
        about="Rules that create jobs, each slot of them decided once."
        actions={
          may && (
            <Button kind="primary" onClick={() => setCreating(true)}>
              New schedule
            </Button>
          )
        }
      />
      <div className="mb-3 max-w-md">
        <TextInput
          data-search
          aria-label="Search schedules"
          placeholder="Name, type, tenant, words of the rule"
          maxLength={searchLengthMax}
          value={q}
          onChange={(event) => search(event.target.value)}
        />
      </div>
      <Panel>
        {pages === undefined ? (
          <QueryState query={list} />
        ) : pages.every(({ data }) => data.length === 0) ? (
          sought === '' ? (
            <NothingYet
              title="No schedule yet."
              command={'duly schedules add nightly --type report --cron "0 2 * * *"'}
            />
          ) : (
            <FilteredAway what="schedules" onClear={() => search('')} />
          )
        ) : (
          <ScheduleTable
            pages={pages}
            hasMore={list.hasNextPage}
            onMore={() => {
              if (!list.isFetchingNextPage) void list.fetchNextPage();
            }}
          />
        )}
      </Panel>
      {isCreating && <NewSchedule onClose={() => setCreating(false)} />}
    </>
  );
}
