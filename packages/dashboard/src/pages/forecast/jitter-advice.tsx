import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import type { Forecast } from '../../api/forecast.ts';
import { giveJitter } from '../../api/schedules.ts';
import { useMay } from '../../shell/caller.tsx';
import { duration } from '../../time/format.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Table } from '../../ui/table.tsx';
import { useToasts } from '../../ui/toast.tsx';

type Advice = NonNullable<Forecast['jitter']>;

/** Which schedules to spread, and what it would bring. The load that it would give is drawn beside what stands. */
export function JitterAdvice({ forecast, jitter }: { forecast: Forecast; jitter: Advice }) {
  const { load } = forecast;
  const may = useMay('operate');
  const shown = jitter.schedules;
  return (
    <Panel
      title="Jitter that would spread the load"
      actions={may && shown.length > 1 && <UseAll advice={shown} />}
    >
      <p className="px-4 py-3 text-sm">
        {jitter.count === 1 ? 'One schedule begins' : `${jitter.count.toLocaleString('en')} schedules begin`}{' '}
        together with others. With the jitter below the most at a time would be{' '}
        <strong>{jitter.load.peak.toLocaleString('en')}</strong> instead of{' '}
        <strong>{load.peak.toLocaleString('en')}</strong>
        {jitter.load.concurrency_needed < load.concurrency_needed && (
          <>
            , and <strong>{jitter.load.concurrency_needed.toLocaleString('en')}</strong> instead of{' '}
            <strong>{load.concurrency_needed.toLocaleString('en')}</strong> runs at the same time would be
            enough
          </>
        )}
        .
      </p>
      <div className="max-h-80 overflow-y-auto border-t border-line">
        <Table label="Jitter that would spread the load" head={['Schedule', 'Jitter', '']}>
          {shown.map((one) => (
            <tr key={one.id}>
              <Cell isLong>
                <Link to="/schedules/$id" params={{ id: one.id }} className="hover:underline">
                  {one.name}
                </Link>
              </Cell>
              <Cell className="tabular whitespace-nowrap">{duration(one.jitter_ms)}</Cell>
              <Cell className="text-right">{may && <UseOne advice={one} />}</Cell>
            </tr>
          ))}
        </Table>
      </div>
      {jitter.count > shown.length && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-faint">
          The first {shown.length} of {jitter.count.toLocaleString('en')}; once they have their jitter the
          next are shown.
        </p>
      )}
    </Panel>
  );
}

/** Gives schedules the jitter that is advised, one after the other. */
function useJitter(onDone: () => void) {
  const queries = useQueryClient();
  const toasts = useToasts();
  return useChange({
    mutationFn: async (advice: Advice['schedules']) => {
      for (const { id, jitter_ms } of advice) await giveJitter(id, jitter_ms);
      return advice;
    },
    onSuccess: (advice) => {
      const [first] = advice;
      toasts.say(
        advice.length === 1 && first !== undefined
          ? `${first.name} has a jitter of ${duration(first.jitter_ms)}.`
          : `${advice.length} schedules have their jitter.`,
      );
    },
    onError: toasts.complain,
    // Also after an error: some of them may have it.
    onSettled: () => {
      onDone();
      return queries.invalidateQueries();
    },
  });
}

function UseOne({ advice }: { advice: Advice['schedules'][number] }) {
  const use = useJitter(() => {});
  return (
    <Button
      disabled={use.isPending}
      title="Where code declares the schedule, the change is shown as drift and can be taken back."
      onClick={() => use.mutate([advice])}
    >
      Use it
    </Button>
  );
}

function UseAll({ advice }: { advice: Advice['schedules'] }) {
  const [isAsked, setAsked] = useState(false);
  const use = useJitter(() => setAsked(false));
  const label = `Use all ${advice.length}`;
  return (
    <>
      <Button onClick={() => setAsked(true)}>{label}</Button>
      {isAsked && (
        <Dialog
          open
          onClose={() => setAsked(false)}
          title={`Give ${advice.length} schedules a jitter?`}
          actions={
            <Button kind="primary" disabled={use.isPending} onClick={() => use.mutate(advice)}>
              {label}
            </Button>
          }
        >
          <p className="text-sm">
            Each of their runs begins up to that much later, always by the same for one schedule. Where code
            declares a schedule, the change is shown as drift and can be taken back.
          </p>
        </Dialog>
      )}
    </>
  );
}
