import { DulyError } from '@duly/core';
import type { z } from '@hono/zod-openapi';
import { sayIssue } from './issue-words.ts';

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
  const issues = error.issues.flatMap(inUnion).flatMap((issue): RequestIssue[] => {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        in: place,
        path: [...issue.path, key].join('.').slice(0, 200),
        message: 'is not known here',
      }));
    }
    return [{ in: place, path, message: sayIssue(issue) }];
  });
  const [first] = issues;
  const where = first === undefined || first.path === '' ? `The ${place}` : `"${first.path}" of the ${place}`;
  return new DulyError('request_invalid', {
    message: `${where}: ${(first?.message ?? 'does not fit').replace(/\.$/, '')}.`,
    hint: 'GET /openapi.json shows what this route takes.',
    details: { issues },
  });
}

type Issue = z.ZodError['issues'][number];

/** Of one of several forms, what keeps the value from having the one that it comes nearest to: "Invalid input" alone helps nobody. */
function inUnion(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const forms = issue.errors.map((errors) =>
    errors.flatMap((one) => inUnion({ ...one, path: [...issue.path, ...one.path] } as Issue)),
  );
  // The nearest is the one that is wrong furthest inside; a form whose own fields are unknown is not meant.
  const depth = (form: Issue[]): number =>
    Math.min(...form.map(({ path, code }) => (code === 'unrecognized_keys' ? path.length - 1 : path.length)));
  const nearest = forms.reduce((one, other) => (depth(other) > depth(one) ? other : one));
  return depth(nearest) > issue.path.length ? nearest : [issue];
}

const places: Record<string, string> = { json: 'body', query: 'query', param: 'path', header: 'headers' };
