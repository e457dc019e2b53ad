import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { valuesOf, withTerm } from '../../search/job-search.ts';
import { type Status, statuses, statusStyle } from '../../ui/status.tsx';

/** The search: words and terms in a field, statuses as switches that write into it. */
export function JobSearchBar({
  text,
  problems,
  hint,
  onSearch,
  onEdited,
}: {
  text: string;
  problems: readonly string[];
  hint: string | null;
  onSearch: (text: string) => void;
  /** Whether the field holds something else than what was searched. */
  onEdited: (isEdited: boolean) => void;
}) {
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  useEffect(() => onEdited(draft.trim() !== text.trim()), [draft, text, onEdited]);
  const chosen = valuesOf(text, 'status').map((value) => value.toUpperCase());
  const toggle = (status: Status) => {
    const next = chosen.includes(status) ? chosen.filter((one) => one !== status) : [...chosen, status];
    onSearch(
      withTerm(
        text,
        'status',
        next.map((one) => one.toLowerCase()),
      ),
    );
  };
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSearch(draft.trim());
        }}
        className="flex items-center gap-2 rounded-lg border border-line-strong bg-surface px-3 focus-within:border-accent"
      >
        <Search aria-hidden className="size-4 shrink-0 text-ink-faint" />
        <input
          data-search
          aria-label="Search jobs"
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          placeholder="send_mail failed – or type:send_mail status:failed input.user:42 since:1h"
          className="h-9 w-full bg-transparent font-mono text-[13px] outline-none placeholder:font-sans placeholder:text-ink-faint"
          spellCheck={false}
        />
        {draft !== text && <kbd className="text-xs text-ink-faint">↵</kbd>}
      </form>
      {problems.map((problem) => (
        <p key={problem} role="alert" className="mt-1 text-sm text-bad">
          {problem}
        </p>
      ))}
      {hint !== null && <p className="mt-1 text-xs text-ink-soft">{hint}</p>}
      <fieldset className="mt-2 flex flex-wrap gap-1.5">
        <legend className="sr-only">Only in these statuses</legend>
        {statuses.map((status) => {
          const { icon: Icon, word, className } = statusStyle[status];
          const isChosen = chosen.includes(status);
          return (
            <button
              key={status}
              type="button"
              aria-pressed={isChosen}
              onClick={() => toggle(status)}
              className={`inline-flex items-center gap-1 rounded-full border px-2 py-0.5 text-xs font-medium ${isChosen ? `border-transparent ${className}` : 'border-line text-ink-soft hover:border-line-strong'}`}
            >
              <Icon aria-hidden className="size-3.5" />
              {word}
            </button>
          );
        })}
      </fieldset>
    </search>
  );
}
