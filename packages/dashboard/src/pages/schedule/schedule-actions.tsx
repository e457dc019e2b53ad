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
  // These stay here while their buttons come and go with the status, so that their answers are still reported.
  const runNow = useRunNow(schedule);
  const resume = useResume(schedule);
  const skipNext = useSkipNext(schedule);
  const [asked, setAsked] = useState<Asked>(null);
  const isOver = schedule.status === 'ended' || schedule.status === 'deleted';
  return (
    <>
      {mayRun && !isOver && (
        <Button kind="primary" disabled={runNow.isPending} onClick={runNow.send}>
          Run now
        </Button>
      )}
      {mayOperate && !isOver && (
        <>
          {schedule.status === 'paused' ? (
            <Button disabled={resume.isPending} onClick={resume.send}>
              Resume
            </Button>
          ) : (
            <Button onClick={() => setAsked('pause')}>Pause</Button>
          )}
          <Button disabled={skipNext.isPending} onClick={skipNext.send}>
            Skip next
          </Button>
          <Button onClick={() => setAsked('backfill')}>Backfill</Button>
          <Button onClick={() => setAsked('edit')}>Edit</Button>
          <DeleteSchedule schedule={schedule} />
        </>
      )}
      {asked === 'pause' && <PauseSchedule schedule={schedule} onClose={() => setAsked(null)} />}
      {asked === 'edit' && <EditDialog schedule={schedule} onClose={() => setAsked(null)} />}
      {asked === 'backfill' && <Backfill schedule={schedule} onClose={() => setAsked(null)} />}
    </>
  );
}

/** Creates a run at once and opens its job. */
function useRunNow({ id: scheduleId }: Schedule) {
  const navigate = useNavigate();
  const toasts = useToasts();
  const trigger = useScheduleAction<{ result: string; job: Job | null; reason: string | null }>(
    scheduleId,
    'trigger',
  );
  const onSuccess = ({ job, reason }: { job: Job | null; reason: string | null }) => {
    if (job === null) toasts.say(`No job was created: ${reason ?? 'it was merged into one that waits'}.`);
    else void navigate({ to: '/jobs/$id', params: { id: job.id } });
  };
  return {
    isPending: trigger.isPending,
    send: () => trigger.mutate({}, { onSuccess, onError: toasts.complain }),
  };
}

function useResume({ id }: Schedule) {
  const toasts = useToasts();
  const resume = useScheduleAction(id, 'resume');
  const onSuccess = () => toasts.say('It goes on.');
  return {
    isPending: resume.isPending,
    send: () => resume.mutate({}, { onSuccess, onError: toasts.complain }),
  };
}

/** Leaves out the next slot and says which one that is. */
function useSkipNext({ id, timezone }: Schedule) {
  const toasts = useToasts();
  const skip = useScheduleAction<{ slot: string | null }>(id, 'skip-next');
  const onSuccess = ({ slot }: { slot: string | null }) =>
    toasts.say(
      slot === null ? 'There is no slot to skip.' : `Skips ${fullInstant(Date.parse(slot), timezone)}.`,
    );
  return {
    isPending: skip.isPending,
    send: () => skip.mutate({}, { onSuccess, onError: toasts.complain }),
  };
}

function DeleteSchedule({ schedule: { id, name, app } }: { schedule: Schedule }) {
  const navigate = useNavigate();
  return (
    <DeleteButton
      verb="Delete"
      title={`Delete ${name}?`}
      path={`api/schedules/${encodeURIComponent(id)}`}
      word={name}
      onDone={() => navigate({ to: '/schedules' })}
    >
      <p>
        Its jobs that have not started are cancelled; what runs goes on, and its ledger remains.
        {app !== null && ` The code of ${app} declares it, and creates it again at its next start.`}
      </p>
    </DeleteButton>
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
