import { DulyError } from '@duly/core';
import type { z } from '@hono/zod-openapi';

/** One thing that is wrong with a request. */
export interface RequestIssue {
  /** Where: `json` is the body. */
  in: string;
  path: string;
  message: string;
}

/** The error for a request that does not fit its schema. */
export function invalidRequest(target: string, error: z.ZodError): DulyError {
  const place = places[target] ?? target;
  const issues = error.issues.flatMap((issue): RequestIssue[] => {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        in: place,
        path: [...issue.path, key].join('.').slice(0, 200),
        message: 'is not known here',
      }));
    }
    return [{ in: place, path, message: issue.message }];
  });
  const [first] = issues;
  const where = first === undefined || first.path === '' ? `The ${place}` : `"${first.path}" of the ${place}`;
  return new DulyError('request_invalid', {
    message: `${where}: ${first?.message ?? 'does not fit'}.`,
    hint: hintOf(error),
    details: { issues },
  });
}

const places: Record<string, string> = { json: 'body', query: 'query', param: 'path', header: 'headers' };

function hintOf(_error: z.ZodError): string {
  return 'GET /openapi.json tells what this route takes.';
}
