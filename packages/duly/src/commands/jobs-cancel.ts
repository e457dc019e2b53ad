import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { usageError } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { changeJobs, printChange } from '../jobs/job-changes.ts';

interface JobsCancelOptions extends CommonOptions {
  type?: string;
  key?: string;
  tenant?: string;
  terminate?: boolean;
  note?: string;
}

/** `duly jobs cancel`: by ids, or by type and dedupe key. */
export async function jobsCancel(
  context: CommandContext,
  options: JobsCancelOptions,
  ids: string[],
): Promise<number> {
  const { type, key, tenant } = options;
  const how = {
    ...(options.note === undefined ? {} : { note: options.note }),
    ...(options.terminate ? { terminate: true } : {}),
  };
  if (key === undefined && ids.length === 0)
    throw usageError('Name the jobs by their ids, or one by --type and --key.');
  if (key !== undefined && (type === undefined || ids.length > 0)) {
    throw usageError('A dedupe key belongs to a type: give --type and --key, and no ids.');
  }
  return withClient(context, options, async ({ duly, changed }) => {
    changed(ids.length === 1 ? `/jobs/${ids[0]}` : '/jobs');
    if (key === undefined) return changeJobs(context, ids, '', (id) => duly.cancel({ id }, how));
    const reference = { type: type as string, key, ...(tenant === undefined ? {} : { tenant }) };
    printChange(context, '', await duly.cancel(reference, how));
    return 0;
  });
}
