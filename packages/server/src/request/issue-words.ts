import type { z } from '@hono/zod-openapi';

type Issue = z.ZodError['issues'][number];

const types: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

/** What is wrong with a field, in words for whoever wrote it: what was expected and, where it is of another type, of which. */
export function sayIssue(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const received = receivedIn(issue.message);
      if (received === 'undefined') return 'is missing';
      const expected = types[issue.expected] ?? issue.expected;
      const got =
        received === null || (issue.expected === 'int' && received === 'number')
          ? undefined
          : types[received];
      return got === undefined || got === expected
        ? `expected ${expected}`
        : `expected ${expected}, got ${got}`;
    }
    case 'invalid_value':
      return `expected ${anyOf(issue.values.map((value) => JSON.stringify(value) ?? String(value)))}`;
    case 'too_small':
      return `expected ${bound('at least', issue.minimum, issue.origin, issue.inclusive)}`;
    case 'too_big':
      return `expected ${bound('at most', issue.maximum, issue.origin, issue.inclusive)}`;
    case 'invalid_union':
      return sayUnion(issue);
    default:
      return issue.message;
  }
}

/** The type that came, which the issue has in its message only; null: the message is not one of the library's own. */
function receivedIn(message: string): string | null {
  return /, received (\w+)$/.exec(message)?.[1] ?? null;
}

function bound(
  side: 'at least' | 'at most',
  limit: number | bigint,
  origin: string,
  isInclusive = true,
): string {
  if (origin === 'string') return `${side} ${limit} character${limit === 1 ? '' : 's'}`;
  if (origin === 'array') return `${side} ${limit} item${limit === 1 ? '' : 's'}`;
  if (!isInclusive) return `a number ${side === 'at least' ? 'above' : 'below'} ${limit}`;
  return `a number of ${side} ${limit}`;
}

/** Of a value that has none of several forms: which those are, as far as they can be told in a word. */
function sayUnion(issue: Extract<Issue, { code: 'invalid_union' }>): string {
  const { discriminator, options } = issue as { discriminator?: string; options?: unknown[] };
  if (discriminator !== undefined && options !== undefined) {
    return `expected ${anyOf(options.map((option) => JSON.stringify(option)))}`;
  }
  const words = issue.errors.flatMap((errors) =>
    errors
      .filter(({ path }) => path.length === 0)
      .map((one) => sayIssue(one as Issue))
      .filter((said) => said.startsWith('expected '))
      .map((said) => said.slice('expected '.length).replace(/, got .*$/, '')),
  );
  return words.length === 0
    ? 'has none of the forms that it may have'
    : `expected ${anyOf([...new Set(words)])}`;
}

/** `a, b or c`. */
export function anyOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
