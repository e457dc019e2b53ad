import { isDulyError } from '../base/errors.ts';
import type { StandardSchema } from '../base/schema.ts';
import type { Records } from '../operations/records.ts';

/** What the input of a task looks like, as workers that handle it say. */
export interface TaskForm {
  /** The version of the task that said so. */
  version: number;
  /** JSON Schema, draft 2020-12. */
  input: Record<string, unknown>;
}

/** Records of this kind hold a `TaskForm` by the name of the task. */
export const taskFormKind = 'task-form';

// A record holds 64 KiB, and nobody fills in a form of this length.
const formLengthMax = 16_000;

/** The input of a schema as JSON Schema; null: it does not tell. Zod, Valibot and ArkType do, by Standard JSON Schema. */
export function inputFormOf(schema: StandardSchema | null | undefined): Record<string, unknown> | null {
  const standard = schema?.['~standard'] as
    | { jsonSchema?: { input?: (options: { target: string }) => unknown } }
    | undefined;
  try {
    const form = standard?.jsonSchema?.input?.({ target: 'draft-2020-12' });
    return typeof form === 'object' && form !== null ? (form as Record<string, unknown>) : null;
  } catch {
    // What JSON cannot say, a date or a transformation, the library refuses to tell.
    return null;
  }
}

/** Writes down what the inputs of these tasks look like, where that has changed. An older version of a task changes nothing. */
export async function keepTaskForms(
  records: Records,
  tasks: Iterable<{ name: string; version: number; input: StandardSchema | null }>,
): Promise<void> {
  for (const { name, version, input: schema } of tasks) {
    const input = inputFormOf(schema);
    if (input === null || JSON.stringify(input).length > formLengthMax) continue;
    const stored = await records.get<TaskForm>(taskFormKind, name);
    if (stored !== null && stored.value.version > version) continue;
    if (stored !== null && JSON.stringify(stored.value) === JSON.stringify({ version, input })) continue;
    const expectVersion = stored?.version ?? null;
    await records.put(taskFormKind, name, { version, input }, { expectVersion }).catch((error: unknown) => {
      // Another node was faster.
      if (!isDulyError(error, 'records_conflict')) throw error;
    });
  }
}
