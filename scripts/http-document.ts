// The OpenAPI document of the server, as its own routes make it.

import { Duly } from '../packages/core/src/index.ts';
import { documentOf } from '../packages/server/src/routes/openapi.ts';
import { appOf, createServer } from '../packages/server/src/server.ts';

/** A JSON schema, as far as the server's are made of it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  description?: string;
  format?: string;
}

/** A name in a path, a query or the headers. */
export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

type Content = Record<string, { schema?: Schema }>;

/** One route. */
export interface Operation {
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { description: string; content?: Content }>;
  'x-duly-scope'?: string;
  'x-duly-tenant'?: string;
}

/** The document. */
export interface HttpDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Reads it from the routes. No store is opened. */
export function readHttpDocument(): HttpDocument {
  const server = createServer({ duly: new Duly({ store: 'sqlite::memory:' }) });
  const inside = appOf.get(server);
  if (inside === undefined) throw new Error('The server has no application.');
  return documentOf(inside.app, '') as unknown as HttpDocument;
}

/** Every route with its name: `GET /api/jobs/{id}`. */
export function operationsOf({
  paths,
}: HttpDocument): { name: string; path: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  );
}

/** The JSON schema of some content; undefined: it is none, or not JSON. */
export function jsonOf(content: Content | undefined): Schema | undefined {
  return content?.['application/json']?.schema;
}
