import { backoffMsMax } from '../base/loop.ts';
import { awayRetryMsMax } from '../contract/timings.ts';
import { isStoreTrouble } from './batcher.ts';

/** The longest wait before a call that failed with this error is sent again. A store that is away may be back at any moment. */
export function retryMsMax(error: unknown): number {
  return isStoreTrouble(error) ? awayRetryMsMax : backoffMsMax;
}
