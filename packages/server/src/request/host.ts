import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { DulyError } from '@duly/core';
import type { MiddlewareHandler } from 'hono';
import type { ServerEnv } from '../http/context.ts';

/**
 * Refuses a `Host` that is not known to be this server. A page whose name is pointed at this machine is, to the browser, a page of this
 * server; the name in the request gives it away. An address cannot be pointed elsewhere, so every one is known.
 */
export const checkHost: MiddlewareHandler<ServerEnv> = async (c, next) => {
  const { hosts } = c.get('context').options;
  if (hosts !== 'any') {
    const host = c.req.header('host') ?? new URL(c.req.url).host;
    if (!isKnownHost(host, hosts)) {
      throw new DulyError('host_unknown', {
        message: `The host "${host.slice(0, 100)}" is not known to be this server.`,
        hint: 'Name it when the server is created: hosts: ["…"], or: duly up --allow-host …',
      });
    }
  }
  await next();
};

/** Whether a `Host` is known to be this server. */
export function isKnownHost(host: string, hosts: ReadonlySet<string>): boolean {
  const name = nameOf(host);
  if (name === null) return false;
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')) return true;
  return hosts.has(name) || name === hostname().toLowerCase();
}

/** The name in a `Host` header without its port; null: it is none. */
function nameOf(host: string): string | null {
  const [, six, name] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  return (six ?? name)?.toLowerCase() ?? null;
}
