import { dulyError } from './errors.ts';

/**
 * A schema that follows Standard Schema v1, as Zod, Valibot, ArkType and others do. Described here so that none of them is a
 * dependency.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Only for the type system; not there at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What a schema answers: the value, or what is wrong with it. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One thing that is wrong with a value. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type a schema takes. */
export type InferInput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** The type a schema gives. */
export type InferOutput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];

/** An issue as an error's details hold it: `path` is `''` for the value itself, else like `items[0].url`. */
export interface InputIssue {
  path: string;
  message: string;
}

const shownIssueCount = 3;
// A schema may answer with one issue per element of a large array; nobody reads more than these.
const keptIssueCount = 50;

/** Whether this is a Standard Schema v1. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard = (value as Partial<StandardSchema>)['~standard'];
  return typeof standard === 'object' && standard?.version === 1 && typeof standard.validate === 'function';
}

/**
 * Checks a value and returns what the schema makes of it; a promise only if the schema needs one.
 * Throws (or rejects with) `invalid_input`; its details hold `issues`, its message the first three.
 */
export function validateInput<Schema extends StandardSchema>(
  schema: Schema,
  value: unknown,
  type?: string,
): InferOutput<Schema> | Promise<InferOutput<Schema>> {
  let result: SchemaResult<unknown> | Promise<SchemaResult<unknown>>;
  try {
    result = schema['~standard'].validate(value);
  } catch (cause) {
    throw schemaThrew(type, cause);
  }
  if (isPromise(result)) {
    return result.then(
      (settled) => accept(settled, type),
      (cause) => {
        throw schemaThrew(type, cause);
      },
    ) as Promise<InferOutput<Schema>>;
  }
  return accept(result, type) as InferOutput<Schema>;
}

function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown }).then === 'function';
}

function accept(result: SchemaResult<unknown>, type: string | undefined): unknown {
  if (result.issues === undefined) return result.value;
  const issues: InputIssue[] = result.issues
    .slice(0, keptIssueCount)
    .map(({ path = [], message }) => ({ path: formatPath(path), message: message.slice(0, 500) }));
  const shown = issues
    .slice(0, shownIssueCount)
    // Ours ends the sentence.
    .map(({ path, message }) => ({ path, said: message.replace(/\.$/, '') }))
    .map(({ path, said }) => (path === '' ? said : `"${path}": ${said}`));
  const more = result.issues.length - shown.length;
  throw dulyError('invalid_input', {
    message: `The input${ofType(type)} does not fit its schema: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`,
    hint: "Give an input that the task's schema accepts.",
    details: { issues, issueCount: result.issues.length, ...(type === undefined ? {} : { type }) },
  });
}

function schemaThrew(type: string | undefined, cause: unknown): Error {
  return dulyError('invalid_input', {
    message: `The schema${ofType(type)} threw instead of answering.`,
    hint: 'A Standard Schema reports issues and does not throw; see the cause.',
    details: { issues: [], issueCount: 0, ...(type === undefined ? {} : { type }) },
    cause,
  });
}

function ofType(type: string | undefined): string {
  return type === undefined ? '' : ` of task "${type}"`;
}

function formatPath(path: readonly (PropertyKey | { readonly key: PropertyKey })[]): string {
  let text = '';
  for (const part of path) {
    const key = typeof part === 'object' ? part.key : part;
    if (typeof key === 'number') text += `[${key}]`;
    else text += text === '' ? String(key) : `.${String(key)}`;
  }
  return text;
}
