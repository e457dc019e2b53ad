import { useState } from 'react';
import { readJsonText } from '../../api/json-text.ts';
import { type Schedule, useScheduleEdit } from '../../api/schedules.ts';
import { exactDuration } from '../../time/format.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { RulePreview } from '../schedules/rule-preview.tsx';

/** Changes the rule, its jitter and the input; on a declared schedule this is an override, shown as drift. */
export function EditDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const edit = useScheduleEdit(schedule.id);
  const toasts = useToasts();
  const { texts, set, isChanged, changes } = useScheduleTexts(schedule);
  const [problem, setProblem] = useState<string | null>(null);
  const hasZone = schedule.kind === 'cron' || schedule.kind === 'rrule';
  const change = () => {
    const input = readJsonText(texts.input);
    setProblem('problem' in input ? input.problem : null);
    if ('problem' in input) return;
    edit.mutate(changes(input.value), { onSuccess: onClose, onError: toasts.complain });
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Edit ${schedule.name}`}
      actions={
        <Button kind="primary" disabled={edit.isPending || !isChanged} onClick={change}>
          Change it
        </Button>
      }
    >
      <div className="space-y-3">
        {schedule.app !== null && (
          <p className="text-sm text-warn">
            The code of {schedule.app} declares this schedule. Your change outlives deploys and is shown as
            drift until it is taken back.
          </p>
        )}
        <Field name={schedule.kind}>
          <TextInput value={texts.rule} onChange={set('rule')} className="font-mono" spellCheck={false} />
        </Field>
        <div className="grid gap-3 sm:grid-cols-2">
          {hasZone && (
            <Field name="Time zone">
              <TextInput value={texts.timezone} onChange={set('timezone')} />
            </Field>
          )}
          <Field name="Jitter" hint="Each run begins up to so much later. 0 ms: at its slot.">
            <TextInput value={texts.jitter} onChange={set('jitter')} />
          </Field>
        </div>
        <RulePreview
          rule={
            texts.rule.trim() === ''
              ? null
              : {
                  [schedule.kind]: texts.rule.trim(),
                  ...(hasZone ? { timezone: texts.timezone.trim() } : {}),
                }
          }
        />
        {/* The input of a target is the request that the server sends, shown without its credentials. */}
        {!schedule.type.startsWith('duly:') && (
          <Field name="Input, as JSON" hint="Jobs that exist already keep their input." problem={problem}>
            <TextArea rows={4} value={texts.input} onChange={set('input')} spellCheck={false} />
          </Field>
        )}
      </div>
    </Dialog>
  );
}

/** The fields as they are typed, and what is changed by them. */
function useScheduleTexts(schedule: Schedule) {
  const before = {
    rule: ruleText(schedule),
    timezone: schedule.timezone,
    jitter: exactDuration(Number(schedule.policies['jitter_ms'] ?? 0)),
    input: JSON.stringify(schedule.input, null, 2) ?? 'null',
  };
  type Name = keyof typeof before;
  const [texts, setTexts] = useState(before);
  const changed = (Object.keys(before) as Name[]).filter(
    (name) => texts[name].trim() !== before[name].trim(),
  );
  return {
    texts,
    set: (name: Name) => (event: { target: { value: string } }) =>
      setTexts({ ...texts, [name]: event.target.value }),
    isChanged: changed.length > 0,
    /** The changed fields as the API takes them; `input` is what its text means. */
    changes(input: unknown): Record<string, unknown> {
      const jitter = texts.jitter.trim();
      const values = {
        rule: { [schedule.kind]: texts.rule.trim() },
        timezone: { timezone: texts.timezone.trim() },
        jitter: { jitter: jitter === '' ? null : jitter },
        input: { input },
      };
      return Object.assign({}, ...changed.map((name) => values[name]));
    },
  };
}

/** A rule as it is typed: lengths of time in words. */
function ruleText(schedule: Schedule): string {
  const rule = schedule[schedule.kind];
  return typeof rule === 'number' ? exactDuration(rule) : String(rule ?? '');
}
