import type { ActionResult } from '@duly/core';

/** The result of an action on many jobs, as the API shows it. */
export function bulkJson({ changed, refused, ids, asOf }: ActionResult) {
  return {
    changed,
    refused,
    ...(ids === undefined ? {} : { ids }),
    ...(asOf === undefined ? {} : { as_of: asOf.toISOString() }),
  };
}
