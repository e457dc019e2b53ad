import { DulyError } from '@duly/core';

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
  /** The slot of the schedule that created the job; null: none did. */
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

/**
 * Fills the placeholders of an address. In its path each must have something to say: `DELETE /users/{{input.id}}` must not become `DELETE /users/` because the
 * input lacks an id, nor `DELETE /` because the id is "..". Throws `target_invalid`.
 */
export function fillAddress(template: string, values: TemplateValues): string {
  const end = template.search(/[?#]/);
  const path = end < 0 ? template : template.slice(0, end);
  const segments = path.split('/').map((segment) => {
    const filled = segment.replace(placeholder, (whole, name: string) => {
      const text = textOf(valueAt(values, name));
      if (text === '') throw unfilled(whole, 'has no value');
      return encodeURIComponent(text);
    });
    if (filled !== segment && /^\.{1,2}$/.test(filled)) throw unfilled(segment, `is "${filled}"`);
    return filled;
  });
  return segments.join('/') + (end < 0 ? '' : fillText(template.slice(end), values, encodeURIComponent));
}

function unfilled(name: string, problem: string): DulyError {
  return new DulyError('target_invalid', {
    message: `"${name.slice(0, 100)}" in the path of the address ${problem}, and the request would go elsewhere.`,
    hint: 'Give the job an input that has it. In the query and the body a value may be missing.',
  });
}

const known =
  /^(?:input(?:\.|$)|job$|job\.(?:id|type|tenant|attempt)$|job\.metadata(?:\.|$)|slot$|slot\.(?:at|date|timezone|schedule)$)/;

/** The first placeholder that names something that is never there; null: none does. */
export function unknownPlaceholder(template: unknown): string | null {
  if (typeof template === 'string') {
    for (const [whole, path] of template.matchAll(placeholder)) if (!known.test(path as string)) return whole;
    return null;
  }
  if (typeof template !== 'object' || template === null) return null;
  for (const one of Object.values(template)) {
    const found = unknownPlaceholder(one);
    if (found !== null) return found;
  }
  return null;
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
