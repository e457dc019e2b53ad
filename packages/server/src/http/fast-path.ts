import type { IncomingMessage, ServerResponse } from 'node:http';
import { allows, type Scope } from '@duly/core/internal/browser';
import type { Caller } from '../auth/caller.ts';
import { callerOfKey } from '../auth/secured.ts';
import { own, readOwn } from '../auth/tenant.ts';
import { presentCreated, presentJob } from '../jobs/job-presenter.ts';
import { createJob } from '../jobs/new-job.ts';
import { jobEtag, matchesEtag } from '../live/job-tag.ts';
import { parseBody, readIncoming, refuseOtherTypes } from '../request/body.ts';
import { isKnownHost } from '../request/host.ts';
import { invalidRequest } from '../request/issues.ts';
import { standardHeaders } from '../request/standard-headers.ts';
import { newJobSchema } from '../schemas/job.ts';
import type { ServerContext } from './context.ts';
import { problemAnswer } from './problem.ts';

/** Answers a request of Node's own server; false: it is left to the application, untouched. */
export type FastPath = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/** The response to a request. */
interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

const jobId = /^job_[0-9a-z]{1,64}$/;
// A request with any of these headers goes to the application, which knows what they mean.
const special = ['cookie', 'idempotency-key', 'origin', 'prefer', 'sec-fetch-site', 'transfer-encoding'];

/** A request that the fast path answers. */
interface FastRequest {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  caller: Caller;
}

/**
 * Answers the two most frequent requests, to create a job and to read one, without the framework, which costs as much as all the rest.
 * Only plain requests with a recently checked key; every other request, refusals of keys and hosts included, goes to the application.
 */
export function createFastPath(context: ServerContext): FastPath {
  const { duly, options } = context;
  const jobsPath = `${options.basePath}/api/jobs`;
  const admit = createAdmission(context);

  return (incoming, outgoing) => {
    const { method, url = '' } = incoming;
    if (method === 'POST' && url === jobsPath) {
      const length = Number(incoming.headers['content-length'] ?? 0);
      if (!(length > 0 && length <= options.bodyBytesMax)) return false;
      const caller = admit(incoming, 'run');
      if (caller === null) return false;
      const request = { incoming, outgoing, caller };
      void answer(context, request, {
        route: '/api/jobs',
        run: () => duly.as(caller.actor, () => postJob(context, request, jobsPath)),
      });
      return true;
    }
    if (method !== 'GET' || !url.startsWith(`${jobsPath}/`)) return false;
    const id = url.slice(jobsPath.length + 1);
    if (!jobId.test(id)) return false;
    const caller = admit(incoming, 'read');
    if (caller === null) return false;
    const request = { incoming, outgoing, caller };
    void answer(context, request, { route: '/api/jobs/:id', run: () => getJob(context, request, id) });
    return true;
  };
}

/** Finds the caller of a plain request; null: the application decides about the request. */
function createAdmission({ keys, options, rateLimits }: ServerContext) {
  // Clients send the same name with every request.
  let knownHost: string | undefined;

  function isPlain({ headers }: IncomingMessage): boolean {
    const { host } = headers;
    if (host === undefined || (host !== knownHost && !hasName(host))) return false;
    knownHost = host;
    return special.every((name) => headers[name] === undefined);
  }

  function hasName(host: string): boolean {
    return options.hosts === 'any' || isKnownHost(host, options.hosts);
  }

  return (incoming: IncomingMessage, scope: Scope): Caller | null => {
    if (!isPlain(incoming)) return null;
    const { authorization } = incoming.headers;
    if (options.authorize !== null || authorization?.startsWith('Bearer ') !== true) return null;
    const key = keys.known(authorization.slice('Bearer '.length));
    if (key === null || !allows(key.scope, scope)) return null;
    const caller = callerOfKey(key);
    return rateLimits?.take(caller.actor) === false ? null : caller;
  };
}

async function postJob(
  context: ServerContext,
  { incoming, caller }: FastRequest,
  jobsPath: string,
): Promise<Answer> {
  const text = await readIncoming(incoming, context.options.bodyBytesMax);
  refuseOtherTypes(incoming.headers['content-type']);
  const parsed = newJobSchema.safeParse(parseBody(text));
  if (!parsed.success) throw invalidRequest('json', parsed.error);
  const handle = await createJob(context, caller, parsed.data);
  const job = own(caller, await handle.created());
  return {
    status: handle.deduped ? 200 : 201,
    headers: { Location: `${jobsPath}/${job.id}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(presentCreated(context, caller, job, handle.deduped)),
  };
}

async function getJob(
  context: ServerContext,
  { incoming, caller }: FastRequest,
  id: string,
): Promise<Answer> {
  const job = await readOwn(context.duly, caller, id);
  const etag = jobEtag(job, context.options.redact);
  if (matchesEtag(incoming.headers['if-none-match'], etag)) {
    return { status: 304, headers: { ETag: etag }, body: null };
  }
  return {
    status: 200,
    headers: { ETag: etag, 'Content-Type': 'application/json' },
    body: JSON.stringify(presentJob(context, caller, job)),
  };
}

/** Runs the handler of a request, counts the request and sends the response. */
async function answer(
  { clock, logger, metrics }: ServerContext,
  { incoming, outgoing }: FastRequest,
  { route, run }: { route: string; run(): Promise<Answer> },
): Promise<void> {
  const sinceElapsed = clock.elapsed();
  const { method = '', url: path = '' } = incoming;
  const { status, headers, body } = await run().catch((error: unknown) =>
    problemAnswer(error, { method, path, logger }),
  );
  metrics.request({ method, route, status, tookMs: clock.elapsed() - sinceElapsed });
  outgoing.writeHead(status, {
    ...standardHeaders,
    ...headers,
    ...(body === null ? {} : { 'Content-Length': Buffer.byteLength(body) }),
  });
  outgoing.end(body ?? undefined);
}
