import { Field, Select, TextArea, TextInput } from './field.tsx';
import type { SchemaField } from './schema-fields.ts';

/** A form as a schema describes it. */
export function SchemaForm({
  fields,
  texts,
  problem,
  onChange,
}: {
  fields: readonly SchemaField[];
  texts: Readonly<Record<string, string>>;
  problem: { name: string; problem: string } | null;
  onChange: (texts: Record<string, string>) => void;
}) {
  return fields.map((field) => {
    const { name, title, hint, isRequired, kind, choices, first } = field;
    const value = texts[name] ?? first;
    const set = (text: string) => onChange({ ...texts, [name]: text });
    const shared = { name: isRequired ? title : `${title} (optional)`, hint };
    return (
      <Field key={name} {...shared} problem={problem?.name === name ? problem.problem : null}>
        {kind === 'choice' || kind === 'switch' ? (
          <Select value={value} onChange={(event) => set(event.target.value)}>
            <option value="">{isRequired ? 'Choose …' : '–'}</option>
            {(kind === 'switch' ? ['true', 'false'] : choices.map(String)).map((choice) => (
              <option key={choice} value={choice}>
                {kind === 'switch' ? (choice === 'true' ? 'yes' : 'no') : choice}
              </option>
            ))}
          </Select>
        ) : kind === 'json' ? (
          <TextArea
            rows={3}
            value={value}
            placeholder="JSON"
            spellCheck={false}
            onChange={(event) => set(event.target.value)}
          />
        ) : (
          <TextInput
            value={value}
            inputMode={kind === 'number' ? 'decimal' : 'text'}
            onChange={(event) => set(event.target.value)}
          />
        )}
      </Field>
    );
  });
}
