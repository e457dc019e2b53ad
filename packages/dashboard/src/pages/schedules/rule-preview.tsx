import { RequestError } from '../../api/request.ts';
import { usePreview } from '../../api/schedules.ts';
import { fullInstant } from '../../time/format.ts';
import { useZone } from '../../time/zone.tsx';

/** A rule in words and its next runs while it is typed: in its own zone, and in the reader's. */
export function RulePreview({ rule }: { rule: Record<string, unknown> | null }) {
  const { name } = useZone();
  const preview = usePreview(rule);
  if (rule === null) return null;
  if (preview.isError) {
    const problem = preview.error instanceof RequestError ? preview.error.problem : null;
    return (
      <p role="alert" className="text-sm text-bad">
        {problem?.detail ?? String(preview.error)} {problem?.hint}
      </p>
    );
  }
  if (preview.data === undefined) return null;
  // That of the slots, not the one that is being typed.
  const { timezone } = preview.data;
  return (
    <div className="rounded-md border border-line bg-raised px-3 py-2 text-sm">
      <p className="font-medium">{preview.data.words}</p>
      <ol className="mt-1.5 space-y-0.5">
        {preview.data.slots.map(({ slot, gap, repeat }) => (
          <li key={slot} className="flex flex-wrap gap-x-3 text-xs text-ink-soft">
            <span className="tabular">{fullInstant(Date.parse(slot), timezone)}</span>
            {timezone !== name && (
              <span className="text-ink-faint">{fullInstant(Date.parse(slot), name)}</span>
            )}
            {gap !== null && (
              <span className="text-warn">
                {gap.time} does not exist on {gap.date}
              </span>
            )}
            {repeat !== null && <span className="text-warn">the {repeat} of two</span>}
          </li>
        ))}
      </ol>
    </div>
  );
}
