/** Some of a few, each with a box. */
export function Checks({
  name,
  hint,
  choices,
  chosen,
  onChange,
}: {
  name: string;
  hint?: string;
  choices: Readonly<Record<string, string>>;
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}) {
  return (
    <fieldset className="text-sm">
      <legend className="mb-1 font-medium">{name}</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {Object.entries(choices).map(([key, text]) => (
          <label key={key} className="inline-flex items-center gap-1.5">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={chosen.includes(key)}
              onChange={({ target }) =>
                onChange(
                  Object.keys(choices).filter((one) => (one === key ? target.checked : chosen.includes(one))),
                )
              }
            />
            {text}
          </label>
        ))}
      </div>
      {hint !== undefined && <p className="mt-1 text-xs text-ink-soft">{hint}</p>}
    </fieldset>
  );
}
