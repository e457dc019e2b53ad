// The types of the client, from the OpenAPI document.

import {
  type HttpDocument,
  jsonOf,
  type Operation,
  operationsOf,
  type Parameter,
  type Schema,
} from './http-document.ts';

/** The text of `packages/server/src/client/generated.ts`. */
export function renderHttpTypes(document: HttpDocument): string {
  const lines = ['// Made by `npm run generate` from the routes of the server. Do not edit.', ''];
  for (const [name, schema] of Object.entries(document.components.schemas).sort(byName)) {
    lines.push(...comment(schema.description, ''), `export type ${name} = ${typeOf(schema, '')};`, '');
  }
  lines.push(
    '/** Every route of the server: what its path, query and body take, and what it answers. */',
    'export interface Operations {',
  );
  for (const { name, operation } of operationsOf(document)) {
    lines.push(...comment(operation.summary, '  '), `  '${name}': {`);
    lines.push(`    path: ${namesType(operation.parameters, 'path')};`);
    lines.push(`    query: ${namesType(operation.parameters, 'query')};`);
    const { requestBody } = operation;
    const body = jsonOf(requestBody?.content);
    const bodyType = body === undefined ? 'never' : typeOf(body, '    ');
    lines.push(`    body: ${requestBody?.required === false ? `${bodyType} | undefined` : bodyType};`);
    lines.push(`    answer: ${answerType(operation)};`, '  };');
  }
  lines.push('}', '');
  return lines.join('\n');
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

function comment(text: string | undefined, indent: string): string[] {
  return text === undefined ? [] : [`${indent}/** ${text.replaceAll('*/', '* /').replace(/\s+/g, ' ')} */`];
}

function namesType(parameters: Parameter[] = [], where: string): string {
  const named = parameters.filter((one) => one.in === where);
  if (named.length === 0) return 'Record<never, never>';
  const fields = named.map((one) => {
    const type =
      where === 'query'
        ? `${typeOf(one.schema, '')} | readonly ${wrapped(typeOf(one.schema, ''))}[]`
        : 'string';
    return `${keyOf(one.name)}${one.required ? '' : '?'}: ${type}`;
  });
  return `{ ${fields.join('; ')} }`;
}

/** What all 2xx answers may be. */
function answerType({ responses }: Operation): string {
  const types = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => {
      const schema = jsonOf(content);
      if (schema !== undefined) return typeOf(schema, '    ');
      return content === undefined ? 'null' : 'string';
    });
  return types.length === 0 ? 'null' : [...new Set(types)].join(' | ');
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) as string;
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const union = schema.anyOf ?? schema.oneOf;
  if (union !== undefined) return [...new Set(union.map((one) => typeOf(one, indent)))].join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map((one) => wrapped(typeOf(one, indent))).join(' & ');
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ');
  }
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'number':
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array':
      return `${wrapped(typeOf(schema.items ?? {}, indent))}[]`;
    case 'object':
      return objectType(schema, indent);
    default:
      return 'unknown';
  }
}

function objectType(
  { properties = {}, required = [], additionalProperties }: Schema,
  indent: string,
): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).flatMap(([name, schema]) => [
    ...comment(schema.description, inner),
    `${inner}${keyOf(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)};`,
  ]);
  if (additionalProperties !== undefined && additionalProperties !== false) {
    const rest = additionalProperties === true ? 'unknown' : typeOf(additionalProperties, inner);
    if (fields.length === 0) return `Record<string, ${rest}>`;
    fields.push(`${inner}[field: string]: unknown;`);
  }
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('\n')}\n${indent}}`;
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function wrapped(type: string): string {
  return / [|&] /.test(type) && !type.startsWith('{') ? `(${type})` : type;
}
