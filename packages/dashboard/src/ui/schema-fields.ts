/** One field of a form, as far as a form can show it. */
export interface SchemaField {
  name: string;
  title: string;
  hint: string | null;
  isRequired: boolean;
  kind: 'text' | 'number' | 'switch' | 'choice' | 'json';
  choices: readonly unknown[];
  /** What stands in the field at first, as text. */
  first: string;
}

/** The fields of an object's schema; null: it is not an object with known properties, and is given as JSON. */
export function schemaFields(schema: Record<string, unknown> | null | undefined): SchemaField[] | null {
  const properties = schema?.['properties'];
  if (schema?.['type'] !== 'object' || typeof properties !== 'object' || properties === null) return null;
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
  return Object.entries(properties as Record<string, Record<string, unknown>>).map(([name, one]) => {
    const choices = Array.isArray(one['enum']) ? one['enum'] : [];
    const { type, default: given } = one;
    const kind =
      choices.length > 0
        ? 'choice'
        : type === 'string'
          ? 'text'
          : type === 'number' || type === 'integer'
            ? 'number'
            : type === 'boolean'
              ? 'switch'
              : 'json';
    const first =
      given === undefined ? '' : kind === 'text' || kind === 'choice' ? String(given) : JSON.stringify(given);
    return {
      ...{ name, kind, choices, first },
      title: typeof one['title'] === 'string' ? one['title'] : name,
      hint: typeof one['description'] === 'string' ? one['description'] : hintOf(one),
      isRequired: required.includes(name),
    };
  });
}

function hintOf({ format, minimum, maximum }: Record<string, unknown>): string | null {
  if (typeof format === 'string') return format;
  const isSmall = typeof maximum === 'number' && Math.abs(maximum) < Number.MAX_SAFE_INTEGER;
  if (typeof minimum === 'number' && isSmall) return `${minimum} to ${maximum}`;
  if (typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER) return `at least ${minimum}`;
  return isSmall ? `at most ${maximum}` : null;
}

/** The input that the fields say; what is left empty is left out. */
export function inputOfFields(
  fields: readonly SchemaField[],
  texts: Readonly<Record<string, string>>,
): { value: Record<string, unknown> } | { problem: string; name: string } {
  const value: Record<string, unknown> = {};
  for (const { name, title, kind, choices, first, isRequired } of fields) {
    const text = texts[name] ?? first;
    if (text === '') {
      if (isRequired && kind === 'text') value[name] = '';
      else if (isRequired) return { name, problem: `${title} is needed.` };
      continue;
    }
    if (kind === 'text') value[name] = text;
    else if (kind === 'choice') value[name] = choices.find((choice) => String(choice) === text) ?? text;
    else {
      try {
        value[name] = JSON.parse(text);
      } catch {
        return { name, problem: kind === 'number' ? `${title} is not a number.` : `${title} is not JSON.` };
      }
      if (kind === 'number' && typeof value[name] !== 'number')
        return { name, problem: `${title} is not a number.` };
    }
  }
  return { value };
}
