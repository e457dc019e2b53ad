import { fromJson, resultBytesMax, toJson } from '../base/json.ts';
import type { ClaimedJob } from '../contract/engine.ts';
import { runInJob } from '../jobs/current-job.ts';
import { validateStoredInput } from '../jobs/stored-input.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { HandlerOutcome } from '../lifecycle/outcome.ts';
import { type AttemptPort, createContext } from './context.ts';
import { controlOf } from './control.ts';
import { toJobError } from './job-error.ts';

/** Checks the input, calls the handler as this job's, and says how it ended. Never rejects. */
export async function runHandler(
  job: ClaimedJob,
  task: ResolvedTask,
  port: AttemptPort,
): Promise<HandlerOutcome> {
  // Cannot normally happen, since a claim names versions: another release of the task may have been registered meanwhile.
  if (job.version > task.version) return { kind: 'newer-version' };

  let input: unknown;
  try {
    input = fromJson(job.input);
    if (task.input !== null) input = await validateStoredInput(task.input, input, task.name);
  } catch (error) {
    return { kind: 'input-refused', error: toJobError(error) };
  }

  // The input may have been checked elsewhere, and the module of an isolated task was loaded.
  const why = port.refusal();
  if (why !== null) return { kind: 'not-entered', why };

  let returned: unknown;
  try {
    const context = createContext(job, input, port);
    const { id, type, tenant } = job;
    returned = await runInJob({ id, type, tenant }, () => task.run(context));
  } catch (thrown) {
    return thrownOutcome(thrown);
  }

  if (returned === undefined) return { kind: 'returned', result: null };
  try {
    return { kind: 'returned', result: toJson(returned, { what: 'result', maxBytes: resultBytesMax }) };
  } catch (error) {
    return { kind: 'result-refused', error: toJobError(error) };
  }
}

function thrownOutcome(thrown: unknown): HandlerOutcome {
  const control = controlOf(thrown);
  if (control === null) return { kind: 'threw', error: toJobError(thrown), thrown };
  if (control.kind === 'snooze') return { kind: 'snoozed', due: control.due };
  const message = control.reason ?? 'The handler asked to be tried again.';
  return { kind: 'retry-asked', due: control.due, error: { name: 'RetryAsked', message } };
}
