import { withClient } from '../client.ts';
import type { CommonOptions, Shell } from '../shell.ts';
import { watchJob } from '../watch.ts';

/** `duly watch` and `duly jobs watch`. */
export function jobsWatch(shell: Shell, options: CommonOptions, id: string): Promise<number> {
  return withClient(shell, options, (client) => watchJob(client, id, shell));
}
