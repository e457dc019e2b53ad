/** What the placeholders of a template may name. */
export interface TemplateValues {
  input: unknown;
  job: {
    id: string;
    type: string;
    tenant: string | null;
    attempt: number;
    metadata: Record<string, unknown>;
  };
  /** The slot of the schedule that made the job; null: none did. */
  slot: { at: string; date: string; timezone: string; schedule: string } | null;
}

const placeholder = /\{\{\s*([\w$-]+(?:\.[\w$-]+)*)\s*\}\}/g;

/**
 * Fills the placeholders of a template, `{{input.user.id}}`. A text that is nothing but one placeholder becomes the value itself, of
 * whatever type; inside a text values become text. What is not there is null, or nothing.
 */
export function fillTemplate(template: unknown, values: TemplateValues): unknown {
  if (typeof template === 'string') {
    const whole = new RegExp(`^${placeholder.source}$`).exec(template);
    return whole === null ? fillText(template, values) : (valueAt(values, whole[1] as string) ?? null);
  }
  if (Array.isArray(template)) return template.map((one) => fillTemplate(one, values));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([name, one]) => [name, fillTemplate(one, values)]));
}

/** Fills the placeholders of a text; `encode` makes a value fit the place where it stands. */
export function fillText(
  template: string,
  values: TemplateValues,
  encode: (text: string) => string = (text) => text,
): string {
  return template.replace(placeholder, (_, path: string) => encode(textOf(valueAt(values, path))));
}

/** Whether a text has a placeholder. */
export function hasPlaceholder(text: string): boolean {
  return text.search(placeholder) >= 0;
}

function valueAt(values: TemplateValues, path: string): unknown {
  let value: unknown = values;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
