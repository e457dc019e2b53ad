import { useState } from 'react';
import { type Schedule, useScheduleAction } from '../../api/schedules.ts';
import { fullInstant } from '../../time/format.ts';
import { useTypedInstants } from '../../time/typed-instant.ts';
import { Button } from '../../ui/button.tsx';
import { counted } from '../../ui/counted.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { useToasts } from '../../ui/toast.tsx';

interface Result {
  slots: string[];
  jobs: string[];
  completed_count: number;
  compacted_count: number;
  unfinished_count: number;
  dry_run: boolean;
}

/** Creates runs for slots of the past, after it has shown what it would create. */
export function Backfill({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const backfill = useScheduleAction<Result>(schedule.id, 'backfill');
  const toasts = useToasts();
  const instants = useTypedInstants();
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [reprocess, setReprocess] = useState(false);
  const [plan, setPlan] = useState<Result | null>(null);
  const ask = (isDryRun: boolean) =>
    backfill.mutate(
      {
        from: instants.read(from),
        ...(to === '' ? {} : { to: instants.read(to) }),
        reprocess,
        dry_run: isDryRun,
      },
      {
        onSuccess: (result) => {
          if (isDryRun) return setPlan(result);
          toasts.say(`${counted(result.jobs.length, 'run was', 'runs were')} created.`);
          onClose();
        },
        onError: toasts.complain,
      },
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Backfill ${schedule.name}`}
      actions={
        plan === null ? (
          <Button kind="primary" disabled={from === '' || backfill.isPending} onClick={() => ask(true)}>
            Show what it would create
          </Button>
        ) : (
          <Button
            kind="primary"
            disabled={plan.slots.length === 0 || backfill.isPending}
            onClick={() => ask(false)}
          >
            Create {counted(plan.slots.length, 'run')}
          </Button>
        )
      }
    >
      <div className="space-y-3" onChange={() => setPlan(null)}>
        <Field name="From" hint={instants.hint}>
          <TextInput type="datetime-local" value={from} onChange={(event) => setFrom(event.target.value)} />
        </Field>
        <Field name="To" hint="Left empty: until now.">
          <TextInput type="datetime-local" value={to} onChange={(event) => setTo(event.target.value)} />
        </Field>
        <label className="flex items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={reprocess}
            onChange={(event) => setReprocess(event.target.checked)}
          />
          Also slots that have a completed run
        </label>
      </div>
      {plan !== null && <Plan plan={plan} timezone={schedule.timezone} />}
    </Dialog>
  );
}

/** What the backfill would create, and which slots it leaves out. */
function Plan({ plan, timezone }: { plan: Result; timezone: string }) {
  return (
    <div className="mt-3 rounded-md border border-line bg-raised px-3 py-2 text-sm">
      <p>
        <strong>{counted(plan.slots.length, 'run')}</strong>.{' '}
        {counted(plan.completed_count, 'slot is', 'slots are')} completed already
        {plan.compacted_count > 0 && `, ${plan.compacted_count} lie in compacted months`}
        {plan.unfinished_count > 0 && `, ${plan.unfinished_count} have a run that is not over`}.
      </p>
      <ol className="mt-1 max-h-40 overflow-auto text-xs text-ink-soft">
        {plan.slots.slice(0, 100).map((slot) => (
          <li key={slot}>{fullInstant(Date.parse(slot), timezone)}</li>
        ))}
        {plan.slots.length > 100 && <li>and {(plan.slots.length - 100).toLocaleString('en')} more</li>}
      </ol>
    </div>
  );
}
