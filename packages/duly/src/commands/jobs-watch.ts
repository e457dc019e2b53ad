import type { CommonOptions, Shell } from '../cli/shell.ts';
import { withClient } from '../client/client.ts';
import { watchJob } from '../jobs/watch.ts';

/** `duly watch` and `duly jobs watch`. */
export function jobsWatch(shell: Shell, options: CommonOptions, id: string): Promise<number> {
  return withClient(shell, options, (client) => watchJob(client, id, shell));
}
