import { callbackField } from '@duly/core/internal';
import type { ServerContext } from '../http/context.ts';
import { checkTargetUrl } from '../outgoing/target-url.ts';

/**
 * The metadata of a job, or of a schedule for its jobs, with the address that is told of its end. Refuses an address that cannot be called. A
 * `callback_url` that stands in the metadata itself means the same.
 */
export function withCallback(
  { builtIn }: Pick<ServerContext, 'builtIn'>,
  metadata: Record<string, unknown> | undefined,
  callbackUrl: string | undefined,
): Record<string, unknown> | undefined {
  const url = callbackUrl ?? metadata?.[callbackField];
  if (typeof url !== 'string') return metadata;
  checkTargetUrl(url, builtIn.allowed);
  return { ...metadata, [callbackField]: url };
}
