/** The operations of the OpenAPI document, for the tests that are generated from it. */

/** A JSON schema, as far as the document uses it. */
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
  format?: string;
}

/** A parameter of an operation. */
export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

/** One operation. */
export interface Operation {
  /** Like `GET /api/jobs/{id}`. */
  name: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body: { required: boolean; schema: Schema } | null;
  /** The statuses that it documents, with the media types of their answers. */
  statuses: ReadonlyMap<string, readonly string[]>;
  /** No key is needed. */
  isOpen: boolean;
  scope: 'read' | 'run' | 'operate' | 'admin' | undefined;
  tenant: 'own' | 'refused' | undefined;
}

/** The document, as far as the tests read it. */
export interface ApiDocument {
  paths: Record<string, Record<string, Record<string, unknown>>>;
  components: { schemas: Record<string, Schema> };
}

/** Lists the operations of a document. */
export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const body = operation['requestBody'] as
        | { required?: boolean; content: Record<string, { schema: Schema }> }
        | undefined;
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: (operation['parameters'] ?? []) as Parameter[],
        body:
          body === undefined
            ? null
            : { required: body.required === true, schema: body.content['application/json']?.schema ?? {} },
        statuses: new Map(
          Object.entries(operation['responses'] as Record<string, { content?: object }>).map(
            ([status, { content = {} }]) => [status, Object.keys(content)],
          ),
        ),
        isOpen: (operation['security'] as unknown[] | undefined)?.length === 0,
        scope: operation['x-duly-scope'] as Operation['scope'],
        tenant: operation['x-duly-tenant'] as Operation['tenant'],
      };
    }),
  );
}

/** Whether an answer that is no success has the form that the document gives it: a problem, unless it says otherwise. */
export function isDocumentedRefusal({ statuses }: Operation, status: number, type: string): boolean {
  const types = statuses.get(String(status)) ?? ['application/problem+json'];
  return types.some((one) => type.startsWith(one));
}
