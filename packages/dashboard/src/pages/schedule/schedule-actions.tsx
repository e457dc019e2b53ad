import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '../../api/jobs.ts';
import { type Schedule, useScheduleAction } from '../../api/schedules.ts';
import { useMay } from '../../shell/caller.tsx';
import { fullInstant } from '../../time/format.ts';
import { Button } from '../../ui/button.tsx';
import { DeleteButton } from '../../ui/delete-button.tsx';
import { PauseDialog } from '../../ui/pause-dialog.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { Backfill } from './backfill.tsx';
import { EditDialog } from './edit-dialog.tsx';

type Asked = 'pause' | 'edit' | 'backfill' | null;

/** What can be done with a schedule. */
export function ScheduleActions({ schedule }: { schedule: Schedule }) {
  const mayRun = useMay('run');
  const mayOperate = useMay('operate');
  const navigate = useNavigate();
  const toasts = useToasts();
  const trigger = useScheduleAction<{ result: string; job: Job | null; reason: string | null }>(
    schedule.id,
    'trigger',
  );
  const resume = useScheduleAction(schedule.id, 'resume');
  const skip = useScheduleAction<{ slot: string | null }>(schedule.id, 'skip-next');
  const [asked, setAsked] = useState<Asked>(null);
  const isOver = schedule.status === 'ended' || schedule.status === 'deleted';
  const run = () =>
    trigger.mutate(
      {},
      {
        onSuccess: ({ job, reason }) => {
          if (job === null)
            toasts.say(`No job was created: ${reason ?? 'it was merged into one that waits'}.`);
          else void navigate({ to: '/jobs/$id', params: { id: job.id } });
        },
        onError: toasts.complain,
      },
    );
  return (
    <>
      {mayRun && !isOver && (
        <Button kind="primary" disabled={trigger.isPending} onClick={run}>
          Run now
        </Button>
      )}
      {mayOperate && !isOver && (
        <>
          {schedule.status === 'paused' ? (
            <Button
              disabled={resume.isPending}
              onClick={() =>
                resume.mutate({}, { onSuccess: () => toasts.say('It goes on.'), onError: toasts.complain })
              }
            >
              Resume
            </Button>
          ) : (
            <Button onClick={() => setAsked('pause')}>Pause</Button>
          )}
          <Button
            disabled={skip.isPending}
            onClick={() =>
              skip.mutate(
                {},
                {
                  onSuccess: ({ slot }) =>
                    toasts.say(
                      slot === null
                        ? 'There is no slot to skip.'
                        : `Skips ${fullInstant(Date.parse(slot), schedule.timezone)}.`,
                    ),
                  onError: toasts.complain,
                },
              )
            }
          >
            Skip next
          </Button>
          <Button onClick={() => setAsked('backfill')}>Backfill</Button>
          <Button onClick={() => setAsked('edit')}>Edit</Button>
          <DeleteButton
            verb="Delete"
            title={`Delete ${schedule.name}?`}
            path={`api/schedules/${encodeURIComponent(schedule.id)}`}
            word={schedule.name}
            onDone={() => navigate({ to: '/schedules' })}
          >
            <p>
              Its jobs that have not started are cancelled; what runs goes on, and its ledger remains.
              {schedule.app !== null &&
                ` The code of ${schedule.app} declares it, and creates it again at its next start.`}
            </p>
          </DeleteButton>
        </>
      )}
      {asked === 'pause' && <PauseSchedule schedule={schedule} onClose={() => setAsked(null)} />}
      {asked === 'edit' && <EditDialog schedule={schedule} onClose={() => setAsked(null)} />}
      {asked === 'backfill' && <Backfill schedule={schedule} onClose={() => setAsked(null)} />}
    </>
  );
}

function PauseSchedule({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const pause = useScheduleAction(schedule.id, 'pause');
  const toasts = useToasts();
  return (
    <PauseDialog
      title={`Pause ${schedule.name}`}
      about="Nothing is decided while it is paused. Jobs that exist already run."
      isPending={pause.isPending}
      onPause={(words) => pause.mutate(words, { onSuccess: onClose, onError: toasts.complain })}
      onClose={onClose}
    />
  );
}
