/** As much of JSON Schema as the OpenAPI document uses, to see whether answers are what it says. */

type Schema = Record<string, unknown>;

// Said for people, or looser than the types that are checked.
const reported = new Set(['description', 'example', 'examples', 'format', 'default', 'title', 'pattern']);
const checked = new Set([
  ...['$ref', 'allOf', 'anyOf', 'oneOf', 'type', 'enum', 'const', 'properties', 'required', 'items'],
  ...['additionalProperties', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
]);

/** What is wrong with a value, by where it is; nothing: it fits. A keyword that is not known here is wrong too. */
export function misfits(document: Schema, schema: Schema, value: unknown, at = ''): string[] {
  const unknown = Object.keys(schema).find((keyword) => !reported.has(keyword) && !checked.has(keyword));
  if (unknown !== undefined) return [`${at}: the keyword "${unknown}" is not known here`];
  const inner = (one: unknown, part: unknown, name = ''): string[] =>
    misfits(document, one as Schema, part, name === '' ? at : `${at}/${name}`);
  const list = (name: string): unknown[] => (schema[name] as unknown[] | undefined) ?? [];
  const found: string[] = [];
  if (typeof schema.$ref === 'string') found.push(...inner(refersTo(document, schema.$ref), value));
  for (const one of list('allOf')) found.push(...inner(one, value));
  for (const name of ['anyOf', 'oneOf']) {
    const forms = list(name).map((one) => inner(one, value));
    if (forms.length > 0 && !forms.some((form) => form.length === 0)) found.push(...(forms[0] as string[]));
  }
  if (schema.type !== undefined && ![schema.type].flat().some((type) => isOf(type as string, value))) {
    found.push(`${at}: expected ${JSON.stringify(schema.type)}, got ${JSON.stringify(value)?.slice(0, 80)}`);
  }
  if (schema.enum !== undefined && !list('enum').includes(value)) found.push(`${at}: is none of its values`);
  if ('const' in schema && schema.const !== value)
    found.push(`${at}: is not ${JSON.stringify(schema.const)}`);
  if (Array.isArray(value) && schema.items !== undefined) {
    found.push(...value.flatMap((one, i) => inner(schema.items, one, String(i))));
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const properties = (schema.properties ?? {}) as Record<string, Schema>;
    for (const name of list('required'))
      if (!Object.hasOwn(value, name as string)) found.push(`${at}: lacks "${name}"`);
    for (const [name, part] of Object.entries(value)) {
      const known = properties[name] ?? schema.additionalProperties;
      if (known === false) found.push(`${at}: "${name}" is not in the document`);
      else if (typeof known === 'object') found.push(...inner(known, part, name));
    }
  }
  return found;
}

function refersTo(document: Schema, reference: string): unknown {
  const [, ...path] = reference.split('/');
  return (
    path.reduce<unknown>((within, name) => (within as Schema | undefined)?.[name], document) ?? {
      const: reference,
    }
  );
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
