// docs/reference/http.md, from the OpenAPI document.

import { type HttpDocument, jsonOf, type Operation, operationsOf, type Schema } from './http-document.ts';

/** The text of `docs/reference/http.md`. */
export function renderHttpReference(document: HttpDocument): string {
  const lines = [
    '# HTTP API',
    '',
    'Made by `npm run generate` from the routes of the server; `GET /openapi.json` is the same for programs. How to serve, mount and close it: [the server](../guides/server.md).',
    '',
    'JSON in snake case, statuses in capitals, instants in ISO 8601. Lists are `{ "data", "has_more", "next_cursor" }`: give `next_cursor` as `cursor` to go on. Errors are',
    '`application/problem+json` with a stable [code](errors.md). Every route takes `Authorization: Bearer duly_…`; its scope is the least that the key needs, and each scope holds those before it:',
    "`read`, `run`, `operate`, `admin`. A tenant's key sees what is its tenant's; what says *whole store* refuses it. `Idempotency-Key` works on every route that changes something, and is ignored on others; secrets in answers are not stored with it, and are null when an answer is repeated.",
    '',
  ];
  const sections = new Map<string, { name: string; operation: Operation }[]>();
  for (const { name, operation } of operationsOf(document)) {
    const tag = operation.tags?.[0] ?? 'other';
    sections.set(tag, [...(sections.get(tag) ?? []), { name, operation }]);
  }
  for (const [tag, operations] of [...sections].sort(([a], [b]) => (a < b ? -1 : 1))) {
    lines.push(`## ${tag.charAt(0).toUpperCase()}${tag.slice(1)}`, '');
    for (const { name, operation } of operations) lines.push(...renderOperation(name, operation));
  }
  lines.push('## Shapes', '');
  for (const [name, schema] of Object.entries(document.components.schemas).sort(([a], [b]) =>
    a < b ? -1 : 1,
  )) {
    lines.push(`### ${name}`, '', ...(schema.description === undefined ? [] : [schema.description, '']));
    lines.push(...renderShape(schema), '');
  }
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trimEnd()}\n`;
}

function renderOperation(name: string, operation: Operation): string[] {
  const scope = operation['x-duly-scope'];
  const whose = operation['x-duly-tenant'] === 'refused' ? ', whole store' : '';
  const lines = [
    `### \`${name}\``,
    '',
    `${operation.summary ?? ''}. ${scope === undefined ? 'Needs no key.' : `Scope \`${scope}\`${whose}.`}`,
    '',
    ...(operation.description === undefined ? [] : [operation.description, '']),
  ];
  const queries = (operation.parameters ?? []).filter((one) => one.in !== 'path');
  if (queries.length > 0) {
    lines.push('| query | | |', '|---|---|---|');
    for (const { name: field, in: where, required, schema, description } of queries) {
      const shown = where === 'query' ? field : `${field} (${where})`;
      lines.push(
        row([`\`${shown}\``, `${typeText(schema)}${required ? ', needed' : ''}`, description ?? '']),
      );
    }
    lines.push('');
  }
  const body = jsonOf(operation.requestBody?.content);
  if (body !== undefined) {
    const optional = operation.requestBody?.required === false ? ' (may be left out)' : '';
    if (body.$ref !== undefined) lines.push(`Body${optional}: ${typeText(body)}`, '');
    else lines.push(`Body${optional}:`, '', ...renderShape(body), '');
  }
  for (const [status, { description, content }] of Object.entries(operation.responses)) {
    // Refusals are the same everywhere, and the top of the page explains them.
    if (status === 'default' || /^4/.test(status)) continue;
    const schema = jsonOf(content);
    const type =
      schema === undefined
        ? Object.keys(content ?? {})
            .map((one) => `\`${one}\``)
            .join(', ')
        : typeText(schema);
    lines.push(`- \`${status}\`: ${description}${type === '' ? '' : ` ${type}`}`);
  }
  lines.push('');
  return lines;
}

function renderShape(schema: Schema): string[] {
  const parts = schema.allOf ?? [schema];
  const lines: string[] = [];
  for (const part of parts) {
    if (part.properties === undefined)
      lines.push(`${parts.length > 1 ? 'All of ' : ''}${typeText(part)}`, '');
    else {
      lines.push('| field | | |', '|---|---|---|');
      for (const [name, field] of Object.entries(part.properties)) {
        const optional = part.required?.includes(name) || isAny(field) ? '' : ', optional';
        lines.push(row([`\`${name}\``, `${typeText(field)}${optional}`, field.description ?? '']));
      }
    }
  }
  return lines;
}

function isAny(schema: Schema): boolean {
  return schema.type === undefined && schema.$ref === undefined && schema.anyOf === undefined;
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) as string;
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${JSON.stringify(one)}\``).join(' or ');
  const union = schema.anyOf ?? schema.oneOf;
  if (union !== undefined) return [...new Set(union.map(typeText))].join(' or ');
  if (schema.allOf !== undefined) return schema.allOf.map(typeText).join(' and ');
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeText({ ...schema, type })).join(' or ');
  switch (schema.type) {
    case 'array':
      return `list of ${typeText(schema.items ?? {})}`;
    case 'object': {
      const names = Object.keys(schema.properties ?? {});
      return names.length === 0 ? 'object' : `\`{ ${names.join(', ')} }\``;
    }
    case 'string':
      return schema.format === 'date-time' ? 'instant' : 'text';
    case undefined:
      return 'any JSON';
    default:
      return schema.type as string;
  }
}

function row(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replace(/\s+/g, ' ')).join(' | ')} |`;
}
