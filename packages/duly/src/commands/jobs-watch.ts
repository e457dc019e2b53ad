import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { withClient } from '../client/client.ts';
import { watchJob } from '../jobs/watch.ts';

/** `duly watch` and `duly jobs watch`. */
export function jobsWatch(context: CommandContext, options: CommonOptions, id: string): Promise<number> {
  return withClient(context, options, (client) => watchJob(client, id, context));
}
