import { isDulyError } from '../base/errors.ts';
import { type StandardSchema, validateInput } from '../base/schema.ts';

/**
 * Checks an input as it is read back from a store. JSON has no `undefined`, so an input that was left out is kept as `null`: a
 * schema that does not take `null` is asked about `undefined` too. The same when a job is created and when it runs, so that both
 * agree. A promise only if the schema needs one. Throws (or rejects with) `invalid_input`.
 */
export function validateStoredInput(schema: StandardSchema, value: unknown, type: string): unknown {
  if (value !== null) return validateInput(schema, value, type);
  const ask = (refusal: unknown): unknown => {
    if (!isDulyError(refusal, 'invalid_input')) throw refusal;
    return validateInput(schema, undefined, type);
  };
  let answer: unknown;
  try {
    answer = validateInput(schema, null, type);
  } catch (refusal) {
    return ask(refusal);
  }
  return isPromise(answer) ? answer.catch(ask) : answer;
}

/** Whether a schema's answer is still on its way. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null)?.then === 'function';
}
