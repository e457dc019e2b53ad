/** One of a few, all in sight. */
export function ChoiceBar<Choice extends string>({
  label,
  choices,
  chosen,
  onChoose,
}: {
  label: string;
  choices: Readonly<Record<Choice, string>>;
  chosen: string;
  onChoose: (choice: Choice) => void;
}) {
  return (
    <fieldset className="flex rounded-md border border-line p-0.5">
      <legend className="sr-only">{label}</legend>
      {(Object.entries(choices) as [Choice, string][]).map(([key, name]) => (
        <button
          key={key}
          type="button"
          aria-pressed={key === chosen}
          onClick={() => onChoose(key)}
          className={`rounded px-2 py-0.5 text-xs whitespace-nowrap ${key === chosen ? 'bg-accent-soft font-medium text-accent' : 'text-ink-soft hover:bg-raised'}`}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}
