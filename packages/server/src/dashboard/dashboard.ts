import type { Context } from 'hono';
import { callerOf } from '../auth/secured.ts';
import type { ServerEnv } from '../http/context.ts';
import { standardHeaders } from '../request/standard-headers.ts';
import { type DashboardFile, type DashboardFiles, readDashboard } from './dashboard-files.ts';

/** Serves the built dashboard. */
export interface Dashboard {
  /** The answer to a request that no route took; null: it is not for the dashboard. */
  answer(c: Context<ServerEnv>): Promise<Response | null>;
}

// Nothing but what this host itself serves, nothing inline, and in nobody's frame.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Makes it. `basePath` is where the server is mounted, without a slash at its end. */
export function createDashboard({ basePath }: { basePath: string }): Dashboard {
  let read: DashboardFiles | null | undefined;
  const built = (): DashboardFiles | null => {
    if (read === undefined) read = readDashboard();
    return read;
  };

  return {
    async answer(c) {
      const { method, path } = c.req;
      if ((method !== 'GET' && method !== 'HEAD') || path.startsWith('/api/') || path === '/api') return null;
      const dashboard = built();
      if (dashboard === null) return null;
      const file = dashboard.files.get(path.slice(1));
      if (file !== undefined) return answerFile(c, file, path);
      // A name with an ending is a file that is not there, except after the name of a page: tasks and schedules may be called `mail.send`.
      if (path.startsWith('/assets/') || /^\/[^/]*\.[a-z0-9]{1,8}$/i.test(path)) return null;
      // Without a session the page shows how to sign in, and nothing of the store.
      const isKnown = (await callerOf(c)) !== null;
      return new Response(method === 'HEAD' ? null : pageFor(dashboard.page, basePath), {
        status: isKnown ? 200 : 401,
        headers: {
          ...standardHeaders,
          'Content-Type': 'text/html; charset=utf-8',
          'Content-Security-Policy': policy,
          'Cache-Control': 'no-cache',
        },
      });
    },
  };
}

/** The page with the place where it is mounted: its own addresses are relative to that, whatever the address is. */
function pageFor(page: string, basePath: string): string {
  return page.replace('<head>', `<head>\n    <base href="${encodeURI(basePath)}/" />`);
}

function answerFile(c: Context, file: DashboardFile, path: string): Response {
  const headers = new Headers({
    ...standardHeaders,
    'Content-Type': file.type,
    ETag: file.tag,
    Vary: 'Accept-Encoding',
    // Their names change with what is in them.
    'Cache-Control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
  if (c.req.header('if-none-match') === file.tag) return new Response(null, { status: 304, headers });
  const takesZipped = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '');
  const zipped = takesZipped ? file.zipped : null;
  if (zipped !== null) headers.set('Content-Encoding', 'gzip');
  return new Response(c.req.method === 'HEAD' ? null : (zipped ?? file.bytes), { headers });
}
