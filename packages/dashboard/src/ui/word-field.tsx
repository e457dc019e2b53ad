import { Field, TextInput } from './field.tsx';

/** A word that is typed before something that ends very much: nobody does it by mistake. */
export function WordField({
  word,
  typed,
  hint,
  onType,
}: {
  word: string;
  typed: string;
  hint?: string;
  onType: (text: string) => void;
}) {
  return (
    <Field name={`Type “${word}” to go on`} hint={hint}>
      <TextInput
        value={typed}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onType(event.target.value)}
      />
    </Field>
  );
}
