import { DulyError } from '@duly/core';

/** Which methods the routes take at a path; none: there is nothing there. */
export type AllowedMethods = (path: string) => string[];

/** Reads them off the routes of an application, once all of them are there. */
export function createAllowedMethods(routes: readonly { method: string; path: string }[]): AllowedMethods {
  const served = routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, parts: path.split('/') }));
  return (path) => {
    const asked = path.split('/');
    const methods = new Set(served.filter(({ parts }) => fits(asked, parts)).map(({ method }) => method));
    // Whatever is shown is also told about without its body.
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  };
}

/** The error for a method that what is at a path does not take. */
export function methodNotAllowed(method: string, path: string, allow: readonly string[]): DulyError {
  return new DulyError('method_not_allowed', {
    message: `${path.slice(0, 200)} does not take ${method.slice(0, 20)}.`,
    hint: `It takes ${allow.join(', ')}.`,
    details: { allow: [...allow] },
  });
}

/** Whether a path has the parts of a route; `:id` stands for any. */
function fits(parts: readonly string[], route: readonly string[]): boolean {
  return (
    parts.length === route.length &&
    route.every((part, i) => (part.startsWith(':') ? parts[i] !== '' : part === parts[i]))
  );
}
